// Files as workers read them: synchronously, a range at a time. A source is
// {size, read(offset, array) → bytes read}; what cannot be read is thrown.
"use strict";

// counted is how much was read, and in how many ranges.
const counted = { ranges: 0, bytes: 0 };

// fileSource reads a File that was dropped or chosen.
function fileSource(file) {
  const reader = new FileReaderSync();
  return {
    size: file.size,
    read(offset, into) {
      const part = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + into.length)));
      into.set(part);
      counted.ranges++;
      counted.bytes += part.length;
      return part.length;
    },
  };
}

// range asks a server for bytes; the answer has to be just these.
function range(url, first, last) {
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  request.setRequestHeader("Range", `bytes=${first}-${last}`);
  try {
    request.send();
  } catch (e) {
    throw new Error("the server cannot be reached from this page (it may not allow other sites, CORS)");
  }
  if (request.status === 200) throw new Error("the server sends the whole file and no ranges: download it and choose the file");
  if (request.status !== 206) throw new Error(`the server answers ${request.status}`);
  return request;
}

// urlSource reads from a server that allows ranges. The first range tells the size.
function urlSource(url) {
  const first = 262144;
  const start = range(url, 0, first - 1);
  const head = new Uint8Array(start.response);
  const total = /\/(\d+)$/.exec(start.getResponseHeader("Content-Range") || "");
  if (!total) throw new Error("the server does not tell the size of the file (Content-Range is hidden from this page)");
  const size = Number(total[1]);
  counted.ranges++;
  counted.bytes += head.length;
  return {
    size,
    read(offset, into) {
      const end = Math.min(offset + into.length, size);
      if (end <= head.length) {
        into.set(head.subarray(offset, end));
        return end - offset;
      }
      if (offset >= end) return 0;
      const part = new Uint8Array(range(url, offset, end - 1).response).subarray(0, into.length);
      into.set(part);
      counted.ranges++;
      counted.bytes += part.length;
      return part.length;
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
