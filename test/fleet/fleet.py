#!/usr/bin/env python3
"""Checks many small models by the tool alone, by xargs, by Beam and by Ray, and demands the same lines of all, also when a worker is killed.

    python3 test/fleet/fleet.py MODELPATCH CORPUS --files 10000 [--beam EXECUTABLE] [--ray PYTHON] [--work FOLDER]

The files are copies of the smallest models of CORPUS (hard links would be told as names of one file). Prints wall clock and CPU a file: CPU is that
of processes that were waited for, which leaves out what Ray's own servers take.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
failed = False


def expect(what: str, holds: bool, detail: str = "") -> None:
    global failed
    failed = failed or not holds
    print(f"  {'ok' if holds else 'FAILED'}: {what}{'' if holds else ': ' + detail[-1000:]}", flush=True)


def models(corpus: Path, folder: Path, n: int) -> list[str]:
    """n copies of small models, in folders of a thousand."""
    small = sorted((p for end in ("gguf", "onnx") for p in corpus.rglob(f"*.{end}") if p.stat().st_size < 100_000 and "-of-" not in p.name and not p.with_name(p.name + ".data").exists()),
                   key=lambda p: (p.stat().st_size, p.name))[:200]
    out = []
    for i in range(n):
        source = small[i % len(small)]
        target = folder / f"{i // 1000:03d}" / f"{i:06d}-{source.name}"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
        out.append(str(target))
    return out


def measured(what: str, n: int, work):
    """Runs work and prints what it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = work()
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}: {wall:.1f} s, {1000 * cpu / n:.2f} ms CPU a file, at most {after.ru_maxrss / 1024:.0f} MB in a process so far", flush=True)
    return result


def lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modelpatch", type=os.path.abspath)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--beam")
    parser.add_argument("--ray", help="a Python that has ray")
    parser.add_argument("--work", type=Path)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="modelpatch-fleet-", dir=o.work) as temporary:
        work = Path(temporary)
        paths = models(o.corpus, work, o.files)
        listed = work / "list"
        listed.write_text("".join(p + "\n" for p in paths))
        check = [o.modelpatch, "check", "--json"]

        def alone(*more: str, out: str = "alone") -> Path:
            with open(work / out, "wb") as file:
                subprocess.run([*check, "--files-from", str(listed), *more], stdout=file, stderr=subprocess.DEVNULL)
            return work / out

        whole = measured(f"alone, {os.cpu_count()} at a time", o.files, alone)
        wanted = lines(whole)
        expect(f"{o.files} lines in the order of the list", [json.loads(x)["path"] for x in whole.read_text().splitlines()] == paths)

        # Killed while it works, and run again: the journal has what was done.
        journal = work / "journal"
        process = subprocess.Popen([*check, "--files-from", str(listed), "--journal", str(journal)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        enough = whole.stat().st_size // 3
        while process.poll() is None and (not journal.exists() or journal.stat().st_size < enough):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        had = journal.read_bytes().count(b"\n") - 1  # its first line says what it is
        again = measured(f"alone, killed after {had} files and run again", o.files - had, lambda: alone("--journal", str(journal), out="again"))
        expect("the same lines, in the same order", again.read_bytes() == whole.read_bytes() and 0 < had < o.files, f"{had} done")
        third = measured("alone, once more with its journal", o.files, lambda: alone("--journal", str(journal), out="third"))
        expect("the same lines, and nothing was done again", third.read_bytes() == whole.read_bytes() and journal.read_bytes().count(b"\n") == o.files + 1)

        # A modelpatch that dies once, as if its worker were killed.
        dying, mark = work / "dying", work / "died"
        dying.write_text(f'#!/bin/sh\nif mkdir "{mark}" 2>/dev/null; then kill -9 $$; fi\nexec "{o.modelpatch}" "$@"\n')
        dying.chmod(dying.stat().st_mode | stat.S_IXUSR)

        def xargs(executable: str) -> Path:
            with open(work / "xargs", "wb") as file, open(listed) as names:
                subprocess.run(["xargs", "-P", str(os.cpu_count()), "-n", "200", executable, "check", "--json", "-j", "1"], stdin=names, stdout=file, stderr=subprocess.DEVNULL)
            return work / "xargs"

        expect("xargs, 200 files a process: the same lines", lines(measured("xargs", o.files, lambda: xargs(o.modelpatch))) == wanted)
        short = lines(xargs(str(dying)))
        expect("xargs, a process killed: its lines are missing", len(short) < o.files and set(short) <= set(wanted))
        expect("xargs, run again: the same lines", lines(xargs(str(dying))) == wanted)

        if o.ray and not os.access(o.ray, os.X_OK):
            print("skipped by name: Ray (it could not be installed)")
        elif o.ray:
            def ray(executable: str, name: str, *more: str) -> Path:
                out = work / name
                done = subprocess.run([o.ray, str(ROOT / "docs/distributed/ray/fleet.py"), "--files-from", str(listed), "--output", str(out), "--modelpatch", executable, *more],
                                      capture_output=True, text=True, env={**os.environ, "HOME": str(work), "RAY_USAGE_STATS_ENABLED": "0"})
                if not out.exists():
                    out.write_text(done.stderr if not more else "")
                return out

            mark.rmdir()
            expect("Ray, a process killed: the same lines in order", measured("Ray", o.files, lambda: ray(str(dying), "ray")).read_bytes() == whole.read_bytes(), (work / "ray").read_text()[-500:])
            ray(o.modelpatch, "ray2", "--stop-after", "2")
            (work / "ray2").unlink(missing_ok=True)
            had = (work / "ray2.journal").read_bytes().count(b"\n")
            with open(work / "ray2.journal", "ab") as file:
                file.write(b'"torn')
            expect(f"Ray, stopped after {had} files and run again: the same lines in order", ray(o.modelpatch, "ray2").read_bytes() == whole.read_bytes() and 0 < had < o.files)
        else:
            print("skipped by name: Ray")

        if o.beam:
            def beam(executable: str, name: str) -> Path:
                out = work / name
                done = subprocess.run([o.beam, "--runner=prism", f"--files_from={listed}", f"--output={out}", f"--modelpatch={executable}", "--batch=200"], capture_output=True, text=True,
                                      env={**os.environ, "HOME": str(work)})
                if not out.exists():
                    out.write_text(done.stderr)
                return out

            expect("Beam on Prism: the same lines", lines(measured("Beam on Prism", o.files, lambda: beam(o.modelpatch, "beam"))) == wanted, (work / "beam").read_text()[-500:])
            counts = dict(line.rsplit(": ", 1) for line in (work / "beam.counts").read_text().splitlines())
            mine = sum("encoding" in f["rule"] for x in wanted for f in json.loads(x).get("findings", []))
            told = sum(int(n) for what, n in counts.items() if what.startswith("rule ") and "encoding" in what)
            expect(f"Beam: {len(counts)} counts, those of rules about encodings are right ({told})", told == mine)
            shutil.rmtree(mark, ignore_errors=True)
            first = beam(str(dying), "beam2").read_text()
            if sorted(first.splitlines()) != wanted:
                (work / "beam2").unlink()
                print("  Beam on Prism does not try a failed batch again; the whole run is repeated")
            expect("Beam, a process killed, run again: the same lines", lines(beam(str(dying), "beam3")) == wanted)
        else:
            print("skipped by name: Beam")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
