#!/usr/bin/env python3
"""mutated.py MODELPATCH CORPUS… [--count N] [--seed N] [--jobs N] [--first N] [--kind K] [--keep DIR] [--timeout S]

Damages models, patches, plans, journals and sidecars of the folders CORPUS, runs every command of the built tool on them in
a sandbox, and reports what must never happen: a panic or a trace, a signal, no end within the time-out, output that is not
JSON where JSON was asked for, a line that a CI runner takes for a command, a file outside of the output folder that was
touched, an input that is not what it was before.

File number I of a seed is always the same: --first I --count 1 runs it alone. Sandboxes of failures are copied to --keep.
Exit code 1 when anything was found."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

LARGEST = 1 << 20  # larger files of the corpus are left out: most of their bytes are weights
ADDRESS_SPACE = 4 << 30
# What each kind of file is given to. {m}: the model, {o}: the output folder, {n}: a length, {g}: the undamaged model.
READ = [
    ['inspect', '{m}'],
    ['inspect', '--json', '{m}'],
    ['inspect', '--verbose', '{m}'],
    ['plot', '{m}', '--format', 'html'],
    ['plot', '{g}', '{m}'],
    ['plot', '{m}', '--format', 'blocks'],
    ['verify', '{m}'],
    ['verify', '--no-engine', '--json', '{g}', '{m}'],
    ['verify', '--no-engine', '{m}', '{g}', '--plan', 'plan.json'],
    ['extend', '--len', '{n}', '{m}', '--dry-run', '--json'],
]
WRITE = [
    ['plot', '{m}', '-o', '{o}/m.png'],
    ['extend', '--len', '{n}', '{m}', '-o', '{o}/a{x}', '--sidecars', '--json'],
    ['extend', '--len', '{n}', '--method', '{method}', '{m}', '-o', '{o}/a{x}', '--force'],
    ['extend', '--len', '{n}', '{m}', '-o', '{o}/b{x}', '--patch-only', '--edits', '{o}/edits.json'],
    ['extend', '--grid', '9x9', '{m}', '-o', '{o}/g{x}'],
    ['rope', '--base', '50000', '{m}', '-o', '{o}/c{x}', '--verify'],
    ['rope', '--scaling', 'yarn', '--factor', '4', '{m}', '-o', '{o}/d{x}'],
    ['rope', '--to-ops', 'standard', '{m}', '-o', '{o}/l{x}'],
    ['alibi', '{m}', '-o', '{o}/e{x}'],
    ['window', '--len', '8', '{m}', '-o', '{o}/w{x}'],
    ['alibi', '--remove', '{m}', '-o', '{o}/h{x}'],
    ['bake', '--len', '64', '{m}', '-o', '{o}/i{x}', '--verify'],
    ['unbake', '{m}', '-o', '{o}/j{x}'],
    ['relative', '--max-distance', '256', '{m}', '-o', '{o}/k{x}'],
    ['alibi', '--replace', '{m}', '-o', '{o}/e{x}', '--force', '--backup'],
    ['apply', 'p.mpatch', '{m}', '-o', '{o}/f{x}', '--json'],
    ['revert', 'p.mpatch', '{m}', '-o', '{o}/r{x}'],
    ['recover', '{o}/a{x}'],
]
# These may change the model itself, but only when they end well.
PLACE = [
    ['rope', '--base', '50000', '{m}', '--in-place'],
    ['extend', '--len', '{n}', '{m}', '--in-place', '--sidecars'],
    ['apply', 'p.mpatch', '{m}', '--in-place'],
    ['revert', 'p.mpatch', '{m}', '--in-place'],
    ['recover', '{m}'],
]
METHODS = ['zero', 'tile', 'interpolate', 'stretch', 'linear', 'ntk', 'none']
MAGIC = b'modelpatch journal 1\n'


def corpus(folders):
    """All small models below the folders, in an order of their own."""
    out = []
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                if name.endswith(('.onnx', '.gguf')) and os.path.getsize(path) <= LARGEST:
                    out.append(path)
    return sorted(out)


NUMBERS = [0, 1, 2, 7, 0x7f, 0x80, 0xff, 0xffff, 1 << 16, 1 << 20, 1 << 28, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def varint(n):
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def place(r, size):
    """Mostly near the start, where headers are."""
    return r.randrange(min(size, 1 << r.randrange(4, 22))) if size else 0


def damage(r, b, others):
    """Some mutations of bytes."""
    b = bytearray(b)
    for _ in range(r.choice([1, 1, 1, 2, 3, 8])):
        at, kind = place(r, len(b)), r.randrange(9)
        if not b:
            break
        if kind == 0:  # bits
            for _ in range(r.choice([1, 2, 16])):
                b[place(r, len(b))] ^= 1 << r.randrange(8)
        elif kind == 1:  # truncation
            del b[r.choice([at, r.randrange(len(b)), len(b) - 1]):]
        elif kind == 2:  # a piece of another file
            with open(r.choice(others), 'rb') as f:
                other = f.read()
            start = place(r, len(other))
            piece = other[start:start + r.choice([4, 16, 64, 1024, 1 << 16])]
            b[at:at + r.choice([0, len(piece)])] = piece
        elif kind == 3:  # a piece of the same
            start, n = place(r, len(b)), r.choice([1, 8, 64, 512])
            b[at:at + r.choice([0, n])] = b[start:start + n]
        elif kind == 4:  # a length of fixed width, as GGUF has
            width = r.choice([4, 8])
            b[at & ~3:(at & ~3) + width] = (r.choice(NUMBERS) & ((1 << 8 * width) - 1)).to_bytes(width, 'little')
        elif kind == 5:  # one of variable width, as protobuf has
            b[at:at + r.choice([1, 2, 3])] = varint(r.choice(NUMBERS))
        elif kind == 6:  # removed
            del b[at:at + r.choice([1, 4, 32, 1024])]
        elif kind == 7:  # one value over and over
            n = r.choice([8, 64, 4096])
            b[at:at + n] = bytes([r.choice([0, 0xff, r.randrange(256)])]) * min(n, len(b) - at)
        else:  # a digit, a letter
            for k in range(at, min(at + 4096, len(b))):
                if chr(b[k]).isalnum():
                    b[k] = r.choice(b'0123456789-e"[]{},azAZ')
                    break
    return bytes(b)


def journal(r, name):
    """A journal with a right sum, of a header that means no good."""
    token = '0123456789ab'
    header = {'target': name, 'before': 0, 'after': 0, 'ranges': None, 'outside': None,
              'stage': r.choice(['l', 's', '.%s.modelpatch-%s' % (name, token), '../home', '.']),
              'names': r.sample(['README.md', 'keep', name, 'other.gguf', '../home/keep', 'model-00002-of-00002.gguf'], r.randrange(1, 4))}
    body = b''
    if r.randrange(2):
        n = r.randrange(1, 64)
        header = {'target': r.choice([name, name, 'README.md', '../home/keep']), 'before': r.choice([4, 100, 35520, 1 << 40]),
                  'after': r.choice([4, 100, 35520]), 'ranges': [[r.choice([0, 8, 1 << 62]), n]], 'outside': ''}
        body = bytes(2 * n)
    text = json.dumps(header).encode()
    if r.randrange(2):
        text = damage(r, text, [__file__])
    b = MAGIC + text + b'\n' + body
    return b + hashlib.sha256(b).digest()


class Sandbox:
    """A folder of one damaged file and what lies around it."""

    def __init__(self, run, index):
        self.run, self.index = run, index
        r = self.r = random.Random(run.seed * 1000003 + index)
        self.root = tempfile.mkdtemp(prefix='mutated-', dir=run.scratch)
        dl, home = os.path.join(self.root, 'dl'), os.path.join(self.root, 'home')
        self.dl, self.out = dl, os.path.join(self.root, 'out')
        for folder in (dl, home, self.out, os.path.join(dl, 's')):
            os.mkdir(folder)
        self.source = r.choice(run.files)
        self.ext = os.path.splitext(self.source)[1]
        base = r.choice(['model', 'model', 'model-00001-of-00002', '::error::x', 'm' * 210])
        self.name = base + self.ext
        self.write('home/keep', b'a canary')
        self.write('home/id_rsa', b'another')
        self.write('out/keep', b'a canary')
        for name in ('README.md', 'keep', 'model-00002-of-00002.gguf'):
            self.write('dl/' + name, b'a neighbour')
            self.write('dl/s/' + name, b'not a neighbour')
        os.symlink('../home', os.path.join(dl, 'l'))
        good = read(self.source)
        self.write('dl/good' + self.ext, good)
        data = self.source + '.data'
        if os.path.exists(data) and os.path.getsize(data) <= 4 * LARGEST:
            self.write('dl/' + os.path.basename(data), read(data))
        self.kind = r.choices(['model', 'patch', 'plan', 'sidecar', 'journal'], [70, 8, 6, 8, 8])[0]
        self.kind = run.kind or self.kind
        parts = {'model': good, 'patch': run.patches.get(self.source, b''), 'plan': run.plans.get(self.source, b'{}'),
                 'sidecar': b'{"max_position_embeddings": 32, "n_ctx": 64, "text_config": {"max_position_embeddings": 128}, "x": [1, {"y": 2}]}'}
        if self.kind == 'journal':
            self.write('dl/.%s.modelpatch-journal' % self.name[:200], journal(r, self.name))
            if r.randrange(2):
                shutil.copytree(os.path.join(dl, 's'), os.path.join(dl, '.%s.modelpatch-0123456789ab' % self.name[:200]))
        else:
            parts[self.kind] = damage(r, parts[self.kind], run.files)
        self.write('dl/' + self.name, parts['model'])
        self.write('dl/p.mpatch', parts['patch'])
        self.write('dl/plan.json', parts['plan'])
        self.write('dl/config.json', parts['sidecar'])

    def write(self, name, b):
        with open(os.path.join(self.root, name), 'wb') as f:
            f.write(b)

    def state(self):
        """Everything outside of the output folder; out/keep stands for what is in it already."""
        out = {}
        for root, folders, names in os.walk(self.root):
            if root == self.out:
                names, folders[:] = [n for n in names if n == 'keep'], []
            for name in names + folders:
                path = os.path.join(root, name)
                rel = os.path.relpath(path, self.root)
                if os.path.islink(path):
                    out[rel] = 'link ' + os.readlink(path)
                elif os.path.isfile(path):
                    out[rel] = hashlib.sha256(read(path)).hexdigest()
                else:
                    out[rel] = 'folder'
        return out

    def command(self, words):
        values = dict(m=self.name, o='../out', x=self.ext, g='good' + self.ext, n=self.r.choice([33, 48, 64, 129, 300, 1024]), method=self.r.choice(METHODS))
        return [w.format(**values) for w in words]

    def examine(self):
        """Runs all commands; yields what was wrong."""
        before = self.state()
        model = os.path.join('dl', self.name)
        own = [model, 'dl/' + os.path.basename(self.source) + '.data']  # the second: its weights, where it names them so
        for words in READ + WRITE + PLACE:
            in_place = words in PLACE
            command = self.command(words)
            code, out, err, took = self.run.execute(command, self.dl)
            label = ' '.join(command).replace(self.name, 'FILE')
            yield from ((label, fault) for fault in faults(command, code, out, err, took))
            after = self.state()
            if after != before:
                changed = sorted(k for k in set(before) | set(after) if before.get(k) != after.get(k))
                stem = self.name[:200]
                mine = [k for k in changed if in_place and (k in own or k.startswith(tuple(f + '.undo' for f in own)) or k == 'dl/config.json'
                                                            or k.startswith('dl/.' + stem + '.modelpatch-'))]
                if 'recover' in command and stem in ' '.join(changed):
                    mine = changed if all(k.startswith(('dl/.' + stem + '.modelpatch-', model, 'dl/model-0000')) for k in changed) else mine
                touched = [k for k in changed if k not in mine]
                if touched:
                    yield label, 'touched: ' + ', '.join(touched)[:300]
                if in_place and 'recover' not in command and code != 0 and set(own) & set(changed):
                    yield label, 'exit %d, and the file is changed' % code
                before = after


def faults(command, code, out, err, took):
    text = out + err
    if took is None:
        yield 'no end within the time-out'
    elif code < 0:
        yield 'signal %d' % -code
    elif code not in range(6):
        yield 'exit code %d' % code
    if re.search(rb'^(panic:|fatal error:|goroutine \d+ |runtime: )', text, re.M):
        yield 'trace: ' + text[text.find(b'panic'):][:200].decode('utf8', 'replace')
    if re.search(r'^\s*::|##\[', text.decode('utf8', 'replace'), re.M):
        yield 'a line for a CI runner'
    if '--json' in command and took is not None:
        for line in out.splitlines():
            try:
                json.loads(line)
            except ValueError:
                yield 'not JSON: ' + line[:100].decode('utf8', 'replace')
                break


def read(path):
    with open(path, 'rb') as f:
        return f.read()


class Run:
    def __init__(self, o):
        self.seed, self.timeout, self.kind = o.seed, o.timeout, o.kind
        self.binary = os.path.abspath(o.binary)
        self.scratch = tempfile.mkdtemp(prefix='mutated-run-')
        self.files = corpus(o.corpus)
        self.patches, self.plans = {}, {}
        self.commands = 0

    def prepare(self):
        """Makes a patch and a plan of each model that can be extended."""
        for i, path in enumerate(self.files):
            target = os.path.join(self.scratch, 'p%d' % i)
            words = ['extend', '--len', '300', path, '-o', target, '--patch-only', '--json']
            code, out, _, _ = self.execute(words, self.scratch)
            if code == 0 and os.path.exists(target + '.mpatch'):
                self.patches[path], self.plans[path] = read(target + '.mpatch'), out

    def execute(self, words, cwd):
        start = time.monotonic()
        self.commands += 1
        p = subprocess.Popen([self.binary] + words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = p.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            return -9, out, err, None
        return p.returncode, out, err, time.monotonic() - start

    def one(self, index, keep):
        box, self.commands = Sandbox(self, index), 0
        try:
            found = list(box.examine())
            if found and keep:
                shutil.copytree(box.root, os.path.join(keep, str(index)), symlinks=True, dirs_exist_ok=True)
            return index, box.kind, os.path.basename(box.source), found, self.commands
        finally:
            shutil.rmtree(box.root, ignore_errors=True)


def limit():
    """Bounds the memory of this process and of the commands that it runs."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('binary')
    a.add_argument('corpus', nargs='+')
    a.add_argument('--count', type=int, default=10000, help='files to damage (default 10,000)')
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--first', type=int, default=0, help='number of the first file')
    a.add_argument('--kind', choices=['model', 'patch', 'plan', 'sidecar', 'journal'], help='damage files of this kind alone')
    a.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    a.add_argument('--timeout', type=float, default=60, help='seconds that a command may take')
    a.add_argument('--keep', help='folder for the sandboxes of failures')
    o = a.parse_args()
    run = Run(o)
    if not run.files:
        sys.exit('no .onnx or .gguf files of at most %d bytes below %s' % (LARGEST, ', '.join(o.corpus)))
    start = time.monotonic()
    kinds, failed, commands = collections.Counter(), 0, 0
    try:
        run.prepare()
        numbers = range(o.first, o.first + o.count)
        with concurrent.futures.ProcessPoolExecutor(o.jobs, initializer=limit) as pool:
            for index, kind, source, found, ran in pool.map(run.one, numbers, [o.keep] * len(numbers), chunksize=8):
                kinds[kind] += 1
                failed += bool(found)
                commands += ran
                for label, fault in found:
                    print('%d: %s of %s: %s: %s' % (index, kind, source, label, fault), flush=True)
    finally:
        shutil.rmtree(run.scratch, ignore_errors=True)
    print('%d files (%s), %d commands, %d s: %d with faults' % (sum(kinds.values()), ', '.join('%d %s' % (n, k) for k, n in kinds.most_common()),
                                                              commands, time.monotonic() - start, failed))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
