"""Every error, interruptions, threads, and a machine that does not help."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTDATA

import modelpatch
from modelpatch import _run, _version


def test_usage_error(llama: Path) -> None:
    with pytest.raises(modelpatch.UsageError) as caught:
        modelpatch.extend(llama, 128, method="tyle")  # type: ignore[arg-type]
    assert caught.value.code == 2 and caught.value.hints
    for call in (lambda: modelpatch.extend(llama.read_bytes(), 128, in_place=True), lambda: modelpatch.extend(llama.read_bytes(), 128, patch_only=True),
                 lambda: modelpatch.inspect(TESTDATA / "gguf"), lambda: modelpatch.inspect("a\0b"), lambda: list(modelpatch.inspect_many(["a\0b"])),
                 lambda: modelpatch.plot(llama, width=-5), lambda: modelpatch.extend(llama, 128, in_place=True, verify="full")):
        with pytest.raises(modelpatch.UsageError):
            call()
    with pytest.raises(TypeError, match="'colour'; there are .*assume"):
        modelpatch.inspect(llama, colour=True)  # type: ignore[call-arg]
    for nothing in (None, 3, b"x"[0], [llama]):
        with pytest.raises(TypeError, match="a model is a path"):
            modelpatch.inspect(nothing)  # type: ignore[arg-type]


def test_input_error(llama: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.gguf"
    calls: list[Callable[[], Any]] = [lambda: modelpatch.inspect(absent), lambda: modelpatch.plot(absent), lambda: modelpatch.verify(absent, llama),
                                      lambda: modelpatch.extend(absent, 9), lambda: modelpatch.undo(absent), lambda: modelpatch.show(absent)]
    for call in calls:
        with pytest.raises(modelpatch.InputError, match="absent.gguf"):
            call()
    for junk in (b"", b"GGUF", b"no model", llama.read_bytes()[:200]):
        with pytest.raises(modelpatch.InputError) as caught:
            modelpatch.inspect(junk)
        assert caught.value.path.startswith("model.") and tempfile.gettempdir() not in str(caught.value)
    with pytest.raises(modelpatch.InputError):
        modelpatch.inspect("https://127.0.0.1:1/model.gguf")


def test_refused(llama: Path) -> None:
    with pytest.raises(modelpatch.Refused) as caught:
        modelpatch.extend(llama, 8)
    error = caught.value
    assert (error.code, error.path) == (4, str(llama))
    assert error.hints == ("--shorter cuts the others off",) and str(error).endswith("\nhint: --shorter cuts the others off")
    (remedy,) = error.remedies
    assert [option.name for option in remedy.options] == ["shorter"]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is modelpatch.Refused and (again.hints, again.remedies) == (error.hints, error.remedies)


def test_output_error(llama: Path, tmp_path: Path) -> None:
    (tmp_path / "there.gguf").write_bytes(b"precious")
    with pytest.raises(modelpatch.OutputError) as caught:
        modelpatch.extend(llama, 128, output=tmp_path / "there.gguf")
    assert "--force" in caught.value.hints[0] and (tmp_path / "there.gguf").read_bytes() == b"precious"
    with pytest.raises(modelpatch.OutputError):
        modelpatch.extend(llama, 128, output=tmp_path / "no folder/x.gguf")
    figure = modelpatch.plot(llama)
    with pytest.raises(modelpatch.OutputError):
        figure.save(tmp_path / "there.gguf")


def test_verification_failed(llama: Path) -> None:
    with pytest.raises(modelpatch.VerificationFailed) as caught:
        modelpatch.verify(llama, TESTDATA / "gguf/gpt2-f32.gguf")
    assert caught.value.verdict is not None and caught.value.verdict.verdict == "different"
    with pytest.raises(modelpatch.VerificationFailed):
        modelpatch.extend(llama.read_bytes(), 128, verify="full", require_engine=True, llama_server="/no/such/server")


def test_two_threads(llama: Path, gpt2: Path) -> None:
    told: list[tuple[str, str]] = []

    def look(path: Path, scheme: str) -> None:
        for _ in range(10):
            told.append((modelpatch.inspect(path.read_bytes()).encodings[0].scheme, scheme))

    threads = [threading.Thread(target=look, args=row) for row in ((llama, "rope"), (gpt2, "learned"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 20 and all(found == wanted for found, wanted in told)


posix = pytest.mark.skipif(os.name == "nt", reason="signals and scripts of POSIX")


def stands_for(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a shell script in place of the executable."""
    path = tmp_path / "executable"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    monkeypatch.setattr(_run, "executable", lambda: str(path))


@posix
def test_killed_child(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for("kill -9 $$\n", tmp_path, monkeypatch)
    for call in (lambda: modelpatch.inspect(llama.read_bytes()), lambda: list(modelpatch.inspect_many([llama])), lambda: modelpatch.plot(llama), lambda: modelpatch.check(llama)):
        with pytest.raises(modelpatch.Interrupted, match="signal 9"):
            call()
    stands_for("echo '{}' | head -c 0; echo 'modelpatch: no more' >&2; exit 5\n", tmp_path, monkeypatch)
    for call in (lambda: modelpatch.inspect(llama), lambda: list(modelpatch.inspect_many([llama]))):
        with pytest.raises(modelpatch.OutputError, match="no more"):
            call()


@posix
@pytest.mark.parametrize("deaf", [False, True])
@pytest.mark.parametrize("call", ["modelpatch.inspect(b'GGUF')", "list(modelpatch.inspect_many(['x']))"])
def test_interrupted(deaf: bool, call: str, tmp_path: Path) -> None:
    """Ctrl-C in Python alone, as a notebook has it, ends a child within a second, even one that does not listen, and leaves nothing."""
    pid, temporary = tmp_path / "pid", tmp_path / "temporary"
    temporary.mkdir()
    script = tmp_path / "executable"
    script.write_text(f"#!/bin/sh\n{'trap : INT' if deaf else ''}\necho $$ > '{pid}.new'; mv '{pid}.new' '{pid}'\nwhile :; do sleep 0.05; done\n")
    script.chmod(0o755)
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nimport modelpatch._run; modelpatch._run.executable = lambda: {str(script)!r}\n{call}\n"
    caller = subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ, TMPDIR=str(temporary)), stderr=subprocess.PIPE, start_new_session=True)
    while not pid.exists():
        assert caller.poll() is None
        time.sleep(0.01)
    begun = time.monotonic()
    caller.send_signal(signal.SIGINT)
    said = caller.communicate()[1]
    assert time.monotonic() - begun < 1.5  # a second, and Python's own end
    assert b"KeyboardInterrupt" in said and os.listdir(temporary) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="a folder where root cannot write either")
def test_read_only_temporary_folder(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/sys")
    for call in (lambda: modelpatch.inspect(llama.read_bytes()), lambda: modelpatch.extend(llama.read_bytes(), 64), lambda: modelpatch.check(llama, policy={"version": 1})):
        with pytest.raises(modelpatch.OutputError, match="/sys.*folder for temporary files") as caught:
            call()
        assert "TMPDIR" in caught.value.hints[0]
    assert modelpatch.inspect(llama).architecture == "llama"


@posix
def test_executable_of_another_version(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_version, "EXECUTABLE", "v9.9.9")
    monkeypatch.setattr(_run, "_beside", lambda: iter(()))
    (tmp_path / "modelpatch").symlink_to(_run.executable())
    monkeypatch.setenv("PATH", str(tmp_path))
    _run.executable.cache_clear()
    try:
        with pytest.raises(modelpatch.UsageError, match="the package is of v9.9.9"):
            modelpatch.inspect(llama)
        (tmp_path / "modelpatch").unlink()
        with pytest.raises(modelpatch.UsageError, match="nor on PATH"):
            modelpatch.inspect(llama)
    finally:
        _run.executable.cache_clear()


def test_module_is_the_command(llama: Path) -> None:
    for arguments, code in ((["inspect", str(llama)], 0), (["no-such-verb"], 2), (["inspect", "absent.gguf"], 3)):
        as_module, as_command = (subprocess.run([*command, *arguments], capture_output=True, check=False)
                                 for command in ([sys.executable, "-m", "modelpatch"], [_run.executable()]))
        assert (as_module.returncode, as_module.stdout, as_module.stderr) == (code, as_command.stdout, as_command.stderr)
