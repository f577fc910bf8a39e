// Files as workers read them: synchronously, a range at a time. A source is
// {size, read(offset, array) → bytes read}; what cannot be read is thrown.
"use strict";

// counted is how much was read, in how many ranges, how much of that for the first time, and the size of the
// files that it was read of.
const counted = {};
const seen = new Map(); // name or address → offsets that were read

// restart counts anew.
function restart() {
  Object.assign(counted, { ranges: 0, bytes: 0, distinct: 0, size: 0 });
  seen.clear();
}
restart();

// count notes a range of a file that was read.
function count(file, size, offset, length) {
  if (!seen.has(file)) {
    seen.set(file, new Set());
    counted.size += size;
  }
  counted.ranges++;
  counted.bytes += length;
  if (!seen.get(file).has(offset)) counted.distinct += length;
  seen.get(file).add(offset);
}

// fileSource reads a File that was dropped or chosen.
function fileSource(file) {
  const reader = new FileReaderSync();
  return {
    size: file.size,
    read(offset, into) {
      const part = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + into.length)));
      into.set(part);
      count(file.name, file.size, offset, part.length);
      return part.length;
    },
  };
}

// patience bounds the time that all requests of a source take, as in the command: five minutes, and a
// second for each request and each 64 KiB. silence bounds one request.
const patience = 300000;
const silence = 30000;

// version is what names the version that an answer is of, as far as the server lets this page see it.
function version(request) {
  const etag = (request.getResponseHeader("ETag") || "").replace(/^W\//, "");
  return { etag, modified: request.getResponseHeader("Last-Modified") || "" };
}

// range asks a server for bytes; the answer has to be just these, of the file that is known.
function range(url, first, last, known) {
  const began = performance.now();
  if (known && known.spent > patience + 1000 * (known.requests + known.bytes / 65536)) {
    throw new Error("the server takes too long: download the file and choose it");
  }
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  request.timeout = silence + (last - first) / 4;
  request.setRequestHeader("Range", `bytes=${first}-${last}`);
  try {
    request.send();
  } catch (e) {
    if (e.name === "TimeoutError") throw new Error("the server takes too long: download the file and choose it");
    throw new Error("the server cannot be reached from this page (it may not allow other sites, CORS)");
  }
  if (request.status === 200) throw new Error("the server sends the whole file and no ranges: download it and choose the file");
  if (request.status !== 206) throw new Error(`the server answers ${request.status}`);
  const said = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(request.getResponseHeader("Content-Range") || "");
  if (!said) throw new Error("the server does not tell the size of the file (Content-Range is hidden from this page)");
  const [from, to, size] = said.slice(1).map(Number);
  const sent = request.response.byteLength;
  if (from !== first || to !== Math.min(last, size - 1) || sent !== to - from + 1) {
    throw new Error(`the server sent ${sent} bytes as ${from} to ${to} of ${size}; ${first} to ${last} were asked for`);
  }
  const now = version(request);
  if (known && (size !== known.size || (known.etag && now.etag ? now.etag !== known.etag : now.modified !== known.modified || (known.etag && !now.modified)))) {
    throw new Error("the file changed on the server while it was read: look at it again");
  }
  count(url, size, from, sent);
  const spent = performance.now() - began;
  if (!known) return { size, ...now, requests: 1, bytes: sent, spent, data: new Uint8Array(request.response) };
  known.requests++;
  known.bytes += sent;
  known.spent += spent;
  return { data: new Uint8Array(request.response) };
}

// urlSource reads from a server that allows ranges. The first range tells the size and the version.
function urlSource(url) {
  const first = 262144;
  const known = range(url, 0, first - 1);
  const { data: head, size } = known;
  return {
    size,
    read(offset, into) {
      const end = Math.min(offset + into.length, size);
      if (end <= head.length) {
        into.set(head.subarray(offset, end));
        return end - offset;
      }
      if (offset >= end) return 0;
      const { data } = range(url, offset, end - 1, known);
      into.set(data);
      return data.length;
    },
  };
}

// beside is the address of another file in a model's folder. Names are from the model.
function beside(url, name) {
  const address = new URL(url);
  address.pathname = address.pathname.replace(/[^/]*$/, "") + name.split("/").map(encodeURIComponent).join("/");
  return address.href;
}

// safe reports whether a name stays in the model's folder.
function safe(name) {
  return name !== "" && !name.includes("\\") && !name.split("/").some((part) => part === "" || part === "." || part === "..");
}
