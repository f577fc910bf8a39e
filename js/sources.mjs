// Models as the command reads them: {size, read(offset, array)}, a range at a time. read returns how many bytes it
// read, or a promise of that.
import { InputError } from "./errors.mjs";

/** A model in memory. */
export function ofBytes(bytes) {
  return {
    size: bytes.length,
    read(offset, into) {
      const part = bytes.subarray(offset, offset + into.length);
      into.set(part);
      return part.length;
    },
  };
}

/** A Blob or File: what is not asked for stays on its disk. */
export function ofBlob(blob) {
  return {
    size: blob.size,
    async read(offset, into) {
      const part = new Uint8Array(await blob.slice(offset, offset + into.length).arrayBuffer());
      into.set(part);
      return part.length;
    },
  };
}

const block = 64 << 10; // bytes that are asked for at least, at offsets that are multiples of it
const most = 64; // blocks that one request asks for where reading goes on
const kept = 256; // blocks that are remembered

/**
 * A file on a server that answers ranges. One version of it is read, or none: each answer is held against the first.
 * It is null where the server says that there is none (404, 410).
 */
export async function ofAddress(address, fetching = fetch) {
  const wrong = (why) => new InputError(`${shown(address)}: ${why}`, { code: 3, path: shown(address) });
  const blocks = new Map(); // number → bytes, the latest used last
  let known = null;
  let next = 0; // the block after the last that was fetched
  let run = 1; // how many the next request asks for

  async function range(first, count) {
    const from = first * block;
    let answer;
    try {
      answer = await fetching(address, { headers: { Range: `bytes=${from}-${from + count * block - 1}` } });
    } catch (cause) {
      throw Object.assign(wrong(`the server cannot be reached, or does not allow it (CORS): ${cause.message}`), { cause });
    }
    if ((answer.status === 404 || answer.status === 410) && !known) return null;
    if (answer.status === 200) throw wrong("the server sends the whole file and no ranges: download it first");
    const said = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(answer.headers.get("Content-Range") || "");
    if (answer.status === 416 && !known) throw wrong("the file is empty");
    if (answer.status !== 206) throw wrong(`the server answers ${answer.status}`);
    if (!said) throw wrong("the server does not tell the size of the file (Content-Range)");
    const [start, end, size] = said.slice(1).map(Number);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (start !== from || end !== Math.min(from + count * block, size) - 1 || bytes.length !== end - start + 1) throw wrong("the server sends other ranges than were asked for");
    const version = { size, etag: (answer.headers.get("ETag") || "").replace(/^W\//, ""), modified: answer.headers.get("Last-Modified") || "" };
    known ??= version;
    if (version.size !== known.size || version.etag !== known.etag || version.modified !== known.modified) throw wrong("the file changed while it was read");
    for (let i = 0; i * block < bytes.length; i++) blocks.set(first + i, bytes.subarray(i * block, (i + 1) * block));
    while (blocks.size > Math.max(kept, count)) blocks.delete(blocks.keys().next().value);
    return bytes;
  }

  if ((await range(0, 1)) === null) return null;
  next = 1;
  return {
    size: known.size,
    async read(offset, into) {
      const n = Math.max(0, Math.min(into.length, known.size - offset));
      for (let done = 0; done < n; ) {
        const number = Math.floor((offset + done) / block);
        if (!blocks.has(number)) {
          const wanted = Math.ceil((offset + n) / block) - number;
          run = number === next ? Math.min(2 * run, most) : 1; // reading goes on where the last request ended
          const last = Math.ceil(known.size / block);
          const count = Math.min(Math.max(wanted, run), Math.max(most, 1), last - number);
          await range(number, count);
          next = number + count;
        }
        const bytes = blocks.get(number);
        const at = offset + done - number * block;
        const part = bytes.subarray(at, at + n - done);
        into.set(part, done);
        done += part.length;
      }
      return n;
    },
  };
}

/** An address without its query, where presigned ones keep their signature. */
export function shown(address) {
  return String(address).replace(/[?#].*$/, "");
}

/** A file that takes bytes of another, and new ones in between: edits are {start, end, content}, in order. */
export function ofEdits(source, edits) {
  const parts = [];
  let size = 0;
  const add = (length, part) => {
    if (length > 0) parts.push({ ...part, at: size, length });
    size += length;
  };
  let from = 0;
  for (const { start, end, content } of edits) {
    add(start - from, { from });
    add(content.length, { content });
    from = end;
  }
  add(source.size - from, { from });
  return {
    size,
    async read(offset, into) {
      let done = 0;
      for (const part of parts) {
        const skip = offset + done - part.at;
        if (skip < 0 || skip >= part.length) continue;
        const n = Math.min(part.length - skip, into.length - done);
        if (n === 0) break;
        const piece = into.subarray(done, done + n);
        if (part.content) piece.set(part.content.subarray(skip, skip + n));
        else await whole(source, part.from + skip, piece);
        done += n;
      }
      return done;
    },
  };
}

/** Fills an array from a source. */
export async function whole(source, offset, into) {
  for (let done = 0; done < into.length; ) {
    const n = await source.read(offset + done, into.subarray(done));
    if (n === 0) throw new InputError(`the file ends at ${offset + done}, and is said to be longer`, { code: 3 });
    done += n;
  }
}

/** A source as a stream of bytes. */
export function stream(source) {
  const step = 1 << 20;
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      if (at >= source.size) {
        controller.close();
        return;
      }
      const bytes = new Uint8Array(Math.min(step, source.size - at));
      await whole(source, at, bytes);
      at += bytes.length;
      controller.enqueue(bytes);
    },
  });
}
