"""docs/python.md, run as it stands."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest
from conftest import ROOT, TESTDATA


def test_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    os.symlink(TESTDATA, tmp_path / "testdata")
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
    assert failed == 0 and tried > 30
