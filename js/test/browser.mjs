// The package in headless Chromium: node js/test/browser.mjs PACKAGE TESTDATA, with playwright-core on NODE_PATH.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const { chromium } = createRequire(`${process.env.NODE_PATH}/`)("playwright-core");
const [packageFolder, testdata] = process.argv.slice(2);
const types = { ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const page = '<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src \'self\' blob:; script-src \'self\' \'wasm-unsafe-eval\'"><input type=file>';
const server = http.createServer((request, response) => {
  const where = request.url.replace(/\?.*/, "");
  if (where === "/") return response.writeHead(200, { "Content-Type": "text/html" }).end(page);
  const file = where.startsWith("/testdata/") ? path.join(testdata, where.slice("/testdata/".length)) : path.join(packageFolder, where);
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  const content = fs.readFileSync(file);
  const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range || "");
  if (!asked) return response.writeHead(200, { "Content-Type": types[path.extname(file)] || "application/octet-stream" }).end(content);
  const [first, last] = [Number(asked[1]), Math.min(Number(asked[2]), content.length - 1)];
  response.writeHead(206, { "Content-Range": `bytes ${first}-${last}/${content.length}`, ETag: '"1"' }).end(content.subarray(first, last + 1));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  await tab.setInputFiles("input", path.join(testdata, "gguf/llama-plain.gguf"));
  const got = await tab.evaluate(async () => {
    const { inspect, extend, UsageError } = await import("/js/web.mjs");
    const [file] = document.querySelector("input").files;
    const change = await extend(file, 128);
    const path = await inspect("a.gguf").catch((e) => e instanceof UsageError);
    const address = await inspect(`${location.origin}/testdata/onnx/genai-llama-fp32-ext.onnx`);
    return { chosen: (await inspect(file)).path, size: (await change.bytes()).length, told: change.files[0].size, patch: change.patch.length, verdict: change.plan.verified.verdict, path, scheme: address.encodings[0].scheme };
  });
  assert.deepEqual({ ...got, size: 0, told: 0, patch: 0 }, { chosen: "llama-plain.gguf", size: 0, told: 0, patch: 0, verdict: "changed-as-planned", path: true, scheme: "rope" });
  assert.equal(got.size, got.told);
  assert.ok(got.patch > 100);
  console.log(`in Chromium ${browser.version()}: a File of ${got.told} bytes extended, a model with its data file read by ranges`);
} finally {
  await browser.close();
  server.close();
}
