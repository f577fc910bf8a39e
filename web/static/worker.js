// The worker that inspects: it holds the library, and reads files for it.
"use strict";

importScripts("wasm_exec.js", "sources.js");

const ready = new Promise((resolve) => {
  self.modelpatchReady = resolve;
});

const loaded = (async () => {
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(fetch("inspector.wasm"), go.importObject);
  go.run(instance).then(() => postMessage({ crashed: "the library ended" }));
  await ready;
})();
loaded.then(() => postMessage({ ready: true }), (e) => postMessage({ crashed: `the library cannot be loaded: ${e.message}` }));

onmessage = async ({ data }) => {
  try {
    await loaded;
    restart();
    const began = performance.now();
    const source = data.url ? urlSource(data.url) : fileSource(data.files[0]);
    source.companion = (name) => {
      try {
        if (!safe(name)) return null;
        if (data.url) return urlSource(beside(data.url, name));
        const other = data.files.find((f) => f.name === name.split("/").pop());
        return other ? fileSource(other) : null;
      } catch {
        return null;
      }
    };
    const answer = self.modelpatchInspect(data.name, source, data.width);
    postMessage({ id: data.id, answer: JSON.parse(answer), read: counted, took: performance.now() - began });
  } catch (e) {
    postMessage({ id: data.id, answer: { error: e.message || String(e), hints: [] } });
  }
};
