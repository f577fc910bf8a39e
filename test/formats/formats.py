#!/usr/bin/env python3
"""Reports of `modelpatch check` before the validators of those who read them.

SARIF: Microsoft's Sarif.Multitool with its own rules and GitHub's (npm @microsoft/sarif-multitool-linux), which
checks the OASIS schema too. JUnit: the order of elements and the attributes that jenkinsci/xunit-plugin's junit-10.xsd
and windyroad's JUnit.xsd demand. GitLab: the fields of its Code Quality reports. Models are those of testdata, of the
corpus and of the bad files, and a file whose name holds what formats give meaning to.

    formats.py MODELPATCH TOOLS FOLDER…     TOOLS: where npm may install, kept between runs
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

INSTALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.ci/install")
MULTITOOL = "@microsoft/sarif-multitool-linux@5.7.0"
SUITE = ["name", "package", "id", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"]


def fail(says):
    print("FAILED:", says)
    sys.exit(1)


def multitool(tools):
    """The validator, installed where it is not there; None without npm or a registry."""
    path = os.path.join(tools, "node_modules", MULTITOOL.rsplit("@", 1)[0], "Sarif.Multitool")
    if subprocess.run([INSTALL, "300", "npm", tools, MULTITOOL], capture_output=True).returncode != 0:
        return None
    os.chmod(path, 0o755)
    return path


def sarif(tool, report, folder):
    log = json.load(open(report))
    if "startLine" in open(report).read():
        fail("a region has a startLine: an upload would read whole models")
    if tool is None:
        print("skipped by name: Sarif.Multitool (no npm, or no registry)")
        return
    out = os.path.join(folder, "validated.sarif")
    subprocess.run([tool, "validate", report, "--rule-kind", "Sarif;Ghas", "--output", out, "--log", "ForceOverwrite"],
                   capture_output=True, env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"})
    results = json.load(open(out))["runs"][0].get("results", [])
    errors = [r for r in results if r.get("level") == "error"]
    for r in errors[:10]:
        print(r["ruleId"], json.dumps(r["message"])[:300])
    if errors:
        fail(f"{len(errors)} errors in SARIF")
    print(f"sarif: {len(log['runs'][0]['results'])} results, 0 errors, {len(results)} remarks of style")


def junit(report):
    root = xml.parse(report).getroot()
    if root.tag != "testsuites" or root.attrib:
        fail("testsuites has attributes")
    tests = 0
    for suite in root:
        if sorted(suite.attrib) != sorted(SUITE) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"]):
            fail(f"attributes of a suite: {suite.attrib}")
        tags = [e.tag for e in suite]
        if tags[0] != "properties" or tags[-2:] != ["system-out", "system-err"] or set(tags[1:-2]) != {"testcase"}:
            fail(f"order of elements: {tags}")
        cases = suite.findall("testcase")
        tests += len(cases)
        if len(cases) != int(suite.attrib["tests"]) or len({c.attrib["name"] for c in cases}) != len(cases):
            fail(f"tests of {suite.attrib['name']}")
        for c in cases:
            if sorted(c.attrib) != ["classname", "name", "time"] or len(c) > 1 or any("type" not in e.attrib for e in c):
                fail(f"a test: {c.attrib}")
    print(f"junit: {len(root)} suites, {tests} tests")


def gitlab(report):
    found = json.load(open(report))
    for f in found:
        if set(f) != {"description", "check_name", "fingerprint", "severity", "location"} or f["severity"] not in ("info", "minor", "major", "critical", "blocker"):
            fail(f"a finding: {f}")
        if f["location"]["path"].startswith("/") or f["location"]["lines"]["begin"] < 1:
            fail(f"a location: {f['location']}")
    if len({f["fingerprint"] for f in found}) != len(found):
        fail("two findings with one fingerprint")
    print(f"gitlab: {len(found)} findings")


def github(report):
    lines = open(report).read().splitlines()
    for line in lines:
        if not re.fullmatch(r"::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::.*", line):
            fail(f"not one command: {line!r}")
    print(f"github: {len(lines)} commands")


def main():
    modelpatch, tools, *folders = sys.argv[1:]
    modelpatch = os.path.abspath(modelpatch)
    with tempfile.TemporaryDirectory() as work:
        for i, folder in enumerate(folders):
            os.symlink(os.path.abspath(folder), os.path.join(work, f"models{i}"))
        os.mkdir(os.path.join(work, "hostile"))
        with open(os.path.join(work, "hostile", "::error file=x::%0A<b>`|,&.gguf"), "wb") as f:
            f.write(b"GGUF")
        formats = {"sarif": "r.sarif", "junit": "r.xml", "gitlab": "r.json", "github": "r.txt", "markdown": "r.md", "json": "r.ndjson"}
        r = subprocess.run([modelpatch, "check", "--format", ",".join(f"{k}={v}" for k, v in formats.items()),
                            "hostile"] + [f"models{i}/" for i in range(len(folders))], cwd=work, capture_output=True, text=True)
        if r.returncode not in (1, 3):
            fail(f"exit code {r.returncode}: {r.stderr}")
        at = {k: os.path.join(work, v) for k, v in formats.items()}
        sarif(multitool(os.path.abspath(tools)), at["sarif"], work)
        junit(at["junit"])
        gitlab(at["gitlab"])
        github(at["github"])


main()
