"""docs/python.ipynb, run: every picture, table and line in it is what it gives.

    UPDATE_NOTEBOOK=1 python -m pytest python/tests/test_notebook.py     writes them anew
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, TESTDATA

NOTEBOOK = ROOT / "docs/python.ipynb"
# What is kept of an output: the text of an object, which tells the version, is not.
KINDS = ("image/svg+xml", "text/html")


def kept(output: dict[str, Any]) -> dict[str, Any]:
    if output["output_type"] == "stream":
        return output
    return {"output_type": "display_data", "metadata": {}, "data": {kind: output["data"][kind] for kind in KINDS if kind in output["data"]}}


def test_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    os.symlink(TESTDATA, tmp_path / "testdata")
    for name in ("TMPDIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(NOTEBOOK, 4)
    before = [[kept(output) for output in cell.get("outputs", [])] for cell in notebook.cells]
    client.NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    after = [[kept(output) for output in cell.get("outputs", [])] for cell in notebook.cells]
    if os.environ.get("UPDATE_NOTEBOOK"):
        written = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        for cell, outputs in zip(written["cells"], after):
            if cell["cell_type"] == "code":
                cell["outputs"] = outputs
        NOTEBOOK.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    assert sum("image/svg+xml" in output.get("data", {}) for outputs in before for output in outputs) == 3
    assert after == before
