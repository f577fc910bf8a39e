// The file system that Go's package os sees in the worker that changes models: in /in
// the files that were chosen, which are read in ranges and never written; in /out what
// is written, in memory. Names and shapes are those of Node's fs, which Go calls.
"use strict";

const O_WRONLY = 1, O_RDWR = 2, O_CREAT = 64, O_EXCL = 128, O_TRUNC = 512, O_APPEND = 1024, O_DIRECTORY = 65536;

function fault(code) {
  const e = new Error(code);
  e.code = code;
  return e;
}

// Memory is a file that is being written. It grows by doubling.
class Memory {
  constructor() {
    this.bytes = new Uint8Array(4096);
    this.size = 0;
  }
  resize(size) {
    if (size > this.bytes.length) {
      const more = new Uint8Array(Math.max(size, 2 * this.bytes.length));
      more.set(this.bytes.subarray(0, this.size));
      this.bytes = more;
    }
    if (size < this.size) this.bytes.fill(0, size, this.size);
    this.size = size;
  }
  read(offset, into) {
    const part = this.bytes.subarray(offset, Math.min(offset + into.length, this.size));
    into.set(part);
    return part.length;
  }
  write(offset, from) {
    if (offset + from.length > this.size) this.resize(offset + from.length);
    this.bytes.set(from, offset);
  }
}

class Files {
  constructor(sources) {
    this.files = new Map(); // path → {data, number, changed}
    this.folders = new Set(["/", "/in", "/out", "/tmp"]);
    this.open_ = new Map(); // descriptor → {path, file, at, flags}
    this.next = 10;
    this.numbers = 100;
    this.printed = "";
    for (const [name, source] of sources) this.files.set("/in/" + name, this.made(source));
    this.constants = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_EXCL, O_DIRECTORY };
    const calls = {
      open: this.open, close: this.close, read: this.read, write: this.write, fstat: this.fstat, stat: this.stat, lstat: this.stat, fsync() {},
      ftruncate: this.ftruncate, rename: this.rename, unlink: this.unlink, readdir: this.readdir, mkdir: this.mkdir, rmdir: this.rmdir, link: this.link,
      readlink() { throw fault("EINVAL"); }, chmod() {}, fchmod() {}, chown() {}, fchown() {}, lchown() {}, utimes() {},
      symlink() { throw fault("EPERM"); }, truncate() { throw fault("ENOSYS"); },
    };
    this.fs = { constants: this.constants };
    for (const [name, call] of Object.entries(calls)) {
      this.fs[name] = (...args) => {
        const done = args.pop();
        let result;
        try {
          result = call.apply(this, args);
        } catch (e) {
          done(e.code ? e : fault("EIO"));
          return;
        }
        if (result instanceof Promise) result.then((value) => done(null, value), (e) => done(e.code ? e : fault("EIO")));
        else done(null, result);
      };
    }
  }
  made(data) {
    return { data, number: this.numbers++, changed: Date.now(), links: 1 };
  }
  path(p) {
    const parts = [];
    for (const part of p.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    return "/" + parts.join("/");
  }
  parent(p) {
    if (!this.folders.has(p.replace(/\/[^/]*$/, "") || "/")) throw fault("ENOENT");
  }
  open(p, flags) {
    p = this.path(p);
    const fd = this.next++;
    if (this.folders.has(p)) {
      if (flags & (O_WRONLY | O_RDWR)) throw fault("EISDIR");
      this.open_.set(fd, { path: p, folder: true });
      return fd;
    }
    let file = this.files.get(p);
    if (file && flags & O_CREAT && flags & O_EXCL) throw fault("EEXIST");
    if (!file) {
      if (!(flags & O_CREAT)) throw fault("ENOENT");
      this.parent(p);
      if (!p.startsWith("/out/") && !p.startsWith("/tmp/")) throw fault("EROFS");
      file = this.made(new Memory());
      this.files.set(p, file);
    } else if (flags & (O_WRONLY | O_RDWR) && !(file.data instanceof Memory)) {
      throw fault("EROFS");
    }
    if (flags & O_DIRECTORY) throw fault("ENOTDIR");
    if (flags & O_TRUNC) file.data.resize(0);
    this.open_.set(fd, { path: p, file, at: 0, flags });
    return fd;
  }
  opened(fd) {
    const o = this.open_.get(fd);
    if (!o) throw fault("EBADF");
    return o;
  }
  close(fd) {
    this.opened(fd);
    this.open_.delete(fd);
  }
  read(fd, buffer, offset, length, position) {
    const o = this.opened(fd);
    if (o.folder) throw fault("EISDIR");
    const at = position === null ? o.at : position;
    const n = at >= o.file.data.size ? 0 : o.file.data.read(at, buffer.subarray(offset, offset + length));
    if (position === null) o.at += n;
    return n;
  }
  write(fd, buffer, offset, length, position) {
    const from = buffer.subarray(offset, offset + length);
    if (fd === 1 || fd === 2) {
      this.printed = (this.printed + new TextDecoder().decode(from)).slice(-4000);
      return length;
    }
    const o = this.opened(fd);
    if (!(o.file && o.file.data instanceof Memory)) throw fault("EBADF");
    const at = position !== null ? position : o.flags & O_APPEND ? o.file.data.size : o.at;
    o.file.data.write(at, from);
    if (position === null) o.at = at + length;
    return length;
  }
  described(file) {
    const folder = file === null;
    return {
      dev: 1, ino: folder ? 1 : file.number, mode: folder ? 0o040755 : 0o100644, nlink: folder ? 1 : file.links, uid: 0, gid: 0, rdev: 0,
      size: folder ? 0 : file.data.size, blksize: 4096, blocks: 0, atimeMs: 0, mtimeMs: folder ? 0 : file.changed, ctimeMs: 0,
      isDirectory: () => folder,
    };
  }
  fstat(fd) {
    if (fd <= 2) return this.described(null);
    const o = this.opened(fd);
    return this.described(o.folder ? null : o.file);
  }
  stat(p) {
    p = this.path(p);
    if (this.folders.has(p)) return this.described(null);
    const file = this.files.get(p);
    if (!file) throw fault("ENOENT");
    return this.described(file);
  }
  ftruncate(fd, size) {
    this.opened(fd).file.data.resize(size);
  }
  rename(from, to) {
    from = this.path(from);
    to = this.path(to);
    const file = this.files.get(from);
    if (!file) throw fault("ENOENT");
    this.parent(to);
    this.files.delete(from);
    this.files.set(to, file);
  }
  link(from, to) {
    from = this.path(from);
    to = this.path(to);
    const file = this.files.get(from);
    if (!file) throw fault("ENOENT");
    if (this.files.has(to)) throw fault("EEXIST");
    this.parent(to);
    file.links++;
    this.files.set(to, file);
  }
  unlink(p) {
    p = this.path(p);
    const file = this.files.get(p);
    if (!file) throw fault(this.folders.has(p) ? "EISDIR" : "ENOENT");
    if (!(file.data instanceof Memory)) throw fault("EROFS");
    file.links--;
    this.files.delete(p);
  }
  readdir(p) {
    const under = this.path(p).replace(/\/?$/, "/");
    const names = [];
    for (const path of [...this.files.keys(), ...this.folders]) {
      if (path !== under && path.startsWith(under) && path.length > under.length && !path.slice(under.length).includes("/")) names.push(path.slice(under.length));
    }
    return names.sort();
  }
  mkdir(p) {
    p = this.path(p);
    if (this.folders.has(p) || this.files.has(p)) throw fault("EEXIST");
    this.parent(p);
    this.folders.add(p);
  }
  rmdir(p) {
    p = this.path(p);
    if (!this.folders.has(p)) throw fault("ENOENT");
    if (this.readdir(p).length) throw fault("ENOTEMPTY");
    this.folders.delete(p);
  }
}
