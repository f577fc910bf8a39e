// modelpatch in Node, where models may be paths.
import fs from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { library } from "./library.mjs";

let compiled = null;

/** Node's file system as the command uses it. */
const host = {
  fs,
  cwd: () => process.cwd(),
  temporary: () => os.tmpdir(),
  fromURL: (url) => fileURLToPath(url),
  program: () => (compiled ??= fs.promises.readFile(new URL("./command.wasm", import.meta.url)).then((bytes) => WebAssembly.compile(bytes))),
  /** A file as a source; it is opened for each range, for nobody says when it is not needed any more. */
  async source(path) {
    const { size } = await fs.promises.stat(path);
    return {
      size,
      async read(offset, into) {
        const file = await fs.promises.open(path);
        try {
          return (await file.read(into, 0, into.length, offset)).bytesRead;
        } finally {
          await file.close();
        }
      },
    };
  },
};

export * from "./errors.mjs";
export const { inspect, check, verify, diff, plot, extend, rope, set, alibi, window, bake, unbake, relative } = library(host);
