#!/usr/bin/env python3
"""Holds how much of the code Go tests run: of every file below position/, and of every package, at least what floors.txt says.

usage: coverage.py [--write] [PROFILE]     (runs all tests where no profile of -coverprofile is named; --write puts today's shares of packages, less five in a hundred: what runs at once is not run alike twice, into floors.txt)

Statements are counted over all packages' tests together (go test -coverpkg). Needs ../shared, as the tests of what real exporters write do.
"""
import os
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FLOORS = os.path.join(HERE, "floors.txt")
MODULE = "github.com/modelpatch/modelpatch/"
LEAST = 0.60  # of a file below position/


def made():
    """The profile of a run of all tests, as lines."""
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        subprocess.run(["go", "test", "-coverpkg=./...", f"-coverprofile={profile}", "./..."], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        with open(profile) as f:
            yield from f


def shares(profile):
    """How many of the statements of each file are run, and how many there are."""
    blocks: dict[str, tuple[int, bool]] = {}
    for line in profile:
        if line.startswith("mode:"):
            continue
        place, statements, times = line.rsplit(" ", 2)
        blocks[place] = (int(statements), blocks.get(place, (0, False))[1] or times.strip() != "0")
    run: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for place, (count, ran) in blocks.items():
        file = place.split(":")[0].removeprefix(MODULE)
        all_[file] += count
        run[file] += count * ran
    return run, all_


def main():
    named = [argument for argument in sys.argv[1:] if argument != "--write"]
    run, all_ = shares(open(named[0]) if named else made())
    packages: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for file, n in all_.items():
        package = os.path.dirname(file) or "."
        packages[package] += n
        ran[package] += run[file]
    if "--write" in sys.argv:
        with open(FLOORS, "w") as f:
            for package in sorted(packages):
                if packages[package] >= 20:
                    f.write(f"{package}\t{max(int(100 * ran[package] / packages[package]) - 5, 0)}\n")
    floors = dict(line.rstrip("\n").split("\t") for line in open(FLOORS))
    faults = [f"{package}: {100 * ran[package] / packages[package]:.0f} % of statements are run by tests, and {floor} % were" for package, floor in floors.items()
              if package in packages and 100 * ran[package] / packages[package] < int(floor)]
    faults += [f"{file}: {100 * run[file] / n:.0f} % of {n} statements are run by tests, fewer than {LEAST:.0%}" for file, n in sorted(all_.items())
               if file.startswith("position/") and n >= 10 and run[file] / n < LEAST]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{100 * sum(run.values()) / sum(all_.values()):.1f} % of {sum(all_.values())} statements are run by tests")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
