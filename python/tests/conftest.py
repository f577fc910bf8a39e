"""Models of the checkout, and what every test demands of the machine's temporary folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTDATA = ROOT / "testdata"


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a temporary folder of its own, where nothing of modelpatch is at its end (ONNX Runtime leaves a file)."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert [name for name in os.listdir(folder) if name != ".ses"] == []


@pytest.fixture
def llama() -> Path:
    return TESTDATA / "gguf/llama-plain.gguf"


@pytest.fixture
def gpt2() -> Path:
    return TESTDATA / "onnx/gpt2-dy23.onnx"


@pytest.fixture
def rope_onnx() -> Path:
    return TESTDATA / "onnx/llama-dy23.onnx"


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A model whose data lie in another file."""
    for name in ("genai-llama-fp32-ext.onnx", "genai-llama-fp32-ext.onnx.data"):
        shutil.copy(TESTDATA / "onnx" / name, tmp_path)
    return tmp_path / "genai-llama-fp32-ext.onnx"
