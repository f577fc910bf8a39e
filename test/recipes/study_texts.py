"""Three kinds of text that are on a machine with Go, Python and Debian: documents for training and measuring.

documents() gives [(kind, name, text)]: `go doc -all` of every public package of Go's standard library, Python's language topics
and the help of its standard modules, and Debian's own manual pages of sections 5, 7 and 8 as groff prints them. Nothing is
downloaded; two machines have different versions of them, so numbers measured with them agree roughly, never exactly.
"""
import glob
import gzip
import os
import pydoc
import random
import re
import subprocess
import sys


def go():
    packages = subprocess.run(["go", "list", "std"], capture_output=True, text=True, check=True).stdout.split()
    for p in packages:
        if not re.search(r"(^|/)(internal|vendor|cmd)(/|$)", p):
            yield p, subprocess.run(["go", "doc", "-all", p], capture_output=True, text=True).stdout


def python():
    from pydoc_data import topics
    for name, text in sorted(topics.topics.items()):
        yield "topic " + name, text
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in ("antigravity", "this", "idlelib", "test", "turtle", "turtledemo", "lib2to3"):
            continue
        try:
            yield name, pydoc.plain(pydoc.render_doc(name))
        except BaseException:  # modules of other systems
            continue


def debian(most):
    pages = sorted(p for s in (5, 7, 8) for p in glob.glob(f"/usr/share/man/man{s}/*.gz"))
    random.Random(1).shuffle(pages)
    for path in pages[:most]:
        try:
            source = gzip.open(path).read()
        except OSError:
            continue
        if len(source) < 3000:
            continue
        env = dict(os.environ, MANWIDTH="2000", LC_ALL="C.UTF-8", MAN_KEEP_FORMATTING="")
        text = subprocess.run(["groff", "-mandoc", "-Tutf8", "-P-cbou", "-rLL=500n"], input=source, capture_output=True, env=env).stdout.decode("utf-8", "replace")
        yield os.path.basename(path), text


def documents(most_pages=900):
    """Every document as (kind, name, text), white space made single."""
    out, seen = [], set()
    for kind, found in (("Go", go()), ("Python", python()), ("Debian", debian(most_pages))):
        for name, text in found:
            text = re.sub(r"\s+", " ", text).strip()
            if len(text) > 1500 and text[:400] not in seen:
                seen.add(text[:400])
                out.append((kind, name, text[:60000]))
    return out


if __name__ == "__main__":
    found = documents()
    for kind in ("Go", "Python", "Debian"):
        of = [d for d in found if d[0] == kind]
        print(kind, len(of), "documents,", sum(len(t) for _, _, t in of), "characters")
