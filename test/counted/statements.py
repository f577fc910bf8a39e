#!/usr/bin/env python3
"""Counts the statements that tests of growing size execute, and names those that grow faster than the size.

    test/counted/statements.py PACKAGE TEST [SIZE]     e.g. ./position/ggufpos AllocationsGrow 2000

Steps of a budget, reads and allocations show what somebody thought of counting; Go's coverage counts every statement of
this module. The test runs with COUNTED_NODES=SIZE and four times that; what is executed more than six times as often is
printed, most often first. What a standard function does inside is not counted."""
import os
import subprocess
import sys
import tempfile

FASTER, RARE = 6, 2000


def counts(binary, folder, test, size):
    with tempfile.NamedTemporaryFile() as profile:
        subprocess.run([binary, "-test.run", test, "-test.coverprofile", profile.name], cwd=folder,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, COUNTED_NODES=str(size)))
        lines = (line.rsplit(" ", 2) for line in open(profile.name) if not line.startswith("mode:"))
        return {place: (int(statements), int(times)) for place, statements, times in lines}


def main(package, test, size=1000):
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "test")
        subprocess.run(["go", "test", "-c", "-covermode=count", "-coverpkg=./...", "-o", binary, package], check=True)
        before, after = (counts(binary, package, test, n) for n in (size, 4 * size))
    total = [sum(statements * times for statements, times in c.values()) for c in (before, after)]
    print(f"{total[0]} statements, {total[1]} of four times the size: ×{total[1] / total[0]:.2f}")
    fast = [(times, place) for place, (_, times) in after.items() if times > max(RARE, FASTER * before[place][1])]
    for times, place in sorted(fast, reverse=True):
        print(f"{before[place][1]:12} {times:12}  {place}")
    return 1 if fast else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:])))
