#!/usr/bin/env python3
"""Reads and changes models on servers that others wrote, on this machine: moto (S3), Azurite (Azure), fake-gcs-server (Google), a
registry of go-containerregistry (OCI), and commits edits with Hugging Face's own client.

    python3 test/remote/servers.py --install FOLDER
    python3 test/remote/servers.py MODELPATCH FOLDER

FOLDER, outside of the checkout, gets the servers once, by pip, npm and the Go module proxy (the first form does that alone, with more time: building one
takes minutes); what cannot be installed is skipped by name.
Needs Python 3.11; Node for Azurite and the client, Go for the registry and fake-gcs-server. modelpatch-remote lies beside MODELPATCH.
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "testdata"
INSTALL = {True: 900, False: 120}["--install" in sys.argv]  # seconds, for all of them: a run skips what takes longer, and the next one goes on
ends = time.monotonic() + INSTALL
failures: list[str] = []


class Skip(Exception):
    """A server that is not to be had here."""


def expect(what: str, holds: bool, detail: str = "") -> None:
    if holds:
        print(f"  ok: {what}")
        return
    failures.append(what)
    print(f"  FAILED: {what}\n{detail[-2000:]}")


# What .ci/install is asked for, and the file that is wanted of it.
SERVERS: dict[str, tuple[str, list[str], str]] = {
    "moto": ("venv", ["moto[server]", "boto3", "awscli"], "bin/moto_server"),
    "Azurite": ("npm", ["azurite"], "node_modules/.bin/azurite-blob"),
    "hub": ("npm", ["@huggingface/hub"], "node_modules/@huggingface/hub"),
    "crane": ("go", ["github.com/google/go-containerregistry/cmd/crane@v0.22.1"], "crane"),
    "fake-gcs-server": ("go", ["github.com/fsouza/fake-gcs-server@v1.56.1"], "fake-gcs-server"),
}


def install(folder: Path, what: str) -> Path:
    """Has a server made, unless it is there, and returns its executable."""
    kind, words, wanted = SERVERS[what]
    seconds = max(1, int(ends - time.monotonic()))
    done = subprocess.run([HERE.parent.parent / ".ci/install", str(seconds), kind, folder / what, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"{what} (it could not be installed: {(done.stderr.strip().splitlines() or ['time was up'])[-1]})")
    return folder / what / wanted


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def server(*command: str | int | Path, port: int, **options):
    """A process that listens, until the block ends."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        for _ in range(300):
            if process.poll() is not None:
                raise Skip(f"{Path(str(command[0])).name} (it ended with code {process.returncode})")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def request(method: str, url: str, data: bytes | None = None, **headers: str):
    """An HTTP request; its answer's headers and content."""
    r = urllib.request.Request(url, data, {k.replace("_", "-"): v for k, v in headers.items()}, method=method)
    with urllib.request.urlopen(r, timeout=60) as answer:
        return answer.headers, answer.read()


class Tool:
    """modelpatch, and what it must say of the models here."""

    def __init__(self, executable: str, folder: Path):
        self.executable, self.folder = executable, folder
        self.gguf = folder / "m.gguf"
        shutil.copy(MODELS / "gguf/gpt2-f32.gguf", folder / "small.gguf")
        self.run("extend", "--len", "200000", folder / "small.gguf", "-o", self.gguf)  # 13 MB, several parts of an upload
        self.onnx = next(p for p in sorted((MODELS / "onnx").glob("*.onnx")) if (p.parent / (p.name + ".data")).exists()) \
            if any((MODELS / "onnx").glob("*.onnx.data")) else MODELS / "onnx/gpt2-dy23.onnx"

    def run(self, *arguments, code: int = 0, **environment: Any) -> subprocess.CompletedProcess:
        done = subprocess.run([self.executable, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)
        if done.returncode != code:
            raise AssertionError(f"modelpatch {arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def same(self, what: str, address: str, path: Path, secrets: tuple[str, ...] = (), scan: bool = True, **environment: Any) -> None:
        """Demands the report of the file at path from an address, without secrets."""
        here = json.loads(self.run("inspect", "--json", path).stdout)
        try:
            done = self.run("inspect", "--json", "--allow-private", *(["--scan"] if scan else []), address, **environment)
        except AssertionError as error:
            expect(what, False, str(error))
            return
        there = json.loads(done.stdout)
        for r in (here, there):
            r["path"] = Path(r["path"]).name.split("?")[0]
            for f in r["files"]:
                f["path"] = Path(f["path"]).name
        if address.startswith("oci://"):
            there["path"] = here["path"]
            for f in there["files"]:
                f["path"] = f["path"].rpartition("#")[2]
        told = done.stdout + done.stderr
        expect(f"{what} ({done.stderr.strip().splitlines()[-1].removeprefix('modelpatch: ')})", here == there, f"{here}\n{there}")
        expect(f"{what}: no secret in what it says", not any(s in told for s in secrets), told)


def s3(tool: Tool, folder: Path) -> None:
    venv = install(folder, "moto").parent.parent
    port = free_port()
    keys = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "SECRETKEY", "AWS_DEFAULT_REGION": "us-east-1", "HOME": str(tool.folder)}
    with server(venv / "bin/moto_server", "-H", "127.0.0.1", "-p", port, port=port, env={**os.environ, **keys}) as address:
        environment = {**os.environ, **keys, "AWS_ENDPOINT_URL": address, "PATH": f"{venv / 'bin'}:{os.environ['PATH']}"}

        def store(code: str) -> str:
            """Asks the store by Python's client: c, and what code prints."""
            program = f"import boto3, botocore\nc = boto3.client('s3', endpoint_url={address!r}, config=botocore.config.Config(signature_version='s3v4'))\n{code}"
            return subprocess.run([venv / "bin/python", "-c", program], env=environment, check=True, capture_output=True, text=True, timeout=120).stdout.strip()

        signed = store(f"c.create_bucket(Bucket='models')\nc.upload_file({str(tool.gguf)!r}, 'models', 'a/m.gguf')\n"
                       "print(c.generate_presigned_url('get_object', Params={'Bucket': 'models', 'Key': 'a/m.gguf'}))")
        signature = urllib.parse.parse_qs(urllib.parse.urlparse(signed).query)
        secrets = tuple(v[0] for k, v in signature.items() if "Signature" in k)
        tool.same("S3, presigned", signed, tool.gguf, secrets)
        wanted, parts = tool.folder / "wanted.gguf", tool.folder / "parts"
        tool.run("extend", "--len", "200100", tool.gguf, "-o", wanted)
        done = tool.run("extend", "--len", "200100", "--allow-private", signed, "-o", parts, "--to", "s3-parts")
        sent = sum(p.stat().st_size for p in parts.glob("part-*"))
        expect(f"S3: {sent} of {wanted.stat().st_size} bytes are uploaded, the rest is copied in the store", 5 << 20 <= sent < 6 << 20, done.stdout)
        script = subprocess.run(["sh", parts / "upload.sh", "s3://models/a/m.gguf", "s3://models/b/longer.gguf"], env=environment, capture_output=True, text=True, timeout=120)
        expect("S3: the script runs", script.returncode == 0, script.stdout + script.stderr)
        store(f"c.download_file('models', 'b/longer.gguf', {str(tool.folder / 'longer.gguf')!r})")
        expect("S3: what the script made is the file that extend makes", (tool.folder / "longer.gguf").read_bytes() == wanted.read_bytes())
        other = tool.folder / "other.gguf"
        other.write_bytes(tool.gguf.read_bytes()[:-1] + b"?")
        store(f"c.upload_file({str(other)!r}, 'models', 'a/m.gguf')")
        script = subprocess.run(["sh", parts / "upload.sh", "s3://models/a/m.gguf", "s3://models/b/other.gguf"], env=environment, capture_output=True, text=True, timeout=120)
        uploads = store("print(c.list_multipart_uploads(Bucket='models').get('Uploads', ''))")
        expect("S3: the script refuses another version of the object, and leaves no upload", script.returncode == 1 and "is another version" in script.stderr and uploads in ("[]", ""),
               script.stderr + uploads)


ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # Azurite's own, in its documentation


def azure(tool: Tool, folder: Path) -> None:
    azurite = install(folder, "Azurite")
    port = free_port()
    fields = {"sv": "2021-06-08", "ss": "b", "srt": "co", "sp": "rwcl", "se": (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")}
    text = "\n".join([ACCOUNT, fields["sp"], fields["ss"], fields["srt"], "", fields["se"], "", "", fields["sv"], "", ""])
    signature = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()).decode()
    sas = urllib.parse.urlencode({**fields, "sig": signature})
    with server(azurite, "--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--blobPort", port, port=port) as address:
        container = f"{address}/{ACCOUNT}/models"
        request("PUT", f"{container}?restype=container&{sas}", b"", x_ms_version=fields["sv"])
        for path in [tool.gguf, *tool.onnx.parent.glob(tool.onnx.name + "*")]:
            request("PUT", f"{container}/{path.name}?{sas}", path.read_bytes(), x_ms_blob_type="BlockBlob", x_ms_version=fields["sv"], Content_Type="application/octet-stream")
        secrets = (signature, urllib.parse.quote_plus(signature))
        tool.same("Azure, SAS", f"{container}/{tool.gguf.name}?{sas}", tool.gguf, secrets)
        tool.same("Azure, SAS, an ONNX model and what lies beside it", f"{container}/{tool.onnx.name}?{sas}", tool.onnx, secrets)
        wrong = urllib.parse.urlencode({**fields, "sig": base64.b64encode(bytes(32)).decode()})  # well-formed: what is no percent-encoding is a 500 there
        denied = tool.run("inspect", "--json", "--allow-private", f"{container}/{tool.gguf.name}?{wrong}", code=3)
        expect("Azure: a wrong signature is refused", "403" in denied.stderr and "AAAAAAAA" not in denied.stderr, denied.stderr)


def google(tool: Tool, folder: Path) -> None:
    fake = install(folder, "fake-gcs-server")
    port = free_port()
    with server(fake, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-public-host", f"127.0.0.1:{port}", port=port) as address:
        request("POST", f"{address}/storage/v1/b?project=test", b'{"name":"models"}', Content_Type="application/json")
        request("POST", f"{address}/upload/storage/v1/b/models/o?uploadType=media&name=m.gguf", tool.gguf.read_bytes(), Content_Type="application/octet-stream")
        tool.same("Google", f"{address}/models/m.gguf?X-Goog-Signature=SIGNATURE77", tool.gguf, ("SIGNATURE77",))


def registry(tool: Tool, folder: Path) -> None:
    crane = install(folder, "crane")
    port = free_port()
    with server(crane, "registry", "serve", "--address", f"127.0.0.1:{port}", port=port) as address:
        def push(name: str, kind: str, layers: list[tuple[str, Path, dict]]) -> str:
            described = []
            for media, path, annotations in [("application/vnd.oci.empty.v1+json", None, {}), *layers]:
                data = path.read_bytes() if path else b"{}"
                digest = "sha256:" + hashlib.sha256(data).hexdigest()
                headers, _ = request("POST", f"{address}/v2/{name}/blobs/uploads/", b"")
                at = urllib.parse.urljoin(address, headers["Location"])
                request("PUT", f"{at}{'&' if '?' in at else '?'}digest={digest}", data, Content_Type="application/octet-stream")
                described.append({"mediaType": media, "digest": digest, "size": len(data), "annotations": annotations})
            manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": kind, "config": described[0], "layers": described[1:]}).encode()
            request("PUT", f"{address}/v2/{name}/manifests/v1", manifest, Content_Type="application/vnd.oci.image.manifest.v1+json")
            return "sha256:" + hashlib.sha256(manifest).hexdigest()

        host = address.removeprefix("http://")
        digest = push("ai/docker", "application/vnd.docker.ai.model.config.v0.1+json", [("application/vnd.docker.ai.gguf.v3", tool.gguf, {}), ("application/vnd.docker.ai.license", MODELS / "gguf/gpt2-f32.gguf", {})])
        tool.same("OCI, a Docker model", f"oci://{host}/ai/docker:v1", tool.gguf)
        tool.same("OCI, by its digest", f"oci://{host}/ai/docker@{digest}", tool.gguf)
        files = [("application/vnd.cncf.model.weight.v1.raw", p, {"org.cncf.model.filepath": p.name}) for p in sorted(tool.onnx.parent.glob(tool.onnx.name + "*"))]
        push("ai/modelpack", "application/vnd.cncf.model.manifest.v1+json", files + [("application/vnd.cncf.model.weight.v1.raw", tool.folder / "small.gguf", {"org.cncf.model.filepath": "small.gguf"})])
        tool.same("OCI, ModelPack, one of two models", f"oci://{host}/ai/modelpack:v1#{tool.onnx.name}", tool.onnx)
        several = tool.run("inspect", "--allow-private", f"oci://{host}/ai/modelpack:v1", code=3)
        expect("OCI: an artifact of several models asks for one", "holds 2 models" in several.stderr and "#small.gguf" in several.stderr, several.stderr)
        missing = tool.run("inspect", "--allow-private", f"oci://{host}/ai/none:v1", code=3)
        expect("OCI: a repository that is not there", "404 Not Found" in missing.stderr, missing.stderr)


def hub(tool: Tool, folder: Path) -> None:
    modules = install(folder, "hub").parents[2]
    for verb in (["extend", "--len", "200100"], ["extend", "--len", "300"]):
        model = tool.gguf if verb[2] == "200100" else tool.folder / "small.gguf"
        edits, wanted = tool.folder / "edits.json", tool.folder / "hub.gguf"
        tool.run(*verb, model, "--edits", edits, "--dry-run", "--force")
        tool.run(*verb, model, "-o", wanted, "--force")
        done = subprocess.run(["node", HERE / "hub_commit.mjs", modules, model, edits], capture_output=True, text=True, timeout=120)
        expect(f"hub: its client commits the edits of {' '.join(verb)} as the file that it makes ({len(json.loads(edits.read_text()))} edits)",
               done.stdout.strip() == hashlib.sha256(wanted.read_bytes()).hexdigest(), done.stdout + done.stderr)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "--install":
        for what in SERVERS:
            began = time.monotonic()
            try:
                install(folder, what)
                print(f"{what}: there after {time.monotonic() - began:.0f} s", flush=True)
            except Skip as skip:
                print(f"skipped by name: {skip}", flush=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="modelpatch-servers-") as work:
        tool = Tool(os.path.abspath(sys.argv[1]), Path(work))
        for test in (s3, azure, google, registry, hub):
            began = time.monotonic()
            try:
                test(tool, folder)
            except Skip as skip:
                print(f"skipped by name: {skip}")
            print(f"  {test.__name__}: {time.monotonic() - began:.1f} s")
    print(f"{len(failures)} failures" if failures else "every server was read as the file on the disk is")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
