// Runs the command modelpatch as WebAssembly. Each call has an instance, a file system and standard streams of its own;
// nothing of the caller's globals is changed.
import { Files, Memory, fault } from "./files.mjs";
import { load } from "./go.mjs";
import { InputError, ModelpatchError } from "./errors.mjs";

/** Where files that are not the host's stand: below /in what was given, in /out what is written. */
export const mount = "/.modelpatch";
const firstOwn = 1 << 20; // descriptors from here on are those of mounted files

/**
 * A file system of mounted sources above that of the host, if it has one. lookup(folder, name) gives the source of a
 * file that is not mounted, or null: data files beside a model at an address.
 */
export class Mounts extends Files {
  constructor(host, lookup = async () => null) {
    super([]);
    this.next = firstOwn;
    this.host = host;
    this.lookup = lookup;
    this.out = []; // what the last run printed
    this.err = [];
    this.failed = null; // why the first reading failed, which Go calls an I/O error
    const own = { ...this.fs };
    const elsewhere = (first) => (typeof first === "number" ? first > 2 && first < firstOwn : !String(first).startsWith(mount));
    for (const name of Object.keys(own).filter((name) => name !== "constants")) {
      this.fs[name] = (...args) => {
        if (!elsewhere(args[0])) own[name](...args);
        else if (host && name === "open") host.fs.open(args[0], hostFlags(this.constants, host.fs.constants, args[1]), ...args.slice(2));
        else if (host) host.fs[name](...args);
        else args.at(-1)(fault(name === "open" || name === "stat" || name === "lstat" || name === "readdir" ? "ENOENT" : "EROFS"));
      };
    }
    this.fs.writeSync = (fd, buffer) => this.write(fd, buffer, 0, buffer.length, null); // a program that breaks says so
  }
  path(p) {
    return super.path(p.startsWith(mount) ? p.slice(mount.length) : p);
  }
  /** Mounts a source, and gives its path. */
  add(folder, name, source) {
    this.folders.add(`/in/${folder}`);
    this.files.set(`/in/${folder}/${name}`, this.made(source));
    return `${mount}/in/${folder}/${name}`;
  }
  async found(p) {
    p = this.path(p);
    const [, folder, name] = /^\/in\/([^/]+)\/(.+)$/.exec(p) || [];
    if (!name || this.files.has(p) || this.folders.has(p)) return;
    const source = await this.lookup(folder, name);
    if (source) this.files.set(p, this.made(source));
  }
  async open(p, flags) {
    await this.found(p);
    return super.open(p, flags);
  }
  async stat(p) {
    await this.found(p);
    return super.stat(p);
  }
  async read(fd, buffer, offset, length, position) {
    const o = this.opened(fd);
    if (o.folder) throw fault("EISDIR");
    const at = position === null ? o.at : position;
    let n = 0;
    try {
      n = at >= o.file.data.size ? 0 : await o.file.data.read(at, buffer.subarray(offset, offset + length));
    } catch (e) {
      this.failed ??= e;
      throw fault("EIO");
    }
    if (position === null) o.at += n;
    return n;
  }
  write(fd, buffer, offset, length, position) {
    if (fd > 2) return super.write(fd, buffer, offset, length, position);
    (fd === 1 ? this.out : this.err).push(buffer.slice(offset, offset + length));
    return length;
  }
  /** The content of a file that was written, and undefined where there is none. */
  written(p) {
    const file = this.files.get(this.path(p));
    return file && file.data instanceof Memory ? file.data.bytes.slice(0, file.data.size) : undefined;
  }
  /** The names of what was written to a folder. */
  names(folder) {
    return this.readdir(`${mount}${folder}`);
  }
}

/** Flags of open with the numbers of another system. */
function hostFlags(ours, theirs, flags) {
  let out = 0;
  for (const [name, flag] of Object.entries(ours)) if (flags & flag) out |= theirs[name] || 0;
  return out;
}

const refused = () => {
  throw fault("ENOSYS");
};

/** Runs the command with arguments, and gives its exit code and what it printed. */
export async function run(program, files, args) {
  files.out = [];
  files.err = [];
  const cwd = files.host ? files.host.cwd() : "/";
  const own = {
    fs: files.fs,
    process: { getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: refused, pid: 1, ppid: 1, umask: () => 0o22, cwd: () => cwd, chdir: refused },
    path: { resolve: (...parts) => parts.reduce((at, part) => (part.startsWith("/") ? part : `${at}/${part}`), cwd) },
  };
  const Go = load(new Proxy(own, { get: (o, name) => (name in o ? o[name] : globalThis[name]), has: (o, name) => name in o || name in globalThis }));
  const go = new Go();
  let code = 0;
  go.argv = ["modelpatch", ...args];
  go.env = { TMPDIR: files.host ? files.host.temporary() : `${mount}/tmp`, NO_COLOR: "1" };
  go.exit = (c) => {
    code = c;
  };
  await go.run(await WebAssembly.instantiate(await program, go.importObject));
  // Timers and reads of a program that has ended would throw in the caller's process, where nothing can catch them.
  go._resume = () => {};
  for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer);
  const out = text(files.out);
  const err = text(files.err);
  if (code > 5 || /^(panic|fatal error): /m.test(err)) throw new ModelpatchError(`modelpatch ended with exit code ${code}: ${err.split("\n")[0]}`, { code });
  if (code === 3 && files.failed) throw files.failed instanceof ModelpatchError ? files.failed : new InputError(`a file cannot be read: ${files.failed.message}`, { code, cause: files.failed });
  return { code, out, err };
}

function text(chunks) {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}
