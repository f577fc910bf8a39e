// The page: it hands files to workers and shows what they answer. Text of a model is
// only ever set as text, pictures as images.
"use strict";

const byId = (id) => document.getElementById(id);
const wholeMost = 256e6; // bytes of a model of which the new one is made here

let worker = null;
let current = null; // {id, name, files, url, companions, size}
let answered = 0;
let links = []; // object URLs of what is shown

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

// words is a size in bytes.
function words(n) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= size) return (n / size).toPrecision(3) + " " + unit;
  return n + " bytes";
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
  current = { ...model, width: byId("drop").clientWidth, id: (current ? current.id : 0) + 1 };
  byId("result").hidden = true;
  byId("failure").hidden = true;
  byId("stop").hidden = false;
  say(`Reading ${model.name} …`);
  worker.postMessage(current);
}

// main is the file of a model that others belong to.
function main(files) {
  const first = (pattern) => files.find((f) => pattern.test(f.name));
  return first(/-00001-of-\d+\.gguf$/i) || first(/\.(gguf|onnx)$/i) || files[0];
}

function choose(list) {
  const files = [...list];
  if (!files.length) return;
  const model = main(files);
  inspect({ name: model.name, files: [model, ...files.filter((f) => f !== model)], url: "" });
}

function show({ answer, size, ranges, bytes, took }) {
  answered = current.id;
  byId("stop").hidden = true;
  for (const url of links) URL.revokeObjectURL(url);
  links = [];
  byId("changed").replaceChildren();
  if (answer.error) {
    say("");
    const box = byId("failure");
    box.replaceChildren(make("p", { class: "error" }, answer.error), ...(answer.hints || []).map((h) => make("p", {}, h)));
    box.hidden = false;
    return;
  }
  const r = answer.report;
  current.size = size;
  current.companions = r.files.map((f) => f.path.split("/").pop());
  say(`Read ${words(bytes)} of ${words(size)} in ${ranges} ${ranges === 1 ? "range" : "ranges"}, ${Math.round(took)} ms.`);
  byId("title").textContent = r.path;
  facts(r);
  encodings(answer);
  findings(r.findings);
  pictures(answer);
  byId("json").textContent = JSON.stringify(r, null, 2);
  byId("result").hidden = false;
  byId("result").focus({ preventScroll: true });
}

const beyond = {
  error: "the engine or the graph fails", clamps: "the last row or value is used again", wrong: "runs, and the numbers are silently wrong",
  continues: "the formula goes on", unknown: "not known",
};

function pairs(list, entries) {
  list.replaceChildren();
  for (const [k, v] of entries) if (v !== "" && v !== null && v !== undefined) list.append(make("dt", {}, k), make("dd", {}, String(v)));
  return list;
}

function facts(r) {
  pairs(byId("facts"), [
    ["format", `${r.format}, ${r.kind}, ${words(r.bytes)}`], ["further files", r.files.length || ""], ["architecture", r.architecture], ["producer", r.producer],
    ["stated length", r.length.stated === null ? "" : `${r.length.stated} positions`],
    ["encoded length", r.length.capacity === null ? "nothing in the file limits it" : `${r.length.capacity} positions`], ["beyond it", beyond[r.length.beyond]],
  ]);
}

function place(w) {
  const parts = [];
  for (const k of ["key", "tensor", "node"]) if (w[k]) parts.push(`${k} ${w[k]}`);
  if (w.file) parts.push(`of ${w.file}`);
  if (w.range && w.range[1] > w.range[0]) parts.push(`bytes ${w.range[0]}–${w.range[1] - 1}`);
  return parts.join(", ");
}

function encodings(answer) {
  const all = answer.report.encodings.map((e, i) => {
    const list = pairs(make("dl"), [
      ["form", e.form], ["positions", e.capacity], ["layers", Array.isArray(e.layers) ? e.layers.join(", ") : ""], ...(answer.parameters[i] || []),
    ]);
    const reasons = make("ul", {}, ...e.where.map((w) => make("li", {}, place(w))), ...e.evidence.map((v) => make("li", {}, `${v.kind}: ${v.says}`)));
    return make("section", {}, make("h3", {}, answer.names[i]), list, make("details", {}, make("summary", {}, "Where it is, and on what this rests"), reasons));
  });
  byId("encodings").replaceChildren(...all);
}

function findings(all) {
  const box = byId("findings");
  box.replaceChildren();
  if (!all.length) return;
  const most = 200;
  const items = all.slice(0, most).map((f) => make("li", {}, make("strong", { class: f.level === "error" || f.level === "warning" ? f.level : "note" }, f.level), ` ${f.message} [${f.rule}]`, ...(f.hint ? [make("br"), f.hint] : [])));
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

// program is what changes models. It is loaded when the first change is asked for.
let program = null;

// change asks a worker of its own for a change, and offers what it made.
async function change(form) {
  const values = new FormData(form);
  const number = (name) => Number(values.get(name)) || 0;
  const rope = values.get("verb") === "rope";
  const request = {
    verb: values.get("verb"), length: number("length"), original_length: number("original_length"), whole: current.size <= wholeMost,
    base: rope ? number("base") : 0, scaling: rope ? values.get("scaling") : "", factor: rope ? number("factor") : 0,
  };
  const box = byId("changed");
  box.replaceChildren(make("p", {}, "Working …"));
  const button = form.querySelector("button");
  button.disabled = true;
  let compiled;
  try {
    program = program || WebAssembly.compileStreaming(fetch("changer.wasm"));
    compiled = await program;
  } catch (e) {
    program = null;
    button.disabled = false;
    box.replaceChildren(make("p", { class: "error" }, `the library cannot be loaded: ${e.message}`));
    return;
  }
  const maker = new Worker("changer.js");
  const end = (answer, made) => {
    maker.terminate();
    button.disabled = false;
    box.replaceChildren(...outcome(answer, made));
  };
  maker.onmessage = ({ data }) => end(data.answer, data.made);
  maker.onerror = (e) => end({ error: e.message || "the worker failed", hints: [] }, []);
  maker.postMessage({ name: current.name, files: current.files, url: current.url, companions: current.companions, request, program: compiled });
}

function outcome(answer, made) {
  if (answer.error) return [make("p", { class: "error" }, answer.error.replace("/in/", "")), ...(answer.hints || []).map((h) => make("p", {}, h))];
  if (answer.nothing) return [make("p", {}, `Nothing to change: ${answer.nothing}`)];
  const out = [make("ul", {}, ...answer.changes.map((c) => make("li", {}, c)), ...answer.notes.map((n) => make("li", {}, `note: ${n}`)))];
  for (const { name, blob } of made) {
    out.push(make("p", {}, make("a", { href: link(blob), download: name }, `${name} (${words(blob.size)})`)));
    if (name.endsWith(".mpatch")) out.push(make("pre", {}, `modelpatch apply ${quoted(name)} ${quoted(current.name)} -o NEW`));
  }
  return out;
}

// quoted is a name as shells take it.
function quoted(name) {
  return /^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function verbs() {
  const rope = byId("change").elements.verb.value === "rope";
  for (const e of document.querySelectorAll("label.rope")) e.hidden = !rope;
}

byId("file").addEventListener("change", (e) => choose(e.target.files));
byId("address").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = byId("url").value.trim();
  try {
    const url = new URL(text);
    inspect({ name: decodeURIComponent(url.pathname.split("/").pop()) || "model", files: [], url: url.href });
  } catch {
    say("That is no address.");
  }
});
byId("stop").addEventListener("click", () => restart("stopped"));
byId("change").addEventListener("change", verbs);
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
