"""What exporters use: sessions of longer models, and an assertion for tests."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from conftest import TESTDATA

import modelpatch
from modelpatch.testing import assert_positions


def test_assert_positions(llama: Path, gpt2: Path) -> None:
    assert_positions(gpt2, length=">=48", scheme="learned")
    assert_positions(gpt2.read_bytes(), length=">=48")
    assert_positions(llama)
    for expected in ({"length": ">=8192"}, {"scheme": "rope"}):
        with pytest.raises(AssertionError, match="gpt2-dy23.onnx: expected by"):
            assert_positions(gpt2, **expected)
    with pytest.raises(AssertionError, match="big-endian"):
        assert_positions(TESTDATA / "gguf/edit-bigendian.gguf")
    with pytest.raises(modelpatch.ModelpatchError):
        assert_positions(gpt2, length="longer")


def test_extended_session(gpt2: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    numpy = pytest.importorskip("numpy")
    from modelpatch.onnx import extended, extended_session

    model, cache = tmp_path / "model.onnx", tmp_path / "cache"
    shutil.copy(gpt2, model)
    session = extended_session(model, 96, cache=cache, providers=["CPUExecutionProvider"])
    tokens = numpy.zeros((1, 96), dtype=numpy.int64)
    feeds = {given.name: tokens if "ids" in given.name else numpy.ones_like(tokens) for given in session.get_inputs()}
    assert numpy.shape(session.run(None, feeds)[0])[1] == 96
    with pytest.raises(Exception, match="(?i)indices|out of"):
        runtime.InferenceSession(str(model)).run(None, feeds)
    (kept,) = os.listdir(cache)
    before = (cache / kept / "model.onnx").stat().st_mtime_ns
    assert extended(model, 96, cache=cache).stat().st_mtime_ns == before
    os.utime(model, ns=(1, 1))
    assert extended(model, 96, cache=cache).parent.name != kept
    with pytest.raises(modelpatch.Refused):
        extended(model, 4, cache=cache)
    assert len(os.listdir(cache)) == 2
    (tmp_path / "file").touch()
    with pytest.raises(modelpatch.OutputError):
        extended(model, 96, cache=tmp_path / "file/below")


def test_extended_session_of_external_data(external: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    from modelpatch.onnx import extended

    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(extended(external, 256, cache=tmp_path / "cache"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1 and len(os.listdir(tmp_path / "cache")) == 1
    first = found[0]
    runtime.InferenceSession(str(first))
    data = external.with_name(external.name + ".data")
    os.utime(data, ns=(1, 1))
    assert extended(external, 256, cache=tmp_path / "cache") != first
