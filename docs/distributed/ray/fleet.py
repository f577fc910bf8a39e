#!/usr/bin/env python3
"""Has modelpatch check many models on a Ray cluster, in batches, and joins what it finds.

    python3 fleet.py --files-from LIST --output REPORTS.ndjson [--modelpatch PATH] [-- ARGUMENTS OF CHECK …]

Every batch is a process with a list of paths on its standard input. What is done goes to the journal (OUTPUT.journal), one line a file; a run that
was cut short does the rest. A batch whose process dies is halved until the file that kills it stands alone, and is told as such. The lines of
the output are those of one process over the whole list, in its order.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter

import ray


def shown(path: str) -> str:
    """A path, or an address without its query: the signature of a presigned one is in no file that is written."""
    return path.partition("?")[0] if "://" in path else path


@ray.remote(max_retries=3)
def check(command: list[str], batch: list[str]) -> list[tuple[str, str]]:
    """The reports of a batch, by path."""
    done = subprocess.run([*command, "--json", "--files-from", "-"], input="\n".join(batch) + "\n", capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode in (0, 1, 3) and len(lines) == len(batch):
        return list(zip(batch, lines))
    if len(batch) > 1:  # it died, or lost lines: which file is it?
        middle = len(batch) // 2
        return [pair for half in (batch[:middle], batch[middle:]) for pair in check._function(command, half)]
    why = f"the process ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return [(batch[0], json.dumps({"schema": "modelpatch.error/1", "path": shown(batch[0]), "code": 3, "error": why, "hints": []}))]


def journalled(path: str) -> dict[str, str]:
    """What earlier runs have done; a torn last line is left out."""
    out: dict[str, str] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    name, _, report = line[:-1].partition("\t")
                    out[json.loads(name)] = report
    return out


def mend(path: str) -> None:
    """Cuts off a line that a crash has torn, so that the next one begins on a line of its own."""
    if not os.path.exists(path):
        return
    with open(path, "rb+") as file:
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files-from", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--modelpatch", default="modelpatch")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--address", help="of the cluster; without it Ray runs on this machine")
    parser.add_argument("--stop-after", type=int, default=0, help="end after so many batches, for tests of the journal")
    parser.add_argument("arguments", nargs="*", help="further arguments of modelpatch check")
    o = parser.parse_args()
    with open(o.files_from, encoding="utf-8") as file:
        paths = [line.rstrip("\n") for line in file if line.strip()]
    journal = o.output + ".journal"
    mend(journal)
    done = journalled(journal)
    left = [p for p in paths if shown(p) not in done]
    print(f"{len(paths)} files, {len(left)} to do", file=sys.stderr)
    ray.init(address=o.address, include_dashboard=False, logging_level="ERROR")
    command = [o.modelpatch, "check", *o.arguments]
    waiting = [check.remote(command, left[i:i + o.batch]) for i in range(0, len(left), o.batch)]
    batches = 0
    with open(journal, "a", encoding="utf-8") as file:
        while waiting:
            ready, waiting = ray.wait(waiting)
            for pair in ray.get(ready[0]):
                done[shown(pair[0])] = pair[1]
                file.write(json.dumps(shown(pair[0])) + "\t" + pair[1] + "\n")
            file.flush()
            batches += 1
            if batches == o.stop_after:
                print("stopped", file=sys.stderr)
                return 130
    counts: Counter[str] = Counter()
    with open(o.output, "w", encoding="utf-8") as out:
        for path in paths:
            out.write(done[shown(path)] + "\n")
            report = json.loads(done[shown(path)])
            counts.update(f"rule {f['rule']} ({f['level']})" for f in report.get("findings", []))
            counts.update({f"scheme {s}" for s in (report.get("facts") or {}).get("schemes", [])})
    for what, n in sorted(counts.items()):
        print(f"{what}: {n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
