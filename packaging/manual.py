"""Man pages and shell completions, made from what the executable itself prints: --help of each command, and `completion`.

The commands are in package main, which no other Go program can import, and cobra's own generator of man pages would bring three
modules into go.mod. Help has a regular form, so this reads it instead.
"""

import re
import subprocess
import time
from pathlib import Path

from release import Release

SHELLS = {"bash": "modelpatch.bash", "zsh": "_modelpatch", "fish": "modelpatch.fish", "powershell": "modelpatch.ps1"}


def run(executable: Path, *arguments: str) -> str:
    return subprocess.run([str(executable), *arguments], check=True, capture_output=True, text=True, encoding="utf-8").stdout


def completions(executable: Path) -> dict[str, bytes]:
    """The completion scripts, by file name."""
    return {name: run(executable, "completion", shell).encode() for shell, name in SHELLS.items()}


def write(release: Release, out: Path) -> None:
    """Writes pages, completions and licences as files below out."""
    files = {f"man/{name}": data for name, data in release.manual.items()}
    files |= {f"completions/{name}": data for name, data in release.completions.items()}
    files |= {f"licenses/{name}": data for name, data in release.notices.items()}
    for name, data in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)


def sections(text: str) -> dict[str, list[str]]:
    """The lines of a help text below its headings ("Usage:", "Flags:", …); those before the first one below ""."""
    out: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.rstrip().splitlines():
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            heading = line[:-1]
            out[heading] = []
        else:
            out[heading].append(line)
    return out


GROUPS = ("Look", "Change", "Patches", "Gate", "Other commands")


def commands(help_text: str) -> list[tuple[str, str]]:
    """The commands that a help text lists, with what it says of each."""
    parts = sections(help_text)
    pairs = (re.fullmatch(r"  (\S+)\s+(\S.*)", line) for group in GROUPS for line in parts.get(group, []))
    return [(p[1], p[2]) for p in pairs if p and p[1] != "help"]


def escape(text: str) -> str:
    r"""Text as roff reads it: backslashes and hyphens are told apart from its own, and no line begins with a request."""
    out = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + out if out.startswith((".", "'")) else out


def paragraphs(lines: list[str]) -> list[str]:
    """Running text as filled paragraphs; indented lines as they stand."""
    out = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        if not block.strip():
            continue
        rows = block.splitlines()
        fixed = all(row.startswith("  ") for row in rows)
        out += [".PP", *([".nf"] if fixed else []), *(escape(row if fixed else row.strip()) for row in rows), *([".fi"] if fixed else [])]
    return out


def flags(lines: list[str]) -> list[str]:
    """pflag's table of flags: "  -s, --name type   what it does", continued by deeper lines."""
    out = []
    for line in lines:
        match = re.fullmatch(r"\s+((?:-\S, )?--\S+(?: \S+)?)\s{2,}(\S.*)", line)
        if match:
            out += [".TP", r"\fB" + escape(match[1]) + r"\fR", escape(match[2])]
        elif line.strip():
            out.append(escape(line.strip()))
    return out


def has_flags(lines: list[str]) -> bool:
    """Whether a section of a help text is a table of flags."""
    return bool(lines) and re.match(r"\s+(-\S, )?--\S", lines[0]) is not None


def page(name: str, short: str, help_text: str, exit_codes: str, release: Release, others: list[str]) -> bytes:
    """One man page in section 1."""
    parts = sections(help_text)
    version, when = release.version.semver, release.time
    date = time.strftime("%Y-%m-%d", time.gmtime(when))
    out = [f'.TH "{escape(name.upper())}" "1" "{date}" "modelpatch {version}" "modelpatch"',
           ".SH NAME", f"{escape(name)} \\- {escape(short)}",
           ".SH SYNOPSIS", *(line for row in parts.get("Usage", []) if row.strip() for line in (r"\fB" + escape(row.strip()) + r"\fR", ".br"))]
    out += [".SH DESCRIPTION", *paragraphs(parts[""])]
    options = {heading: lines for heading, lines in parts.items() if has_flags(lines)}
    for heading, lines in parts.items():
        if heading not in ("", "Usage", *GROUPS, *options):
            out += [f".SH {heading.upper()}", *paragraphs(lines)]
    if options:
        out.append(".SH OPTIONS")
    for heading, lines in options.items():
        out += [*([] if heading == "Flags" else [f".SS {heading}"]), *flags([line for line in lines if not line.startswith('Use "')])]
    listed = commands(help_text)
    if listed:
        out.append(".SH COMMANDS")
        for command, what in listed:
            out += [".TP", r"\fB" + escape(command) + r"\fR", escape(what)]
    out += [".SH EXIT STATUS", *(line for row in exit_codes.strip().splitlines() if row.strip() for line in exit_code(row))]
    if others:
        out += [".SH SEE ALSO", ",\n".join(rf"\fB{escape(other)}\fR(1)" for other in others)]
    return ("\n".join(out) + "\n").encode()


def exit_code(row: str) -> list[str]:
    """A line of `modelpatch help exit-codes`: a number and what it says, or running text."""
    match = re.fullmatch(r"(\d+)\s+(\S.*)", row)
    return [".TP", rf"\fB{match[1]}\fR", escape(match[2])] if match else [".PP", escape(row)]


def helper(executable: Path, release: Release) -> bytes:
    """The page of an executable that modelpatch starts."""
    text = run(executable, "--help")
    head = re.match(r"(\S+) (.*?)\.", text, re.S)
    if head is None:
        raise ValueError(f"{executable} --help does not begin with a name and a sentence: {text[:80]!r}")
    name, short = head.groups()
    codes = "0    done\n2    the input is no request of modelpatch"
    return page(name, " ".join(short.split()), text, codes, release, ["modelpatch"])


def pages(executable: Path, release: Release, helpers: list[Path]) -> dict[str, bytes]:
    """All man pages by file name: modelpatch.1, modelpatch-COMMAND.1, and those of the executables that it starts."""
    exit_codes = run(executable, "help", "exit-codes")
    top = run(executable, "--help")
    listed = [(command, short) for command, short in commands(top) if command != "completion"]
    names = [f"modelpatch-{command}" for command, _ in listed]
    short = "reads and changes the position encodings of ONNX and GGUF models"
    names += [path.stem for path in helpers]
    out = {"modelpatch.1": page("modelpatch", short, top, exit_codes, release, names)}
    for command, what in listed:
        text = run(executable, command, "--help")
        out[f"modelpatch-{command}.1"] = page(f"modelpatch-{command}", what, text, exit_codes, release, ["modelpatch"])
    for path in helpers:
        out[f"{path.stem}.1"] = helper(path, release)
    return out
