// The package against the command: node --test js/test. MODELPATCH is the command of the same version, TESTDATA the
// checkout's testdata; the package is the one that is installed where this runs.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import * as modelpatch from "modelpatch";

const { MODELPATCH, TESTDATA } = process.env;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "modelpatch-js-"));
const models = ["gguf", "onnx"].flatMap((kind) => fs.readdirSync(path.join(TESTDATA, kind)).filter((name) => name.endsWith(`.${kind}`)).map((name) => path.join(TESTDATA, kind, name)));
const plain = path.join(TESTDATA, "gguf/llama-plain.gguf");
const table = path.join(TESTDATA, "onnx/gpt2-dy23.onnx");
const external = path.join(TESTDATA, "onnx/genai-llama-fp32-ext.onnx");
const bytesOf = (file) => new Uint8Array(fs.readFileSync(file));

/** What the command prints as JSON. */
function command(...args) {
  const { stdout } = spawnSync(MODELPATCH, args, { encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

// A server of testdata that counts what it sends. /whole/ answers no ranges, /changing/ another version each time.
const sent = { requests: 0, bytes: 0 };
let versions = 0;
const server = http.createServer((request, response) => {
  sent.requests++;
  const [, way, ...rest] = request.url.replace(/\?.*/, "").split("/");
  const file = path.join(TESTDATA, ...rest.map(decodeURIComponent));
  if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return response.writeHead(404).end();
  const content = fs.readFileSync(file);
  const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range || "");
  const headers = { ETag: way === "changing" ? `"${versions++}"` : '"1"' };
  if (!asked || way === "whole") return response.writeHead(200, headers).end(content);
  const [first, last] = [Number(asked[1]), Math.min(Number(asked[2]), content.length - 1)];
  const part = content.subarray(first, last + 1);
  sent.bytes += part.length;
  response.writeHead(206, { ...headers, "Content-Range": `bytes ${first}-${last}/${content.length}` }).end(part);
});
let base;
before(() => new Promise((done) => server.listen(0, "127.0.0.1", () => {
  base = `http://127.0.0.1:${server.address().port}`;
  done();
})));
after(() => {
  server.close();
  fs.rmSync(folder, { recursive: true });
});

test("inspect gives what the command prints, of every model", async () => {
  assert.ok(models.length > 20);
  for (const model of models) {
    const [want] = command("inspect", "--json", model);
    assert.deepEqual({ ...(await modelpatch.inspect(model)), version: 0 }, { ...want, version: 0 }, model);
  }
});

test("bytes, views, blobs, file: and http: addresses have the same report", async () => {
  const want = { ...(await modelpatch.inspect(plain)), path: "" };
  const bytes = bytesOf(plain);
  const shifted = new Uint8Array(bytes.length + 7).subarray(7);
  shifted.set(bytes);
  for (const model of [bytes, shifted, bytes.buffer.slice(0), new Blob([bytes]), new File([bytes], "a b\n.gguf"), new URL(`file://${plain}`), `${base}/ranges/gguf/llama-plain.gguf`, new URL(`${base}/ranges/gguf/llama-plain.gguf?secret=1`)]) {
    assert.deepEqual({ ...(await modelpatch.inspect(model)), path: "" }, want);
  }
  assert.equal((await modelpatch.inspect(bytes)).path, "model.gguf");
  assert.equal((await modelpatch.inspect(bytesOf(table))).path, "model.onnx");
  assert.equal((await modelpatch.inspect(bytes, { name: "x.gguf" })).path, "x.gguf");
  assert.ok(!JSON.stringify(await modelpatch.inspect(`${base}/ranges/gguf/llama-plain.gguf?secret=1`)).includes("secret"));
});

test("data files are read from beside an address, and given beside bytes", async () => {
  const want = await modelpatch.inspect(external);
  assert.deepEqual((await modelpatch.inspect(`${base}/ranges/onnx/${path.basename(external)}`)).encodings.length, want.encodings.length);
  const data = `${path.basename(external)}.data`;
  const got = await modelpatch.inspect(bytesOf(external), { name: path.basename(external), companions: { [data]: bytesOf(`${external}.data`) } });
  assert.deepEqual(got.encodings.map((e) => e.parameters), want.encodings.map((e) => e.parameters));
});

test("extend makes the very file that the command writes, and a patch that the command applies", async () => {
  for (const [model, length] of [[plain, 128], [table, 128], [path.join(TESTDATA, "gguf/gpt2-f32.gguf"), 48], [path.join(TESTDATA, "onnx/tutorial-dy18.onnx"), 120]]) {
    const target = path.join(folder, `command${path.extname(model)}`);
    execFileSync(MODELPATCH, ["extend", `--len=${length}`, model, `--output=${target}`, "--force"]);
    for (const given of [model, bytesOf(model), new Blob([bytesOf(model)])]) {
      const change = await modelpatch.extend(given, length);
      assert.ok(["same-on-prefix", "changed-as-planned", "consistent"].includes(change.plan.verified.verdict), change.plan.verified.summary);
      assert.ok(Buffer.from(await change.bytes()).equals(fs.readFileSync(target)), model);
      const patch = path.join(folder, "a.mpatch");
      const applied = path.join(folder, `applied${path.extname(model)}`);
      fs.writeFileSync(patch, change.patch);
      execFileSync(MODELPATCH, ["apply", patch, model, `--output=${applied}`, "--force"]);
      assert.ok(fs.readFileSync(applied).equals(fs.readFileSync(target)), model);
    }
  }
});

test("a model of several files is patched file by file", async () => {
  const change = await modelpatch.bake(external, 64).catch((e) => e);
  const longer = change instanceof Error ? await modelpatch.extend(external, 8192) : change;
  assert.ok(longer.files.length >= 1);
  for (const file of longer.files) assert.equal((await file.bytes()).length, file.size);
});

test("output writes a file, in Node", async () => {
  const output = path.join(folder, "longer.gguf");
  const change = await modelpatch.extend(plain, 64, { output });
  assert.equal(change.plan.verified.verdict, "changed-as-planned");
  assert.equal((await modelpatch.inspect(output)).length.stated, 64);
  await assert.rejects(modelpatch.extend(plain, 64, { output }), modelpatch.OutputError);
});

test("the other verbs", async () => {
  const based = await modelpatch.rope(plain, { base: 500000 });
  assert.equal(based.plan.changes[0].what, "RoPE base 10000 → 500000");
  assert.equal((await modelpatch.inspect(await based.bytes())).encodings[0].parameters.base, 500000);
  const baked = await modelpatch.bake(path.join(TESTDATA, "onnx/llama-dy23.onnx"), 64);
  const unbaked = await modelpatch.unbake(await baked.bytes());
  assert.equal(unbaked.plan.changes.length, 1);
  assert.equal((await modelpatch.alibi(table, { replace: true, slopes: [0.5, 0.25] })).plan.changes.length, 2);
  assert.equal((await modelpatch.relative(path.join(TESTDATA, "onnx/cases/t5-buckets.onnx"), { maxDistance: 64 })).plan.changes[0].expect, "changed");
  assert.ok((await modelpatch.plot(table)).startsWith("<svg"));
});

test("set takes keys and their values", async () => {
  const set = await modelpatch.set(plain, { "rope.freq_base": 500000, "llama.context_length": 64 });
  assert.ok(Buffer.from(await set.bytes()).equals(Buffer.from(await (await modelpatch.set(bytesOf(plain), { "rope.freq_base": "500000", context_length: 64 })).bytes())));
  assert.equal((await modelpatch.inspect(await set.bytes())).length.stated, 64);
  const output = path.join(folder, "set.gguf");
  assert.equal((await modelpatch.set(plain, { "rope.scaling.type": "yarn", "rope.scaling.factor": 4 }, { output })).plan.written[0].path, output);
  await assert.rejects(modelpatch.set(plain, { "rope.dimension_sections": [16, 24] }), (e) => e instanceof modelpatch.Refused && /does not read/.test(e.said));
  await assert.rejects(modelpatch.set(plain, null, { padSections: true }), (e) => e instanceof modelpatch.Refused && /nothing to pad/.test(e.said));
  await assert.rejects(modelpatch.set(plain, null), modelpatch.UsageError);
});

test("rope with another model, lists of factors, bounds that are not rounded", async () => {
  assert.match((await modelpatch.rope(plain, { scaling: "yarn", factor: 4, originalLength: 32, truncate: true })).plan.changes[0].what, /yarn ×4/);
  const output = path.join(folder, "truncated.onnx");
  const rope = { scaling: "yarn", factor: 4, originalLength: 64 };
  const onnx = path.join(TESTDATA, "onnx/llama-dy23.onnx");
  const truncated = await modelpatch.rope(onnx, { ...rope, truncate: false });
  execFileSync(MODELPATCH, ["rope", "--scaling=yarn", "--factor=4", "--original-length=64", "--truncate=false", onnx, `--output=${output}`, "--force"]);
  assert.ok(Buffer.from(await truncated.bytes()).equals(fs.readFileSync(output)));
  assert.ok(!Buffer.from(await (await modelpatch.rope(onnx, rope)).bytes()).equals(fs.readFileSync(output)));
  const other = path.join(TESTDATA, "gguf/qwen2-yarn4.gguf");
  for (const like of [other, bytesOf(other)]) assert.equal((await modelpatch.inspect(await (await modelpatch.rope(onnx, { like })).bytes())).encodings[0].parameters.scaling.type, "yarn");
  const lists = { short_factor: Array(8).fill(1), long_factor: Array(8).fill(2) };
  for (const factors of [lists, JSON.stringify({ rope_scaling: lists })]) {
    const long = await modelpatch.rope(plain, { scaling: "longrope", factors, originalLength: 256, len: 1024 });
    assert.deepEqual((await modelpatch.inspect(await long.bytes())).encodings[0].parameters.scaling.long_factor, lists.long_factor);
  }
});

test("verify and diff", async () => {
  const longer = await (await modelpatch.extend(table, 128)).bytes();
  assert.equal((await modelpatch.verify(table, longer)).verdict, "same-on-prefix");
  const broken = Uint8Array.from(longer);
  broken[broken.length - 20001] ^= 0x40;
  await assert.rejects(modelpatch.verify(table, broken), (e) => e instanceof modelpatch.VerificationFailed && e.verdict.verdict === "different");
  assert.match((await modelpatch.diff(table, longer)).summary, /128/);
});

test("check holds models to a policy", async () => {
  const policy = { version: 1, for: [{ files: ["**/llama-*"], expect: [{ id: "long", length: ">= 64" }] }] };
  const report = await modelpatch.check([plain, bytesOf(table)], { policy, names: [undefined, "table.onnx"] });
  assert.equal(report.passed, false);
  assert.deepEqual(report.models.map((m) => m.level), ["error", "ok"]);
  assert.ok((await modelpatch.check(plain)).passed);
  await assert.rejects(modelpatch.check(plain, { policy: "version: 1\nrulez: {}\n" }), modelpatch.UsageError);
});

test("errors are of the class of their exit code, with what to do", async () => {
  await assert.rejects(modelpatch.extend(plain, 8), (e) => e instanceof modelpatch.Refused && e.code === 4 && e.remedies.length > 0 && /shorter/.test(e.hints.join()));
  await assert.rejects(modelpatch.extend(plain, 128, { metod: "yarn" }), (e) => e instanceof modelpatch.UsageError && /--method/.test(e.hints.join()));
  await assert.rejects(modelpatch.inspect(path.join(folder, "absent.gguf")), modelpatch.InputError);
  await assert.rejects(modelpatch.inspect(bytesOf(plain).subarray(0, 100)), modelpatch.InputError);
  await assert.rejects(modelpatch.inspect(new TextEncoder().encode("no model")), /not a model/);
  await assert.rejects(modelpatch.inspect(3), modelpatch.UsageError);
  await assert.rejects(modelpatch.inspect(`${base}/ranges/gguf/absent.gguf`), /no such file/);
});

test("a server without ranges, and one whose file changes, are refused", async () => {
  await assert.rejects(modelpatch.inspect(`${base}/whole/gguf/llama-plain.gguf`), (e) => e instanceof modelpatch.InputError && /no ranges/.test(e.said));
  await assert.rejects(modelpatch.inspect(`${base}/changing/gguf/llama-plain.gguf`), (e) => e instanceof modelpatch.InputError && /changed while/.test(e.said));
  await assert.rejects(modelpatch.inspect("http://127.0.0.1:1/a.gguf"), (e) => e instanceof modelpatch.InputError && /cannot be reached/.test(e.said));
});

test("calls do not disturb each other, nor the caller's globals", async () => {
  const names = Object.getOwnPropertyNames(globalThis).sort();
  const reports = await Promise.all(models.slice(0, 8).map((model) => modelpatch.inspect(model)));
  assert.deepEqual(reports.map((r) => r.path), models.slice(0, 8));
  assert.deepEqual(Object.getOwnPropertyNames(globalThis).sort(), names);
});

test("an answer of the host that comes after the program's end is dropped", async () => {
  const { close } = fs;
  const late = [];
  fs.close = (descriptor, done) => close(descriptor, (...answer) => {
    done(...answer);
    late.push(new Promise((told) => setTimeout(() => told(done(...answer)), 300))); // throws into a program that has ended
  });
  try {
    await modelpatch.inspect(plain);
  } finally {
    fs.close = close;
  }
  assert.ok(late.length > 0);
  await Promise.all(late);
});

test("of a large model only what is needed is read", async () => {
  const head = bytesOf(plain);
  const size = 200 << 20;
  let read = 0;
  // A Blob that is as large as a model, whose weights are zeros that are made when they are read.
  class Sparse extends Blob {
    get size() {
      return size;
    }
    slice(from, to) {
      read += to - from;
      const part = new Uint8Array(to - from);
      if (from < head.length) part.set(head.subarray(from, to));
      return new Blob([part]);
    }
  }
  const report = await modelpatch.inspect(new Sparse([]), { name: "large.gguf" });
  assert.equal(report.bytes, size);
  assert.ok(read < 4 << 20, `${read} bytes were read`);
});
