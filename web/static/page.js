// The page: it hands files to workers and shows what they answer. Text of a model is
// only ever set as text, pictures as images.
"use strict";

const byId = (id) => document.getElementById(id);
const wholeMost = 256e6; // bytes of a model of which the new one is made here

let worker = null;
let current = null; // {id, name, files, url, companions, size}
let answered = 0;
let links = []; // object URLs of what is shown
let making = null; // ends the change that is being made

// make builds an element of text and other elements.
function make(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

function link(blob) {
  const url = URL.createObjectURL(blob);
  links.push(url);
  return url;
}

function say(text) {
  byId("status").textContent = text;
}

// words is a size in bytes, as the command-line tool writes it.
function words(n) {
  if (n === 1) return "1 byte";
  if (n < 1e3) return n + " bytes";
  if (n < 1e6 - 50) return (n / 1e3).toFixed(1) + " kB";
  if (n < 1e9 - 5e4) return (n / 1e6).toFixed(1) + " MB";
  return (n / 1e9).toFixed(2) + " GB";
}

function start() {
  worker = new Worker("worker.js");
  worker.onmessage = ({ data }) => {
    if (data.crashed) return restart(data.crashed);
    if (data.ready) document.documentElement.dataset.ready = "true";
    if (current && data.id === current.id) show(data);
  };
  worker.onerror = (e) => restart(e.message || "the worker failed");
}

// restart replaces a worker that ended, and says why.
function restart(why) {
  worker.terminate();
  const waiting = current && answered !== current.id;
  start();
  if (waiting) show({ answer: { error: why, hints: [] } });
}

function inspect(model) {
  stopMaking();
  byId("change").querySelector("button").disabled = false;
  current = { ...model, width: byId("drop").clientWidth, id: (current ? current.id : 0) + 1 };
  byId("result").hidden = true;
  byId("failure").hidden = true;
  byId("stop").hidden = false;
  for (const button of byId("several").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.textContent === model.name));
  say(`Reading ${model.name} …`);
  if (model.name.endsWith(".mpatch")) readPatch(current);
  else worker.postMessage(current);
}

// readPatch shows what a patch file changes. The program that changes models reads it.
async function readPatch(asked) {
  const began = performance.now();
  const told = await ask({ verb: "show" });
  if (current === asked && answered !== asked.id) show({ ...told, took: performance.now() - began });
}

// models are the files among several that can be looked at by themselves: models and patches, of a
// model in shards the first. Where none has such a name it is the first file.
function models(files) {
  const alone = files.filter((f) => /\.(gguf|onnx|mpatch)$/i.test(f.name));
  const shards = (f) => f.name.replace(/-\d{5}-of-(\d{5}\.gguf)$/i, "-of-$1");
  alone.sort((a, b) => a.name.localeCompare(b.name));
  const out = alone.filter((f, i) => i === 0 || shards(f) !== shards(alone[i - 1]));
  return out.length ? out : files.slice(0, 1);
}

// choose looks at what was dropped or chosen; of several models at the first, and the others can be
// chosen from a list.
function choose(list) {
  const files = [...list];
  if (!files.length) return;
  const all = models(files);
  const look = (model) => inspect({ name: model.name, files: [model, ...files.filter((f) => f !== model)], url: "" });
  const buttons = all.map((model) => {
    const button = make("button", { type: "button" }, model.name);
    button.addEventListener("click", () => look(model));
    return button;
  });
  byId("several").hidden = all.length < 2;
  byId("several").replaceChildren(make("p", {}, `${all.length} files, one at a time:`), ...buttons);
  look(all[0]);
}

function show({ answer, read, took }) {
  answered = current.id;
  byId("stop").hidden = true;
  for (const url of links) URL.revokeObjectURL(url);
  links = [];
  byId("changed").replaceChildren();
  if (answer.error) {
    say("");
    const box = byId("failure");
    box.replaceChildren(make("p", { class: "error" }, answer.error), ...(answer.hints || []).map((h) => make("p", {}, `hint: ${h}`)));
    box.hidden = false;
    return;
  }
  const r = answer.report;
  const again = read.bytes > read.distinct ? ` (${words(read.bytes)} with what was read again)` : "";
  say(`Read ${words(read.distinct)} of ${words(read.size)}${again} in ${read.ranges} ${read.ranges === 1 ? "range" : "ranges"}, ${Math.round(took)} ms.`);
  byId("title").textContent = r ? r.path : current.name;
  byId("headline").textContent = answer.headline[0].toUpperCase() + answer.headline.slice(1) + ".";
  pairs(byId("facts"), answer.facts);
  byId("encodings").replaceChildren(...answer.encodings.map(encoding));
  findings(answer.findings);
  for (const part of document.querySelectorAll("#result .model")) part.hidden = !r;
  if (r) {
    current.size = r.files.reduce((n, f) => n + f.bytes, r.bytes);
    current.companions = r.files.map((f) => f.path.split("/").pop());
    pictures(answer);
  }
  byId("json").textContent = JSON.stringify(r || answer.patch, null, 2);
  byId("result").hidden = false;
  byId("result").focus({ preventScroll: true });
}

function pairs(list, entries) {
  list.replaceChildren();
  for (const [k, v] of entries) list.append(make("dt", {}, k), make("dd", {}, v));
  return list;
}

function encoding(e) {
  const reasons = make("ul", {}, ...e.reasons.map((says) => make("li", {}, says)));
  return make("section", {}, make("h3", {}, e.name), pairs(make("dl"), e.facts), make("details", {}, make("summary", {}, "Where it is, and on what this rests"), reasons));
}

function findings(all) {
  const box = byId("findings");
  box.replaceChildren();
  if (!all.length) return;
  const most = 200;
  const hints = (f) => f.hints.flatMap((h) => [make("br"), `hint: ${h}`]);
  const items = all.slice(0, most).map((f) => make("li", {}, make("strong", { class: f.level }, f.level), ` ${f.message}`, ...hints(f)));
  if (all.length > most) items.push(make("li", {}, `and ${all.length - most} more`));
  box.append(make("h3", {}, "Findings"), make("ul", {}, ...items));
}

function pictures(answer) {
  const box = byId("pictures");
  box.replaceChildren();
  if (!answer.pictures.length) box.append(make("p", {}, answer.no_picture));
  for (const p of answer.pictures) {
    const image = make("img", { src: link(new Blob([p.svg], { type: "image/svg+xml" })), alt: `${p.title}. ${p.description}`, "data-kind": p.kind });
    box.append(make("figure", {}, make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": p.title }, image), make("figcaption", {}, p.description)));
    for (const t of p.tables) {
      const head = make("thead", {}, make("tr", {}, ...t.heads.map((h) => make("th", { scope: "col" }, h))));
      const body = make("tbody", {}, ...t.rows.map((row) => make("tr", {}, ...row.map((c) => make("td", {}, c)))));
      box.append(make("details", {}, make("summary", {}, `Numbers: ${t.title}`), make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": t.title }, make("table", {}, head, body))));
    }
  }
}

// program is what changes models and reads patch files. It is loaded when it is asked for first.
let program = null;

// change asks for a change, and offers what it made.
async function change(form) {
  const values = new FormData(form);
  const number = (name) => Number(values.get(name)) || 0;
  const rope = values.get("verb") === "rope";
  const request = {
    verb: values.get("verb"), length: number("length"), original_length: number("original_length"), whole: current.size <= wholeMost,
    method: rope ? "" : values.get("method"),
    base: rope ? number("base") : 0, scaling: rope ? values.get("scaling") : "", factor: rope ? number("factor") : 0,
  };
  const box = byId("changed"), button = form.querySelector("button"), asked = current;
  box.replaceChildren(make("p", {}, "Working …"));
  button.disabled = true;
  byId("stop").hidden = false;
  let says;
  try {
    const { answer, made } = await ask(request);
    says = outcome(answer, made);
  } catch (e) {
    says = [make("p", { class: "error" }, e.message || String(e))];
  }
  if (current !== asked) return; // another model is shown
  byId("stop").hidden = true;
  button.disabled = false;
  box.replaceChildren(...says);
}

// stopMaking ends a change that is being made; false where there is none.
function stopMaking() {
  if (!making) return false;
  making();
  return true;
}

// ask runs the program with a request about the current file, in a worker of its own: {answer, made, read}.
async function ask(request) {
  const failed = (why) => ({ answer: { error: why, hints: [] }, made: [] });
  const { name, files, url, companions } = current;
  try {
    program = program || WebAssembly.compileStreaming(fetch("changer.wasm"));
    await program;
  } catch (e) {
    program = null;
    return failed(`the library cannot be loaded: ${e.message}`);
  }
  const compiled = await program;
  const maker = new Worker("changer.js");
  const told = await new Promise((resolve) => {
    making = () => resolve(failed("stopped"));
    maker.onmessage = ({ data }) => resolve(data);
    maker.onerror = (e) => resolve(failed(e.message || "the worker failed"));
    maker.postMessage({ name, files, url, companions: companions || [], request, program: compiled });
  });
  making = null;
  maker.terminate();
  return told;
}

function outcome(answer, made) {
  if (answer.error) return [make("p", { class: "error" }, answer.error), ...(answer.hints || []).map((h) => make("p", {}, `hint: ${h}`))];
  if (answer.nothing) return [make("p", {}, `Nothing to change: ${answer.nothing}`)];
  const lines = [...answer.changes, answer.outputs, ...answer.check.map((c) => `check: ${c}`), ...answer.notes.map((n) => `note: ${n}`)];
  const out = [make("ul", {}, ...lines.map((says) => make("li", {}, says)))];
  for (const { name, apply, blob } of made) {
    out.push(make("p", {}, make("a", { href: link(blob), download: name }, `${name} (${words(blob.size)})`)));
    if (apply) out.push(make("pre", {}, apply));
  }
  return out;
}

function verbs() {
  const rope = byId("change").elements.verb.value === "rope";
  byId("change").elements.namedItem("length").required = !rope;
  for (const e of document.querySelectorAll("label.rope, label.extend")) e.hidden = rope !== e.classList.contains("rope");
}

byId("file").addEventListener("change", (e) => {
  choose(e.target.files);
  e.target.value = ""; // or the same file, changed meanwhile, could not be chosen again
});
byId("address").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = byId("url").value.trim();
  try {
    const url = new URL(text);
    byId("several").hidden = true;
    inspect({ name: decodeURIComponent(url.pathname.split("/").pop()) || "model", files: [], url: url.href });
  } catch {
    say("That is no address.");
  }
});
byId("stop").addEventListener("click", () => stopMaking() || restart("stopped"));
byId("change").addEventListener("change", verbs);
byId("change").addEventListener("input", () => making || byId("changed").replaceChildren()); // what was made is not what is entered
byId("change").addEventListener("submit", (e) => {
  e.preventDefault();
  change(e.target);
});
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (e) => {
    e.preventDefault();
    byId("drop").classList.add("over");
  });
}
for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, () => byId("drop").classList.remove("over"));
document.addEventListener("drop", (e) => {
  e.preventDefault();
  choose(e.dataTransfer.files);
});
verbs();
start();
