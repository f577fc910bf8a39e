"""python -m modelpatch: the command itself."""

import os
import subprocess
import sys

from ._run import executable
from .errors import ModelpatchError


def main() -> int:
    try:
        command = [executable(), *sys.argv[1:]]
    except ModelpatchError as error:
        print(f"modelpatch: {error}", file=sys.stderr)
        return error.code or 1
    if os.name == "nt":  # has no exec that keeps the console waiting
        return subprocess.call(command)
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
