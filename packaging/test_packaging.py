"""What packaging/build.py makes, installed and run; and the files by which CI systems call modelpatch.

    python3 -m unittest discover packaging

Needs Go. Installs nothing outside temporary folders. What cannot be tried on this machine is skipped by name.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import binaries
import build
import image
import manual
import platforms
import wheel
from release import Built, Release, Version

ROOT = binaries.ROOT
MODEL = ROOT / "testdata/gguf/llama-plain.gguf"
VERSION = Version.parse("0.0.7-rc.2")

# A policy that MODEL, of 32 positions, is not as; and a waiver that accepts it.
POLICY = """version: 1
for:
- files: ["**"]
  expect:
  - {id: long-enough, length: ">= 8192", why: "the product promises 8k"}
"""
WAIVER = """waivers:
- {rule: policy-expectation, files: ["**/*.gguf"], reason: "inputs are cut upstream", until: 2999-01-01}
"""


def run(*command, **options) -> subprocess.CompletedProcess:
    """Runs a command and shows what it printed when it fails, unless check=False."""
    check = options.pop("check", True)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=400, **options)
    if check and done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def member(tar: tarfile.TarFile, name: str) -> bytes:
    """The content of a file in an archive."""
    found = tar.extractfile(name)
    assert found is not None, f"{name} is no file"
    return found.read()


class Packaging(unittest.TestCase):
    """One build of this machine's platform, shared by all tests."""

    folder: Path
    dist: Path
    platform: platforms.Platform
    written: list[Path]
    executable: Path
    expected: str

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="modelpatch-packaging-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.dist = cls.folder / "dist"
        cls.platform = build.here()
        cls.written = build.pack(VERSION, [cls.platform], build.KINDS, (binaries.MAIN,), cls.dist)
        shutil.unpack_archive(next(cls.dist.glob("modelpatch_*.tar.gz"), None) or next(cls.dist.glob("modelpatch_*.zip")), cls.folder / "bin")
        cls.executable = cls.folder / "bin" / (binaries.MAIN + cls.platform.suffix)
        cls.expected = run(cls.executable, "inspect", MODEL).stdout

    def only(self, pattern: str) -> Path:
        """The one file of the build that fits the pattern."""
        found = list(self.dist.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
        return found[0]

    def inspects(self, *command, **options):
        """Demands that the command is modelpatch of the built version and reads a model."""
        self.assertEqual(run(*command, "--version", **options).stdout, "modelpatch version v0.0.7-rc.2\n")
        self.assertEqual(run(*command, "inspect", MODEL, **options).stdout, self.expected)
        # The executable that reads addresses is found: a server of this machine is refused by it.
        refused = run(*command, "inspect", "https://127.0.0.1:1/model.gguf", check=False, **options)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("of a private network or this machine", refused.stderr)

    # What is built

    def test_sums(self):
        lines = (self.dist / "SHA256SUMS").read_text().splitlines()
        told = {name: digest for digest, name in (line.split("  ") for line in lines)}
        self.assertEqual(set(told), {p.name for p in self.dist.iterdir() if p.is_file()} - {"SHA256SUMS"})
        for name, digest in told.items():
            self.assertEqual(digest, hashlib.sha256((self.dist / name).read_bytes()).hexdigest(), name)

    def test_two_folders_have_one_hash(self):
        """The same source in another folder, without .git, gives the same packages byte by byte."""
        other = self.folder / "another folder" / "source"
        shutil.copytree(ROOT, other, ignore=shutil.ignore_patterns(".git", "testdata", "dist", "__pycache__"))
        again = self.folder / "again"
        run(sys.executable, other / "packaging/build.py", "--version", VERSION.semver, "--out", again, "--platform", self.platform.name, "--without-engine",
            cwd=self.folder)
        self.assertEqual((again / "SHA256SUMS").read_text(), (self.dist / "SHA256SUMS").read_text())

    def test_static(self):
        if self.platform.os != "linux":
            self.skipTest("static executables are promised on Linux")
        for name in binaries.TOGETHER:
            data = (self.folder / "bin" / name).read_bytes()
            self.assertEqual(data[:5], b"\x7fELF\x02")
            at, size, count = (int.from_bytes(data[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
            kinds = {int.from_bytes(data[at + i * size:at + i * size + 4], "little") for i in range(count)}
            self.assertIn(1, kinds)  # PT_LOAD: the table was read rightly
            self.assertNotIn(3, kinds, f"PT_INTERP: {name} needs a loader, but its wheel promises musl and glibc")

    def test_folder_is_not_in_the_executable(self):
        self.assertNotIn(str(ROOT).encode(), self.executable.read_bytes())

    def test_goreleaser_builds_the_same(self):
        """.goreleaser.yaml compiles with the flags of binaries.py, so that its archives hold the executables of the wheels."""
        text = (ROOT / ".goreleaser.yaml").read_text()
        source = (ROOT / "packaging/binaries.py").read_text()
        self.assertEqual(re.findall(r"ldflags: (.*)", text), ['["-s -w -buildid= -X main.release=v{{ .Version }} -X main.commit={{ .FullCommit }}"]', '["-s -w -buildid="]', '["-s -w -buildid="]'])
        self.assertIn('flags = "-s -w -buildid="\n', source)
        self.assertIn("--commit {{ .FullCommit }}", text)
        self.assertIn("flags: &flags [-trimpath, -buildvcs=false, -mod=readonly]", text)
        self.assertIn('"-trimpath", "-buildvcs=false", "-mod=readonly"', source)
        self.assertEqual({f"{o}/{a}" for o in ("linux", "darwin", "windows") for a in ("amd64", "arm64")}, {p.name for p in platforms.PLATFORMS})
        self.assertEqual(text.count("    goos: [linux, darwin, windows]\n    goarch: [amd64, arm64]\n"), 3)
        self.assertEqual(text.count("    goamd64: [v1]\n    goarm64: [v8.0]\n"), 3)

    def test_versions(self):
        rows = [("1.2.3", "1.2.3", "1.2.3", "1.2.3"), ("v1.2.3", "1.2.3", "1.2.3", "1.2.3"), ("1.2.3-rc.4", "1.2.3-rc.4", "1.2.3rc4", "1.2.3~rc.4")]
        for text, semver, pep440, debian in rows:
            version = Version.parse(text)
            self.assertEqual((version.semver, version.pep440, version.debian), (semver, pep440, debian))
        for text in ("", "1.2", "1.2.3.4", "01.2.3", "1.2.3-beta", "1.2.3\n", "1.2.3-rc.01"):
            with self.assertRaises(ValueError, msg=text):
                Version.parse(text)

    def test_notices(self):
        """Binary copies carry the licence of everything that is linked: what the executable says of itself is the list."""
        told = binaries.notices(binaries.MAIN).decode()
        linked = [m for name in binaries.TOGETHER for m in
                  re.findall(r"^\tdep\t(\S+)\t(\S+)", run("go", "version", "-m", self.folder / "bin" / (name + self.platform.suffix)).stdout, re.M)]
        self.assertGreater(len(linked), 3)
        for module, version in linked:
            self.assertIn(f"\n{module} {version}\n", told)
        self.assertIn("\nGo\n", told)
        engine = binaries.notices(binaries.ENGINE).decode()
        self.assertIn("\ngithub.com/ebitengine/purego v", engine)
        self.assertNotIn("gorgonia", engine.lower())

    def test_sbom(self):
        """Every module that an executable says it links is in the bill of materials, and nothing of a licence that no release may have."""
        document = json.loads(self.only("modelpatch_*.spdx.json").read_text())
        packages = {p["SPDXID"]: p for p in document["packages"]}
        self.assertEqual(len(packages), len(document["packages"]))
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertNotIn("gorgonia", json.dumps(document))
        contained = {(r["spdxElementId"], packages[r["relatedSpdxElement"]]["name"]) for r in document["relationships"] if r["relationshipType"] == "CONTAINS"}
        for name in binaries.TOGETHER:
            path = self.folder / "bin" / (name + self.platform.suffix)
            own = next(p for p in packages.values() if p["name"] == name)
            self.assertEqual(own["checksums"][0]["checksumValue"], hashlib.sha256(path.read_bytes()).hexdigest())
            for module, _ in re.findall(r"^\tdep\t(\S+)\t(\S+)", run("go", "version", "-m", path).stdout, re.M):
                self.assertIn((own["SPDXID"], module), contained)

    def test_manual(self):
        archive = self.only("modelpatch_*_" + self.platform.os + "_*")
        with tarfile.open(archive) as tar:
            names = tar.getnames()
            rope = member(tar, "man/modelpatch-rope.1").decode()
            top = member(tar, "man/modelpatch.1").decode()
            for name in ("LICENSE", "README.md", "licenses/modelpatch"):
                self.assertTrue(member(tar, name).strip(), name)
        for command, _ in manual.commands(run(self.executable, "--help").stdout):
            if command != "completion":
                self.assertIn(f"man/modelpatch-{command}.1", names)
                self.assertIn(rf"\fBmodelpatch\-{command}\fR(1)", top)
        self.assertIn("man/modelpatch-remote.1", names)
        self.assertIn(r"\fB4\fR" + "\nrefused", rope)
        self.assertIn(".SS Where it is written", rope)
        for flag in re.findall(r"^ +(?:-\S, )?(--\S+)", run(self.executable, "rope", "--help").stdout, re.M):
            self.assertIn(flag.replace("-", r"\-"), rope)
        for name in manual.SHELLS.values():
            self.assertIn(f"completions/{name}", names)
        if shutil.which("groff"):
            warned = run("groff", "-man", "-Tutf8", "-ww", "-k", input=rope).stderr
            self.assertEqual(warned, "")

    def test_bash_completion(self):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        run("bash", "-n", input=run(self.executable, "completion", "bash").stdout)

    # Installed and run

    def test_wheel(self):
        venv = self.folder / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", venv)
        scripts = venv / ("Scripts" if os.name == "nt" else "bin")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
        pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "--disable-pip-version-check"]
        run(*pip, "install", "--no-index", "--no-deps", self.only("*.whl"), env=environment)
        self.inspects(scripts / "modelpatch")
        self.inspects(scripts / "python", "-m", "modelpatch")
        self.assertEqual(run(scripts / "python", "-c", "import modelpatch; print(modelpatch.__version__)").stdout, "0.0.7rc2\n")
        self.assertIn("Version: 0.0.7rc2\n", run(*pip, "show", "modelpatch", env=environment).stdout)

    def test_wheels_of_all_platforms(self):
        """Tags and names of the wheels that cannot be installed here."""
        release = Release(VERSION, b"readme", b"license", {binaries.MAIN: b"notices"})
        want = {
            "linux/amd64": ("manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "modelpatch"),
            "linux/arm64": ("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "modelpatch"),
            "darwin/amd64": ("macosx_12_0_x86_64", "modelpatch"),
            "darwin/arm64": ("macosx_12_0_arm64", "modelpatch"),
            "windows/amd64": ("win_amd64", "modelpatch.exe"),
            "windows/arm64": ("win_arm64", "modelpatch.exe"),
        }
        self.assertEqual(set(want), {p.name for p in platforms.PLATFORMS})
        for platform in platforms.PLATFORMS:
            tags, name = want[platform.name]
            path = wheel.write(release, Built(platform, {binaries.MAIN: MODEL}), self.folder)  # any small file: nothing is run
            self.assertEqual(path.name, f"modelpatch-0.0.7rc2-py3-none-{tags}.whl")
            with zipfile.ZipFile(path) as archive:
                entry = archive.getinfo(f"modelpatch-0.0.7rc2.data/scripts/{name}")
                self.assertEqual(entry.external_attr >> 16, 0o100755)
                record = archive.read("modelpatch-0.0.7rc2.dist-info/RECORD").decode().splitlines()
                told = {line.split(",")[0]: line.split(",")[1] for line in record}
                self.assertEqual(set(told), set(archive.namelist()))
                for member in archive.namelist():
                    digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(member)).digest()).rstrip(b"=").decode()
                    self.assertIn(told[member], ("sha256=" + digest, "") if member.endswith("/RECORD") else ("sha256=" + digest,))

    def test_npm(self):
        if not shutil.which("npm"):
            self.skipTest("no npm")
        registry = Registry(self.dist, self.platform)
        self.addCleanup(registry.close)
        folder = self.folder / "npm"
        folder.mkdir()
        environment = dict(os.environ, npm_config_cache=str(self.folder / "npm-cache"), npm_config_registry=registry.url, npm_config_userconfig=os.devnull,
                           npm_config_audit="false", npm_config_fund="false", npm_config_update_notifier="false")
        run("npm", "install", "--prefix", folder, "modelpatch@0.0.7-rc.2", env=environment)
        self.assertEqual(sorted(p.name for p in (folder / "node_modules/@modelpatch").iterdir()), ["-".join(self.platform.npm)])
        shim = folder / "node_modules/.bin/modelpatch"
        self.inspects(shim)
        failed = run(shim, "inspect", folder / "absent.gguf", check=False)
        self.assertEqual(failed.returncode, 3, failed.stderr)  # the executable's own exit code
        bare = self.folder / "npm-bare"
        bare.mkdir()
        run("npm", "install", "--prefix", bare, "--omit=optional", "modelpatch@0.0.7-rc.2", env=environment)
        failed = run(bare / "node_modules/.bin/modelpatch", "--version", check=False)
        self.assertEqual(failed.returncode, 5)
        self.assertIn(f"the package @modelpatch/{'-'.join(self.platform.npm)} is not installed\nhint: ", failed.stderr)

    def test_deb(self):
        if not shutil.which("dpkg-deb"):
            self.skipTest("no dpkg-deb")
        package = self.only("*.deb")
        self.assertEqual(run("dpkg-deb", "-f", package, "Version").stdout, "0.0.7~rc.2\n")
        folder = self.folder / "deb"
        run("dpkg-deb", "-x", package, folder)
        self.inspects(folder / "usr/bin/modelpatch")
        control = self.folder / "deb-control"
        run("dpkg-deb", "-e", package, control)
        sums = (control / "md5sums").read_text().splitlines()
        self.assertGreater(len(sums), 10)
        for line in sums:
            digest, name = line.split("  ")
            self.assertEqual(digest, hashlib.md5((folder / name).read_bytes()).hexdigest(), name)

    def test_image(self):
        if self.platform.os != "linux":
            self.skipTest("images are made for Linux")
        with tarfile.open(self.only("*_image.tar")) as tar:
            def blob(descriptor):
                data = member(tar, "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:"))
                self.assertEqual((descriptor["digest"], descriptor["size"]), ("sha256:" + hashlib.sha256(data).hexdigest(), len(data)))
                return data
            index = json.loads(blob(json.loads(member(tar, "index.json"))["manifests"][0]))
            manifest = json.loads(blob(index["manifests"][0]))
            config = json.loads(blob(manifest["config"]))
            layer = blob(manifest["layers"][0])
            loaded = json.loads(member(tar, "manifest.json"))[0]
            self.assertIn(loaded["Config"], tar.getnames())
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(layer).hexdigest()])
        self.assertEqual(index["manifests"][0]["platform"], {"os": "linux", "architecture": self.platform.arch})
        files = self.folder / "image"
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(files)
        self.assertEqual((files / "tmp").stat().st_mode & 0o7777, 0o1777)
        shutil.copy(MODEL, files / "models/model.gguf")
        user = str(image.USER)
        self.assertEqual(config["config"]["User"], f"{user}:{user}")
        if not shutil.which("chroot") or os.geteuid() != 0:
            self.inspects(files / "usr/bin/modelpatch")
            self.skipTest("chroot needs root: the image's executable was run outside its file system")
        os.chown(files / "models", image.USER, image.USER)
        self.folder.chmod(0o755)
        command = ["chroot", f"--userspec={user}:{user}", files, *config["config"]["Entrypoint"], "inspect"]
        environment = dict(entry.split("=", 1) for entry in config["config"]["Env"])
        environment["PATH"] += os.pathsep + os.environ["PATH"]  # to find chroot itself
        told = run(*command, "/models/model.gguf", env=environment).stdout
        self.assertEqual(told, self.expected.replace(str(MODEL), "/models/model.gguf"))
        with open(MODEL, "rb") as model:  # standard input is unpacked into /tmp
            self.assertTrue(run(*command, "-", env=environment, stdin=model).stdout.startswith("-: "))

    # CI systems

    def release_folder(self, name: str) -> Path:
        """The built archive as it lies below a release's address."""
        folder = self.folder / name
        (folder / "v0.0.7-rc.2").mkdir(parents=True)
        for pattern in ("modelpatch_*.tar.gz", "SHA256SUMS"):
            shutil.copy(self.only(pattern), folder / "v0.0.7-rc.2")
        return folder

    def action(self, step: str, check: bool = True, /, **environment: str) -> subprocess.CompletedProcess:
        """Runs a step of the action as a runner would, but for the runner."""
        return run("bash", ROOT / "packaging/action.sh", step, check=check, cwd=self.folder, env={
            "PATH": os.environ["PATH"], "RUNNER_TEMP": str(self.folder / "runner"), "GITHUB_PATH": str(self.folder / "github-path"),
            "GITHUB_OUTPUT": str(self.folder / "github-output"), "GITHUB_STEP_SUMMARY": str(self.folder / "github-summary"), **environment})

    def test_action_installs(self):
        if self.platform.os == "windows":
            self.skipTest("the action's script was not tried on Windows")
        downloads = self.release_folder("releases").as_uri()
        (self.folder / "github-path").write_text("")
        self.action("install", MODELPATCH_VERSION="v0.0.7-rc.2", MODELPATCH_DOWNLOADS=downloads)
        added = (self.folder / "github-path").read_text().strip()
        self.inspects(Path(added) / "modelpatch")
        digest = hashlib.sha256(self.only("modelpatch_*.tar.gz").read_bytes()).hexdigest()
        self.action("install", MODELPATCH_VERSION="0.0.7-rc.2", MODELPATCH_DOWNLOADS=downloads, MODELPATCH_SHA256=digest)
        rows = [
            (dict(MODELPATCH_VERSION="0.0.7-rc.2", MODELPATCH_DOWNLOADS=downloads, MODELPATCH_SHA256="0" * 64), "another file than expected"),
            (dict(MODELPATCH_VERSION="0.0.8", MODELPATCH_DOWNLOADS=downloads), "cannot be fetched"),
            (dict(MODELPATCH_VERSION="../../x", MODELPATCH_DOWNLOADS=downloads), "must be of the form"),
            (dict(MODELPATCH_VERSION="1.2.3\n::warning::x", MODELPATCH_DOWNLOADS=downloads), "must be of the form"),
            (dict(MODELPATCH_VERSION="", MODELPATCH_DOWNLOADS=downloads), "must be of the form"),
        ]
        for environment, words in rows:
            failed = self.action("install", False, **environment)
            self.assertEqual(failed.returncode, 2, failed.stdout)
            self.assertRegex(failed.stdout, r"\A::error title=modelpatch action::[^\n]*" + words + r"[^\n]*\n\Z")

    def test_action_finds_damage(self):
        if self.platform.os == "windows":
            self.skipTest("the action's script was not tried on Windows")
        folder = self.release_folder("damaged")
        archive = next(folder.glob("*/*.tar.gz"))
        data = bytearray(archive.read_bytes())
        data[len(data) // 2] ^= 1
        archive.write_bytes(data)
        failed = self.action("install", False, MODELPATCH_VERSION="0.0.7-rc.2", MODELPATCH_DOWNLOADS=folder.as_uri())
        self.assertEqual(failed.returncode, 2)
        self.assertIn("is damaged: SHA-256 is ", failed.stdout)

    def test_action_arguments(self):
        """What the action hands to modelpatch check, seen by a program that only prints its arguments."""
        folder = self.folder / "echo"
        folder.mkdir()
        (folder / "modelpatch").write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\nexit 1\n')
        (folder / "modelpatch").chmod(0o755)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        done = self.action("check", False, PATH=path, MODELPATCH_PATHS="a b.gguf\n-x.onnx\n$(touch pwned)\n", MODELPATCH_POLICY="p.yaml",
                           MODELPATCH_FAIL_ON="warning", MODELPATCH_SARIF="out.sarif", MODELPATCH_SUMMARY="true")
        self.assertEqual(done.returncode, 1, done.stderr)  # modelpatch's own exit code fails the step
        self.assertEqual(done.stdout.splitlines(), [
            "check", "--format", f"github,sarif=out.sarif,markdown={self.folder}/github-summary", "--policy=p.yaml", "--fail-on=warning",
            "--", "a b.gguf", "-x.onnx", "$(touch pwned)"])
        self.assertFalse((self.folder / "pwned").exists())
        self.assertTrue((self.folder / "github-output").read_text().endswith("sarif=out.sarif\n"))
        for environment in (dict(MODELPATCH_PATHS="\n"), dict(MODELPATCH_PATHS="a", MODELPATCH_SARIF="a,text=b"), dict(MODELPATCH_PATHS="a", MODELPATCH_SARIF="a\nb=c")):
            self.assertEqual(self.action("check", False, PATH=path, **environment).returncode, 2)

    def test_action_checks(self):
        """The gate closes on a broken policy and opens for a waiver and for a baseline."""
        models = self.folder / "models"
        models.mkdir()
        shutil.copy(MODEL, models / "llama.gguf")
        inputs = dict(PATH=f"{self.executable.parent}{os.pathsep}{os.environ['PATH']}", MODELPATCH_PATHS="models", MODELPATCH_SARIF="found.sarif", MODELPATCH_SUMMARY="true")

        self.assertNotIn("::error", self.action("check", **inputs).stdout)
        self.assertEqual(self.results("found.sarif"), [])

        (self.folder / "policy.yaml").write_text(POLICY)
        inputs["MODELPATCH_POLICY"] = "policy.yaml"
        failed = self.action("check", False, **inputs)
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertRegex(failed.stdout, r"(?m)^::error file=models/llama\.gguf,title=[^:]+::expected by \"long-enough\": ")
        self.assertEqual(self.results("found.sarif"), ["policy-expectation"])
        self.assertIn("policy-expectation", (self.folder / "github-summary").read_text())

        (self.folder / "waived.yaml").write_text(POLICY + WAIVER)
        self.action("check", **{**inputs, "MODELPATCH_POLICY": "waived.yaml"})

        run(self.executable, "check", "--policy", "policy.yaml", "--baseline", "baseline.json", "--write-baseline", "models", cwd=self.folder)
        self.action("check", MODELPATCH_BASELINE="baseline.json", **inputs)

        (models / "damaged.gguf").write_bytes(MODEL.read_bytes()[:200])
        failed = self.action("check", False, MODELPATCH_BASELINE="baseline.json", **inputs)
        self.assertEqual(failed.returncode, 3, failed.stderr)
        self.assertIn("::error file=models/damaged.gguf,", failed.stdout)

    def results(self, name: str) -> list[str]:
        """The rules of the findings in a SARIF file of the action."""
        return [result["ruleId"] for result in json.loads((self.folder / name).read_text())["runs"][0]["results"]]

    def test_action_inputs_only_by_environment(self):
        """No expression of a workflow stands in a script, where its text would be run."""
        text = (ROOT / "action.yml").read_text()
        runs = re.findall(r"^ +run: (.*)$", text, re.M)
        self.assertEqual(runs, ["'\"$GITHUB_ACTION_PATH/packaging/action.sh\" install'", "'\"$GITHUB_ACTION_PATH/packaging/action.sh\" check'"])
        script = (ROOT / "packaging/action.sh").read_text()
        self.assertNotIn("${{", script)
        for variable in re.findall(r"(MODELPATCH_[A-Z0-9_]+):", text):
            self.assertIn(variable, script)
        used = set(re.findall(r"\$\{\{ inputs\.([a-z0-9-]+) \}\}", text))
        declared = set(re.findall(r"^  ([a-z0-9-]+):$", text.split("outputs:")[0].split("inputs:")[1], re.M))
        self.assertEqual(used, declared)

    def test_pre_commit(self):
        """pre-commit from PyPI on a repository with a model; the hooks come from a copy of packaging/mirror, which installs this build's wheel."""
        venv = self.folder / "pre-commit"
        run(sys.executable, "-m", "venv", "--without-pip", venv)
        installed = run(sys.executable, "-m", "pip", "--python", venv / "bin/python", "install", "-q", "--disable-pip-version-check", "pre-commit==4.7.0", check=False)
        if installed.returncode:
            self.skipTest("pre-commit 4.7.0 could not be installed")
        environment = dict(os.environ, PRE_COMMIT_HOME=str(self.folder / "pre-commit-home"), GIT_CONFIG_GLOBAL=os.devnull, PIP_FIND_LINKS=str(self.dist),
                           GIT_AUTHOR_NAME="test", GIT_AUTHOR_EMAIL="", GIT_COMMITTER_NAME="test", GIT_COMMITTER_EMAIL="")
        hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
        self.assertEqual(hooks.replace("language: golang", "language: python"), (ROOT / "packaging/mirror/.pre-commit-hooks.yaml").read_text())
        run(venv / "bin/pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml", env=environment)
        mirror = self.folder / "mirror"
        shutil.copytree(ROOT / "packaging/mirror", mirror)
        project = (mirror / "pyproject.toml").read_text()
        self.assertIn("modelpatch==VERSION", project)
        (mirror / "pyproject.toml").write_text(project.replace("==VERSION", "==" + VERSION.pep440))
        run("git", "init", "-q", mirror)
        run("git", "-C", mirror, "add", ".")
        run("git", "-C", mirror, "commit", "-q", "-m", "hooks", env=environment)
        run("git", "-C", mirror, "tag", "v1", env=environment)
        repository = self.folder / "repository"
        repository.mkdir()
        run("git", "init", "-q", repository)
        (repository / ".pre-commit-config.yaml").write_text(f"repos:\n- repo: {mirror}\n  rev: v1\n  hooks:\n  - id: modelpatch-check\n")
        (repository / "notes.txt").write_text("no model\n")
        run("git", "-C", repository, "add", ".")
        command = [venv / "bin/pre-commit", "run", "--all-files"]
        self.assertIn("(no files to check)Skipped", run(*command, cwd=repository, env=environment).stdout)
        shutil.copy(MODEL, repository / "model.gguf")
        run("git", "-C", repository, "add", ".")
        self.assertIn("Passed", run(*command, cwd=repository, env=environment).stdout)
        (repository / "modelpatch.yaml").write_text(POLICY)
        run("git", "-C", repository, "add", ".")
        failed = run(*command, cwd=repository, env=environment, check=False)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        self.assertIn('model.gguf: error: expected by "long-enough"', failed.stdout)


class Registry:
    """An npm registry on 127.0.0.1 that offers the packages of one build; packages of other platforms have a manifest only."""

    def __init__(self, dist: Path, platform: platforms.Platform):
        packages = {}
        files = {path.name: path.read_bytes() for path in dist.glob("*.tgz")}
        for name, data in files.items():
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                manifest = json.loads(member(tar, "package/package.json"))
            packages[manifest["name"]] = (manifest, name, data)
        for other in platforms.PLATFORMS:
            if other != platform:
                own = f"@modelpatch/{'-'.join(other.npm)}"
                packages[own] = ({"name": own, "version": VERSION.semver, "os": [other.npm[0]], "cpu": [other.npm[1]]}, "absent.tgz", b"")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                asked = handler.path.lstrip("/").replace("%2f", "/").replace("%2F", "/")
                if asked in files:
                    handler.answer(200, "application/octet-stream", files[asked])
                elif asked in packages:
                    manifest, name, data = packages[asked]
                    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
                    version = {**manifest, "dist": {"tarball": f"{self.url}/{name}", "integrity": integrity}}
                    body = {"name": asked, "dist-tags": {"latest": manifest["version"]}, "versions": {manifest["version"]: version}}
                    handler.answer(200, "application/json", json.dumps(body).encode())
                else:
                    handler.answer(404, "application/json", b"{}")

            def answer(handler, status, kind, body):
                handler.send_response(status)
                handler.send_header("Content-Type", kind)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    unittest.main()
