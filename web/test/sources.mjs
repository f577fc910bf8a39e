// Ranges as the page's workers read them, from servers that lie: node web/test/sources.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import vm from "node:vm";

const content = Uint8Array.from({ length: 600000 }, (_, i) => (i * 31) % 251);

// source opens an address on a server that answers a request as lies says.
function source(lies = () => ({})) {
  let asked = 0;
  class XMLHttpRequest {
    open() {}
    setRequestHeader(_, value) {
      [, this.first, this.last] = /^bytes=(\d+)-(\d+)$/.exec(value).map(Number);
    }
    send() {
      const last = Math.min(this.last, content.length - 1);
      const answer = {
        status: 206, etag: '"a"', modified: null, range: `bytes ${this.first}-${last}/${content.length}`,
        body: content.slice(this.first, last + 1), ...lies(asked++, this.first, last),
      };
      if (answer.throws) throw Object.assign(new Error("x"), { name: answer.throws });
      this.status = answer.status;
      this.response = answer.body.buffer;
      this.headers = { "Content-Range": answer.range, ETag: answer.etag, "Last-Modified": answer.modified };
    }
    getResponseHeader(name) {
      return this.headers[name] ?? null;
    }
  }
  let now = 0;
  const context = vm.createContext({ XMLHttpRequest, Uint8Array, URL, Math, Number, Error, performance: { now: () => (now += source.step) } });
  vm.runInContext(fs.readFileSync(new URL("../static/sources.js", import.meta.url), "utf8"), context);
  source.counted = vm.runInContext("counted", context);
  return vm.runInContext("urlSource", context)("https://example.com/m.gguf");
}
source.step = 1;

function read(of, offset, n) {
  const into = new Uint8Array(n);
  return into.subarray(0, of.read(offset, into));
}

const sound = source();
for (const [at, n] of [[0, 100], [262100, 100], [262144, 5000], [599000, 5000], [300000, 300000]]) {
  assert.deepEqual(read(sound, at, n), content.slice(at, at + n));
}
assert.equal(read(sound, 600000, 10).length, 0);
{ // what is read twice is counted once as read, and twice as fetched
  const pages = source();
  for (const at of [0, 262144, 524288, 262144]) read(pages, at, 262144);
  assert.deepEqual({ ...source.counted }, { ranges: 4, bytes: 600000 + 262144, distinct: 600000, size: 600000 });
}
assert.deepEqual(read(source(() => ({ etag: null })), 300000, 10), content.slice(300000, 300010)); // hidden from the page

const later = (what) => (i) => (i ? what : {});
for (const [lies, want] of [
  [() => ({ status: 200 }), /no ranges/],
  [() => ({ status: 404 }), /answers 404/],
  [() => ({ throws: "NetworkError" }), /cannot be reached/],
  [() => ({ throws: "TimeoutError" }), /takes too long/],
  [() => ({ range: null }), /does not tell the size/],
  [() => ({ range: "bytes 0-262143/*" }), /does not tell the size/],
  [() => ({ range: "bytes 1-262144/600000" }), /were asked for/],
  [() => ({ range: "bytes 0-99/600000" }), /were asked for/],
  [(_, first, last) => ({ body: content.slice(first, last) }), /were asked for/],
  [later({ range: "bytes 300000-300009/700000" }), /changed on the server/],
  [later({ range: "bytes 300001-300010/600000" }), /were asked for/],
  [later({ etag: '"b"' }), /changed on the server/],
  [later({ etag: null }), /changed on the server/],
  [(i) => ({ etag: null, modified: `day ${i}` }), /changed on the server/],
]) {
  assert.throws(() => read(source(lies), 300000, 10), want);
}
assert.deepEqual(read(source((i) => ({ etag: i ? '"a"' : 'W/"a"' })), 300000, 10), content.slice(300000, 300010));

source.step = 200000; // milliseconds a look at the clock
const slow = source();
assert.throws(() => { for (let i = 0; i < 10; i++) read(slow, 300000 + i, 10); }, /takes too long/);
console.log("ranges: start, end, size, version and time");
