#!/usr/bin/env python3
"""kills.py MODELPATCH FOLDER… [--count N] [--seed N] [--models DIR]

Kills commands that write with SIGKILL, N times in all (2,000), in turns below each FOLDER (name one on each kind of file
system: /tmp and /dev/shm), and looks at what is left. After modelpatch recover every file is the old one or the new one, a
model and the config.json beside it are of the same state, an undo patch is there when its change is, and no temporary file is;
then the command runs again, to its end. Reports, baselines and journals are old or new without that, and never empty.

Every second kill is at a random moment, the others at a random system call that touches files, where strace is there. Exit
code 1 when anything was found; the folders of failures are kept."""
import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CALLS = ('openat,write,pwrite64,renameat,renameat2,rename,fsync,fdatasync,unlinkat,unlink,ftruncate,fallocate,linkat,link,mkdirat,'
         'copy_file_range,ioctl,fchmod,fchown,flock,fsetxattr,newfstatat,read,pread64')
LLAMA, ONNX, BUCKETS, ROPE = 'gguf/llama-plain.gguf', 'onnx/genai-llama-fp32-ext.onnx', 'onnx/cases/t5-buckets.onnx', 'onnx/llama-dy23.onnx'


class Case:
    """A command to be killed. before: commands that make its folder; files: what it writes, judged together; recovers: the file
    that recover is asked for, None where the files are whole without it; grows: files that may keep what was appended."""

    def __init__(self, name, models, before, command, files, recovers=None, config=None, grows=()):
        self.name, self.models, self.before, self.command, self.files = name, models, before, command, files
        self.recovers, self.config, self.grows = recovers, config, grows


def longer(model, n=64, *how):
    return ['extend', '--len', str(n), '--in-place', '--sidecars', model] + list(how)


def stated(n=64):
    return longer('m.gguf', n, '--method', 'none')  # no key is added: a file system need not insert blocks


CASES = [
    Case('extend', {'m.gguf': LLAMA}, [], stated(), ['m.gguf', 'config.json', 'm.gguf.undo.mpatch'], 'm.gguf', 32),
    Case('extend, blocks inserted', {'m.gguf': LLAMA}, [], longer('m.gguf'), ['m.gguf', 'config.json', 'm.gguf.undo.mpatch'], 'm.gguf', 32),
    Case('undo', {'m.gguf': LLAMA}, [stated()], ['undo', 'm.gguf'], ['m.gguf', 'config.json', 'm.gguf.undo.mpatch'], 'm.gguf', 32),
    Case('undo, blocks removed', {'m.gguf': LLAMA}, [longer('m.gguf')], ['undo', 'm.gguf'], ['m.gguf', 'config.json', 'm.gguf.undo.mpatch'], 'm.gguf', 32),
    Case('undo of two', {'m.gguf': LLAMA}, [stated(), stated(128)], ['undo', 'm.gguf'], ['m.gguf', 'config.json', 'm.gguf.undo.2.mpatch'], 'm.gguf', 32),
    Case('extend, data apart', {'m.onnx': ONNX, 'genai-llama-fp32-ext.onnx.data': ONNX + '.data'}, [], longer('m.onnx', 1024),
         ['m.onnx', 'config.json', 'm.onnx.undo.mpatch', 'genai-llama-fp32-ext.onnx.data'], 'm.onnx', 64, ['genai-llama-fp32-ext.onnx.data']),
    Case('undo, data apart', {'m.onnx': ONNX, 'genai-llama-fp32-ext.onnx.data': ONNX + '.data'}, [longer('m.onnx', 1024)], ['undo', 'm.onnx'],
         ['m.onnx', 'config.json', 'm.onnx.undo.mpatch'], 'm.onnx', 64),
    Case('apply in place', {'m.gguf': LLAMA}, [stated(), 'cp m.gguf.undo.mpatch p.mpatch', ['undo', 'm.gguf']],
         ['apply', 'p.mpatch', 'm.gguf', '--in-place'], ['m.gguf', 'config.json'], 'm.gguf', 32),
    Case('revert in place', {'m.gguf': LLAMA}, [stated(), 'mv m.gguf.undo.mpatch p.mpatch'],
         ['revert', 'p.mpatch', 'm.gguf', '--in-place'], ['m.gguf', 'config.json'], 'm.gguf', 32),
    Case('apply', {'m.gguf': LLAMA, 'o.gguf': 'gguf/gpt2-f32.gguf'}, [['extend', '--len', '64', '--patch-only', '-o', 'p', 'm.gguf']],
         ['apply', 'p.mpatch', 'm.gguf', '-o', 'o.gguf', '--force'], ['o.gguf'], 'o.gguf'),
    Case('revert', {'m.gguf': LLAMA}, [stated()], ['revert', 'm.gguf.undo.mpatch', 'm.gguf', '-o', 'o.gguf', '--force'], ['o.gguf'], 'o.gguf', 32),
    Case('bake', {'m.onnx': ROPE, 'o.onnx': BUCKETS}, [], ['bake', '--len', '64', 'm.onnx', '-o', 'o.onnx', '--force'], ['o.onnx'], 'o.onnx'),
    Case('relative', {'m.onnx': BUCKETS, 'o.onnx': ROPE}, [], ['relative', '--max-distance', '256', 'm.onnx', '-o', 'o.onnx', '--force'], ['o.onnx'], 'o.onnx'),
    Case('a new model and its configuration', {'m.gguf': LLAMA, 'o/o.gguf': 'gguf/gpt2-f32.gguf'}, ['echo "{}" > o/config.json'],
         ['extend', '--len', '64', '--sidecars', '--force', 'm.gguf', '-o', 'o/o.gguf'], ['o/o.gguf', 'o/config.json'], 'o/o.gguf', 32),
    Case('check --journal', {'m/%02d.gguf' % i: LLAMA for i in range(20)}, [], ['check', '-j', '1', '--journal', 'j', 'm'], []),
    Case('check --write-baseline', {'m.gguf': LLAMA, 'n.onnx': ROPE}, ['echo "{}" > b.json'], ['check', '--write-baseline', '--baseline', 'b.json', 'm.gguf', 'n.onnx'], ['b.json'], config=48),
    Case('check --format', {'m.gguf': LLAMA, 'n.onnx': ROPE}, ['echo "{}" > s.json'], ['check', '--format', 'sarif=s.json', '--fail-on', 'never', 'm.gguf', 'n.onnx'], ['s.json']),
]


class NotHere(Exception):
    """The file system cannot do what a case wants."""


class Killer:
    def __init__(self, tool, models):
        self.tool, self.models, self.strace = tool, models, shutil.which('strace')

    def run(self, folder, command, **more):
        return subprocess.run([self.tool] + command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **more)

    def make(self, case, folder):
        """The folder as it is before the command."""
        for name, model in case.models.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(self.models, model), os.path.join(folder, name))
        if case.config:
            with open(os.path.join(folder, 'config.json'), 'w') as f:
                f.write('{"max_position_embeddings": %d, "hidden_size": 64}\n' % case.config)
        for step in case.before:
            if isinstance(step, str):
                subprocess.run(step, shell=True, cwd=folder, check=True)
            else:
                self.done(case, folder, step)

    def done(self, case, folder, command):
        done = self.run(folder, command)
        if done.returncode == 4:
            raise NotHere(done.stderr.decode().splitlines()[0])
        if done.returncode > 1:
            sys.exit('%s: %s' % (case.name, done.stderr.decode()))
        return done

    def refer(self, case, folder):
        """Makes folder/old and folder/new, and measures the command."""
        old, new = os.path.join(folder, 'old'), os.path.join(folder, 'new')
        os.mkdir(old)
        self.make(case, old)
        shutil.copytree(old, new)
        done = self.done(case, new, case.command)
        timed = os.path.join(folder, 'timed')
        shutil.copytree(old, timed)
        began = time.time()
        self.run(timed, case.command)
        took = time.time() - began
        calls = 0
        if self.strace:
            traced = os.path.join(folder, 'traced')
            shutil.copytree(old, traced)
            log = os.path.join(folder, 'calls')
            subprocess.run([self.strace, '-f', '-qq', '-o', log, '-e', 'trace=' + CALLS, self.tool] + case.command, cwd=traced, capture_output=True)
            with open(log) as f:
                calls = max(collections.Counter(line.split()[0] for line in f).values())
        return {'took': took, 'calls': calls, 'output': done.stdout}

    def kill(self, case, folder, reference, number, rng):
        """Runs the command and kills it; what came of it in a word."""
        if self.strace and number % 2:
            at = rng.randint(1, reference['calls'])
            p = subprocess.run([self.strace, '-f', '-qq', '-o', '/dev/null', '-e', 'trace=' + CALLS, '-e', 'inject=%s:signal=SIGKILL:when=%d' % (CALLS, at),
                                self.tool] + case.command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
            return 'call %d' % at, p.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        running = subprocess.Popen([self.tool] + case.command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        at = rng.uniform(0, reference['took'])
        time.sleep(at)
        running.kill()
        return '%.1f ms' % (1000 * at), running.wait() == -signal.SIGKILL


def content(path):
    try:
        with open(path, 'rb') as f:
            return f.read()
    except FileNotFoundError:
        return None


def below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, folders, names in os.walk(folder) for name in names + folders)


def judge(killer, case, base, folder, reference):
    """What is wrong with a folder after a kill, and which state it is in."""
    old, new = os.path.join(base, 'old'), os.path.join(base, 'new')
    wrong = []
    if not case.recovers:
        for name in case.files:
            if content(os.path.join(folder, name)) not in (content(os.path.join(old, name)), content(os.path.join(new, name))):
                wrong.append('%s is neither old nor new' % name)
    elif not case.recovers.startswith('o'):
        pass
    elif content(os.path.join(folder, case.recovers)) not in (content(os.path.join(old, case.recovers)), content(os.path.join(new, case.recovers))):
        wrong.append('%s is neither old nor new before recover' % case.recovers)
    wrong += ['%s is empty' % name for name in below(folder) if not any(part.startswith('.') for part in name.split(os.sep)) and os.path.isfile(os.path.join(folder, name))
              and not os.path.getsize(os.path.join(folder, name))]
    if case.recovers and (os.path.exists(os.path.join(folder, case.recovers)) or any(n for n in below(folder) if '.modelpatch-' in n)):
        done = killer.run(folder, ['recover', case.recovers])
        if done.returncode:
            wrong.append('recover: ' + done.stderr.decode().strip())
    states = set()
    for name in case.files:
        now, was, would = (content(os.path.join(d, name)) for d in (folder, old, new))
        if name in case.grows:
            if not now.startswith(was):
                wrong.append('%s lost bytes' % name)
        elif now == was != would:
            states.add('old')
        elif now == would:
            states.add('new')
        else:
            wrong.append('%s is neither old nor new' % name)
    if len(states) > 1:
        wrong.append('states differ: ' + ', '.join('%s %s' % (n, 'old' if content(os.path.join(folder, n)) == content(os.path.join(old, n)) else 'new') for n in case.files))
    if case.recovers:
        wrong += ['%s is left' % name for name in below(folder) if '.modelpatch-' in name]
    for name in below(old):
        if name not in case.files and content_of(os.path.join(folder, name)) != content_of(os.path.join(old, name)):
            wrong.append('%s changed' % name)
    if not wrong and states != {'new'}:  # it can be run again, to the same end
        done = killer.run(folder, case.command)
        if done.returncode > 1:
            wrong.append('again: ' + done.stderr.decode().strip())
        elif not case.files and done.stdout != reference['output']:
            wrong.append('again: another report')
        exact = ['config.json'] if case.grows else case.files  # what was appended in vain moves what is appended next
        wrong += ['%s is not new when the command ran again' % n for n in exact if content(os.path.join(folder, n)) != content(os.path.join(new, n))]
        wrong += ['%s is left when the command ran again' % n for n in below(folder) if '.modelpatch-' in n]
    return wrong, (states or {'-'}).pop()


def content_of(path):
    return content(path) if os.path.isfile(path) else os.path.isdir(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tool')
    parser.add_argument('folders', nargs='+')
    parser.add_argument('--count', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--models', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'testdata'))
    o = parser.parse_args()
    killer, rng = Killer(os.path.abspath(o.tool), o.models), random.Random(o.seed)
    bases = [tempfile.mkdtemp(prefix='kills-', dir=f) for f in o.folders]
    references, figures, failed, began, turns = {}, collections.defaultdict(collections.Counter), 0, time.time(), []
    for case in CASES:
        for where in bases:
            base = os.path.join(where, case.name.replace(' ', '-').replace(',', ''))
            os.mkdir(base)
            try:
                references[base] = killer.refer(case, base)
                turns.append((case, base))
            except NotHere as why:
                print('not below %s: %s: %s' % (where, case.name, why))
    number, kills = -1, 0
    while kills < o.count:
        number += 1
        case, base = turns[number % len(turns)]
        folder = os.path.join(base, 'k')
        shutil.copytree(os.path.join(base, 'old'), folder)
        at, killed = killer.kill(case, folder, references[base], number // len(turns), rng)
        kills += killed
        wrong, state = judge(killer, case, base, folder, references[base])
        figures[case.name]['kills' if killed else 'ended before'] += 1
        figures[case.name][state] += 1
        if wrong:
            failed += 1
            print('FAIL %s, killed at %s, number %d: %s' % (case.name, at, number, '; '.join(wrong)), flush=True)
            os.rename(folder, '%s-%d' % (folder, number))
        else:
            shutil.rmtree(folder)
    for case in CASES:
        c = figures[case.name]
        print('%-36s %4d killed, %3d ended before; left old %4d, new %4d' % (case.name, c['kills'], c['ended before'], c['old'], c['new']))
    print('%d kills, %d runs that ended before, below %s, in %d s: %d failed' % (
        sum(c['kills'] for c in figures.values()), sum(c['ended before'] for c in figures.values()), ' and '.join(o.folders), time.time() - began, failed))
    for base in bases:
        if not failed:
            shutil.rmtree(base)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
