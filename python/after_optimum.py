#!/usr/bin/env python3
"""Runs the section "After optimum-cli" of docs/python.md with a small model of random weights: what its shell block says, then its Python.

    python3 python/after_optimum.py MODELPATCH FOLDER

MODELPATCH is the executable. FOLDER is a virtual environment with optimum-cli, made where it is not there, which takes torch, onnx and
onnxruntime from the Python that runs this.
"""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# optimum's exporter takes this transformers; their dependencies are those of the Python around.
PACKAGES = ("optimum==2.3.0", "optimum-onnx==0.1.0", "transformers==4.57.6", "huggingface_hub<1.0", "tokenizers<0.23")

MODEL = """
import torch, transformers
torch.manual_seed(1)
config = transformers.BertConfig(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, max_position_embeddings=64)
transformers.BertModel(config).save_pretrained("model")
"""


def environment(folder: Path) -> Path:
    """The interpreter of an environment with optimum."""
    subprocess.run([ROOT / ".ci/install", "300", "venv", folder, "--no-deps", *PACKAGES], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "around.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "bin/python"


def main() -> int:
    executable, python = Path(sys.argv[1]).resolve(), environment(Path(sys.argv[2]).resolve())
    [section] = [part for part in (ROOT / "docs/python.md").read_text(encoding="utf-8").split("\n## ") if part.startswith("After optimum-cli")]
    [shell] = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    [code] = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory(prefix="modelpatch-optimum-") as folder:
        path = os.pathsep.join([str(python.parent), str(executable.parent), os.environ["PATH"]])
        around = {**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"}
        subprocess.run([python, "-c", MODEL], check=True, cwd=folder, env=around)
        subprocess.run(["bash", "-euc", shell], check=True, cwd=folder, env=around)
        subprocess.run([python, "-c", code], check=True, cwd=folder, env=around)
    print("after optimum-cli: docs/python.md does what it says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
