// The worker that makes one change, or reads one patch file, and ends with it.
"use strict";

importScripts("sources.js", "files.js");

const refused = () => {
  throw fault("ENOSYS");
};

onmessage = async ({ data }) => {
  try {
    const sources = data.url ? [[data.name, urlSource(data.url)]] : data.files.map((f) => [f.name, fileSource(f)]);
    if (data.url) {
      for (const name of data.companions) if (safe(name)) sources.push([name, urlSource(beside(data.url, name))]);
    }
    const files = new Files(sources);
    self.fs = files.fs;
    self.process = { getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: refused, pid: 1, ppid: 1, umask: () => 0o22, cwd: () => "/", chdir: refused };
    self.path = { resolve: (...parts) => files.path(parts.join("/")) };
    importScripts("wasm_exec.js");
    const go = new Go();
    go.env = { TMPDIR: "/tmp" };
    self.modelpatchRequest = JSON.stringify({ ...data.request, path: "/in/" + data.name, folder: "/out" });
    let answered = false;
    self.modelpatchChanged = (line) => {
      answered = true;
      const answer = JSON.parse(line);
      const made = (answer.files || []).map(({ path, apply }) => {
        const { data } = files.files.get(path);
        return { name: path.split("/").pop(), apply, blob: new Blob([data.bytes.subarray(0, data.size)]) };
      });
      postMessage({ answer, made, read: counted });
    };
    const instance = await WebAssembly.instantiate(data.program, go.importObject);
    await go.run(instance); // which ends in a failure alone: the page ends this worker once it has the answer
    if (!answered) throw new Error("the library ended without an answer: " + files.printed.split("\n")[0]);
  } catch (e) {
    postMessage({ answer: { error: e.message || String(e), hints: [] }, made: [] });
  }
};
