// What the package exports, for a host: Node, with its file system, or a browser, without one.
import { mount, Mounts, run } from "./command.mjs";
import { ofFailure, ofText, UsageError, VerificationFailed } from "./errors.mjs";
import { ofAddress, ofBlob, ofBytes, ofEdits, shown, stream } from "./sources.mjs";

export * from "./errors.mjs";

const isAddress = (text) => /^https?:\/\//.test(text);
const isLocal = (url) => url instanceof URL && url.protocol === "file:";

// Names of files that no model reads: of journals, patches and signatures, which would be a request each.
const unread = /\.(mpatch|sig|sigstore\.json|sha256|modelpatch.*)$|^SHA256SUMS$|^\./;

/** A model's file as the command is to read it. */
async function sourceOf(model) {
  if (model instanceof ArrayBuffer) return ofBytes(new Uint8Array(model));
  if (ArrayBuffer.isView(model)) return ofBytes(new Uint8Array(model.buffer, model.byteOffset, model.byteLength));
  if (model instanceof Blob) return ofBlob(model);
  const source = await ofAddress(String(model));
  if (!source) throw ofFailure({ code: 3, error: `${shown(model)}: the server has no such file`, path: shown(model), hints: [] });
  return source;
}

/** What a model is called: its own name, that of its address, or what its first bytes are. */
async function nameOf(model, source, name) {
  if (name) return name.replace(/.*[/\\]/, "");
  if (model instanceof Blob && model.name) return model.name.replace(/.*[/\\]/, "");
  if (model instanceof URL || typeof model === "string") return decodeURIComponent(shown(model).replace(/.*\//, "")) || "model";
  const head = new Uint8Array(4);
  await source.read(0, head);
  return new TextDecoder().decode(head) === "GGUF" ? "model.gguf" : "model.onnx";
}

/** Mounts models for one call; paths of the host stay what they are. */
class Call {
  constructor(host) {
    this.host = host;
    this.models = []; // {model, name, folder, source, path}
    this.files = new Mounts(host, (folder, name) => (folder === "new" ? this.besideSource(name).catch(() => null) : this.beside(Number(folder), name)));
  }
  async place(model, { name, companions = {} } = {}) {
    if (isLocal(model)) {
      if (!this.host) throw new UsageError(`${model}: there are no files here`, { code: 2, hints: ["give bytes, a Blob or an address"] });
      model = this.host.fromURL(model);
    }
    if (typeof model === "string" && !isAddress(model)) {
      if (!this.host) throw new UsageError(`${model}: a path, and there are no files here`, { code: 2, hints: ["give bytes, a Blob or an address"] });
      this.models.push({ path: model, name: model.replace(/.*[/\\]/, ""), source: null });
      return model;
    }
    if (!(typeof model === "string" || model instanceof URL || model instanceof ArrayBuffer || ArrayBuffer.isView(model) || model instanceof Blob)) {
      throw new UsageError("a model is a path, an address, an ArrayBuffer, a typed array, a Blob or a File", { code: 2 });
    }
    const source = await sourceOf(model);
    const folder = this.models.length;
    const called = await nameOf(model, source, name);
    const path = this.files.add(folder, called, source);
    this.models.push({ model, name: called, folder, source, path });
    for (const [other, content] of Object.entries(companions)) this.files.add(folder, other, await sourceOf(content));
    return path;
  }
  /** A file beside a model at an address, which may be signed for alone. */
  async beside(folder, name) {
    const { model } = this.models[folder] || {};
    if (!(model instanceof URL || typeof model === "string") || unread.test(name)) return null;
    const address = new URL(String(model));
    if (/[?&](X-Amz-Signature|X-Goog-Signature|Signature)=/i.test(address.search)) return null;
    address.pathname = address.pathname.replace(/[^/]*$/, name.split("/").map(encodeURIComponent).join("/"));
    return ofAddress(address).catch(() => null);
  }
  /** A file beside the first model, by its name. */
  async besideSource(name) {
    const [{ path, source }] = this.models;
    if (!source) return this.host.source(path.replace(/[^/\\]*$/, name));
    await this.files.found(`${mount}/in/0/${name}`);
    return this.files.files.get(`/in/0/${name}`)?.data;
  }
  /** A text with the names that the caller gave. */
  shown(text) {
    for (const { model, folder, name } of this.models) {
      if (folder === undefined) continue;
      const from = typeof model === "string" || model instanceof URL ? shown(model).replace(/[^/]*$/, "") : "";
      text = text.replaceAll(`${mount}/in/${folder}/${name}`, from + name).replaceAll(`${mount}/in/${folder}/`, from);
    }
    return text.replaceAll(`${mount}/out/`, "").replaceAll(`${mount}/in/new/`, "new ");
  }
  /** Runs the command; the lines that it printed as objects. A failure that it reports is thrown. */
  async answers(args) {
    const { code, out, err } = await run(this.host ? this.host.program() : program(), this.files, args);
    const lines = this.shown(out).split("\n").filter(Boolean);
    if (lines.length === 0) throw ofText(code, this.shown(err));
    return { code, lines: lines.map((line) => JSON.parse(line)) };
  }
  async answer(args) {
    const { code, lines } = await this.answers(args);
    if (lines[0].schema === "modelpatch.error/1") throw ofFailure(lines[0]);
    return { code, report: lines[0] };
  }
}

let compiled = null;

/** The program, compiled once. In Node it is read from the package's folder, elsewhere fetched from beside this module. */
function program() {
  compiled ??= (async () => {
    const answer = await fetch(new URL("./command.wasm", import.meta.url));
    if (!answer.ok) throw new Error(`command.wasm: the server answers ${answer.status}`);
    return /\bapplication\/wasm\b/.test(answer.headers.get("Content-Type") || "") ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
  })();
  return compiled;
}

// Flags that are true unless they are given as false.
const trueByDefault = ["truncate"];

/** Options as flags: originalLength is --original-length, true a flag alone, lists and objects their parts. */
function flags(options) {
  const out = [];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || (value === false && !trueByDefault.includes(name))) continue;
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === true) out.push(flag);
    else if (Array.isArray(value)) out.push(`${flag}=${value.join(",")}`);
    else if (typeof value === "object") out.push(`${flag}=${Object.entries(value).map((pair) => pair.join("=")).join(",")}`);
    else out.push(`${flag}=${value}`);
  }
  return out;
}

const given = ["name", "companions"];
const own = [...given, "output", "verify"];

/** Options without some. */
function without(options, names) {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));
}

/** Which position encodings a model has, with which parameters, and how far they reach. */
function inspecting(host) {
  return async (model, options = {}) => {
    const call = new Call(host);
    const path = await call.place(model, options);
    return (await call.answer(["inspect", "--json", ...flags(without(options, given)), "--", path])).report;
  };
}

/** What is wrong with models, by the rules and a policy: {passed, models}. */
function checking(host) {
  return async (models, options = {}) => {
    const call = new Call(host);
    const list = Array.isArray(models) ? models : [models];
    const paths = [];
    for (const [i, model] of list.entries()) paths.push(await call.place(model, { name: options.names?.[i] ?? (list.length === 1 ? options.name : undefined), companions: options.companions }));
    const rest = without(options, [...given, "names", "policy"]);
    if (options.policy !== undefined) rest.policy = textFile(call, "policy", "policy.yaml", options.policy);
    const { code, lines } = await call.answers(["check", "--json", ...flags(rest), "--", ...paths]);
    const failure = lines.find((line) => line.schema === "modelpatch.error/1");
    if (failure) throw ofFailure(failure);
    return { passed: code === 0, models: lines.filter((line) => line.schema === "modelpatch.check/1") };
  };
}

const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Files that a change makes, each as the old file and the bytes that take the place of others. */
class NewFile {
  #source;
  constructor(name, source) {
    this.name = name;
    this.size = source.size;
    this.#source = source;
  }
  /** The file as a stream of bytes. */
  stream() {
    return stream(this.#source);
  }
  /** The file as bytes. */
  async bytes() {
    return new Uint8Array(await new Response(this.stream()).arrayBuffer());
  }
}

/** The result of a change: the plan, the patch files that make it, and the new files. */
class Change {
  constructor(plan, nothing, patches, files) {
    this.plan = plan;
    this.nothing = nothing;
    this.patches = patches;
    this.files = files;
  }
  /** The patch file (.mpatch) of the model; null where there was nothing to do. */
  get patch() {
    return this.patches[0]?.bytes ?? null;
  }
  /** The new model as a stream of bytes. */
  stream() {
    return this.files[0].stream();
  }
  /** The new model as bytes. */
  bytes() {
    return this.files[0].bytes();
  }
}

/** Text, or an object as JSON, as a file of the call. */
const textFile = (call, folder, name, content) => call.files.add(folder, name, ofBytes(new TextEncoder().encode(typeof content === "string" ? content : JSON.stringify(content))));

/** Metadata keys as the command's arguments: key=value, a list with commas. */
const assignments = (keys) => Object.entries(keys).map(([key, value]) => `${key}=${value}`);

/** A verb that changes a model: of options alone, or of an argument before them, which is the flag of that name or, as "keys", the command's arguments. */
function changing(host, verb, argument) {
  return async (model, ...given) => {
    const options = (argument ? given[1] : given[0]) || {};
    const value = (argument && given[0]) ?? null;
    const what = value === null || argument === "keys" ? {} : { [argument]: value };
    const call = new Call(host);
    const path = await call.place(model, options);
    const rest = without(options, own);
    if (rest.like !== undefined) rest.like = await call.place(rest.like);
    if (rest.factors !== undefined) rest.factors = textFile(call, "factors", "factors.json", rest.factors);
    const asked = { flags: flags({ ...what, ...rest }), arguments: value !== null && argument === "keys" ? assignments(value) : [] };
    const verify = options.verify ?? true;
    if (options.output !== undefined) {
      if (!host) throw new UsageError("output names a file, and there are none here", { code: 2, hints: ["patch and stream() are what the change made"] });
      const { report } = await call.answer([verb, "--json", ...asked.flags, ...(verify ? ["--verify"] : []), `--output=${options.output}`, "--", ...asked.arguments, path]);
      return new Change(report, null, [], []);
    }
    return patched(host, call, verb, asked, path, verify);
  };
}

/** A change that is written nowhere: as patch files, and as files that are put together when they are read. */
async function patched(host, call, verb, asked, path, verify) {
  const { name } = call.models[0];
  const target = `${mount}/out/${name}`;
  const list = `${mount}/out/edits.json`;
  const { report: plan } = await call.answer([verb, "--json", ...asked.flags, "--patch-only", `--edits=${list}`, `--output=${target}`, "--", ...asked.arguments, path]);
  const patches = call.files.names("/out").filter((file) => file.endsWith(".mpatch")).map((file) => ({ name: file, bytes: call.files.written(`${mount}/out/${file}`) }));
  const source = call.models[0].source ?? (await host.source(path));
  if (patches.length === 0) return new Change(plan, "nothing to change", [], [new NewFile(name, source)]);
  const edits = new Map([[name, []]]); // by the file that they change
  for (const { path: file = name, start, end, content } of JSON.parse(new TextDecoder().decode(call.files.written(list)))) {
    if (!edits.has(file)) edits.set(file, []);
    edits.get(file).push({ start, end, content: decoded(content) });
  }
  const files = [];
  for (const [file, changes] of edits) {
    const old = file === name ? source : await call.besideSource(file);
    const made = ofEdits(old, changes);
    files.push(new NewFile(file, made));
    call.files.add("new", file, made);
  }
  if (verify) plan.verified = await verified(call, path, `${mount}/in/new/${name}`, plan);
  return new Change(plan, null, patches, files);
}

/** The verdict of a change that was written nowhere; one of other differences is thrown. */
async function verified(call, before, after, plan) {
  const file = textFile(call, "plan", "plan.json", plan);
  const { report } = await call.answer(["verify", "--json", "--no-engine", `--plan=${file}`, "--", before, after]);
  return judged(report);
}

function judged(verdict) {
  if (verdict.verdict !== "different" && verdict.verdict !== "broken") return verdict;
  throw Object.assign(new VerificationFailed(verdict.summary, { code: 1, path: verdict.after, hints: verdict.hints ?? [] }), { verdict });
}

/** Whether a model is another but for a change of position encoding; other differences are thrown as VerificationFailed. */
function verifying(host) {
  return async (before, after, options = {}) => {
    const call = new Call(host);
    const paths = [await call.place(before, { name: options.names?.[0] }), await call.place(after, { name: options.names?.[1] })];
    const rest = without(options, ["names", "plan"]);
    if (options.plan) rest.plan = textFile(call, "plan", "plan.json", options.plan);
    return judged((await call.answer(["verify", "--json", ...flags(rest), "--", ...paths])).report);
  };
}

/** How two models differ in their positions, their parts and bytes. */
function differing(host) {
  return async (a, b, options = {}) => {
    const call = new Call(host);
    const paths = [await call.place(a, { name: options.names?.[0] }), await call.place(b, { name: options.names?.[1] })];
    return (await call.answer(["diff", "--json", ...flags(without(options, ["names"])), "--", ...paths])).report;
  };
}

/** A picture (SVG) of what a model's encodings compute. */
function plotting(host) {
  return async (model, options = {}) => {
    const call = new Call(host);
    const path = await call.place(model, options);
    const picture = `${mount}/out/picture.svg`;
    const { code, err } = await run(host ? host.program() : program(), call.files, ["plot", ...flags(without(options, given)), `--output=${picture}`, "--", path]);
    if (code !== 0) throw ofText(code, call.shown(err));
    return call.shown(new TextDecoder().decode(call.files.written(picture)));
  };
}

/** The functions of the package, for a host; null is a browser. */
export function library(host) {
  return {
    inspect: inspecting(host),
    check: checking(host),
    verify: verifying(host),
    diff: differing(host),
    plot: plotting(host),
    extend: changing(host, "extend", "len"),
    rope: changing(host, "rope"),
    set: changing(host, "set", "keys"),
    alibi: changing(host, "alibi"),
    window: changing(host, "window", "len"),
    bake: changing(host, "bake", "len"),
    unbake: changing(host, "unbake"),
    relative: changing(host, "relative"),
  };
}
