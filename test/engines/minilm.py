#!/usr/bin/env python3
"""all-MiniLM-L6-v2, the best-known model that ends at 512 tokens, extended to 2048.

usage: minilm.py MODELPATCH WORK_FOLDER      (needs MINILM_DIR, torch, transformers, onnxruntime, and Go's sources)

Exports the model with both PyTorch exporters, extends each file by every method that keeps old rows, and checks in ONNX
Runtime that texts of up to 512 tokens give bitwise the outputs of the original and that longer ones run. Then a small
retrieval task on Go's own documentation: find the package whose documentation (600 to 2000 tokens) holds a sentence that
stands beyond its 512th token. It says what each method is worth, beside cutting texts at 512 tokens.

With GGUF_VOCAB_DIR (its set-up leaves llama.cpp's sources beside it) and LLAMA_SERVER, the model is converted to GGUF by
llama.cpp's own converter, extended as well, and token embeddings of texts of up to 512 tokens are compared in llama.cpp:
within 1e-5 of their scale, the engine's noise.

What `inspect` says of each file is compared with the published configuration: 512 learned positions of 384 numbers.
"""
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch
import transformers as T

METHODS = ("hierarchical", "tile", "repeat-last", "zero", "interpolate", "stretch")
KEEPING = METHODS[:4]


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask)[0]


def export(folder):
    model = Plain(T.BertModel.from_pretrained(os.environ["MINILM_DIR"], attn_implementation="eager").eval())
    ids = torch.randint(1000, 5000, (2, 11))
    names, sample = ["input_ids", "attention_mask"], (ids, torch.ones_like(ids))
    axes = {n: {0: "batch", 1: "seq"} for n in names}
    paths = [os.path.join(folder, "torchscript.onnx"), os.path.join(folder, "dynamo.onnx")]
    if not os.path.exists(paths[0]):
        torch.onnx.export(model, sample, paths[0], input_names=names, output_names=["out"], dynamic_axes=axes, opset_version=17, dynamo=False)
    if not os.path.exists(paths[1]):
        shape = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("seq", min=2, max=512)}
        torch.onnx.export(model, sample, paths[1], input_names=names, output_names=["out"], dynamic_shapes=(shape, shape), dynamo=True, opset_version=18, verbose=False)
    return paths


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(s, ids):
    ids = np.asarray([ids], np.int64)
    return s.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]


def embed(s, ids):
    v = run(s, ids)[0].mean(0)
    return v / np.linalg.norm(v)


def served(model, texts, context):
    """Token embeddings of texts from a llama.cpp server."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([os.environ["LLAMA_SERVER"], "-m", model, "-c", str(context), "-np", "1", "--host", "127.0.0.1", "--port", str(port), "--embedding", "--pooling", "none",
                               "-b", "2048", "-ub", "2048", "--no-warmup", "-t", "2", "-fa", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        out = []
        for ids in texts:
            body = json.dumps({"content": [int(i) for i in ids], "embd_normalize": -1}).encode()
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/embedding", body, {"Content-Type": "application/json"}), timeout=120) as answer:
                out.append(np.asarray(json.load(answer)[0]["embedding"]))
        return out
    finally:
        server.terminate()
        server.wait()


def claims(tool, path):
    """Checks what inspect says against the published configuration; returns the number of faults."""
    r = json.loads(subprocess.run([tool, "inspect", "--json", path], check=True, capture_output=True, text=True).stdout)
    said = [(e["scheme"], e["form"], e["capacity"], e["beyond"], *(e["parameters"].get(k) for k in ("rows", "dim", "offset"))) for e in r["encodings"]]
    ok = said == [("learned", "table", 512, "error", 512, 384, 0)] and r["length"]["capacity"] == 512 and not r["findings"]
    print(f"{os.path.basename(path)}: {'ok' if ok else 'FAIL'}: inspect says {said}")
    return not ok


def converter():
    """llama.cpp's converter, where the set-up of GGUF_VOCAB_DIR left its sources."""
    vocabularies = os.environ.get("GGUF_VOCAB_DIR", "")
    return os.path.join(os.path.dirname(vocabularies), "llama-src", "llama.cpp", "convert_hf_to_gguf.py")


def gguf(tool, folder, texts, longer):
    """Converts the model, extends the file by each method and compares the engine's outputs."""
    model = os.path.join(folder, "minilm.gguf")
    if not os.path.exists(model):
        subprocess.run([sys.executable, converter(), os.environ["MINILM_DIR"], "--outfile", model, "--outtype", "f32"], check=True, capture_output=True)
    failed = claims(tool, model)
    want = served(model, texts, 512)
    for method in METHODS:
        target = os.path.join(folder, f"minilm-{method}.gguf")
        subprocess.run([tool, "extend", "--len", "2048", "--method", method, model, "-o", target, "--force"], check=True, capture_output=True)
        got = served(target, texts + longer, 2048)
        worst = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(got, want))
        ok = (worst <= 1e-5 or method not in KEEPING) and all(np.isfinite(g).all() for g in got)
        failed += not ok
        print(f"{os.path.basename(target)}: {'ok' if ok else 'FAIL'}: up to 512 tokens within {worst:.1e} of the original, longer ones run")
    return failed


def documents(tokenizer):
    """Package documentation of Go's standard library: name, token ids, a sentence beyond token 512."""
    root = os.path.join(subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True).stdout.strip(), "src")
    out = []
    for folder, _, files in sorted(os.walk(root)):
        if "doc.go" not in files or "vendor" in folder or "internal" in folder or "testdata" in folder:
            continue
        text = open(os.path.join(folder, "doc.go"), encoding="utf-8").read()
        text = " ".join(re.sub(r"^//", "", line) for line in text.splitlines() if line.startswith("//") or not line.startswith("package"))
        text = re.sub(r"\s+", " ", text)
        ids = tokenizer(text, truncation=True, max_length=2000)["input_ids"]
        if len(ids) < 620:
            continue
        tail = tokenizer.decode(ids[520:])
        sentences = [s for s in re.split(r"(?<=[.])\s", tail) if 60 < len(s) < 240]
        if sentences:
            out.append((os.path.relpath(folder, root), ids, sentences[len(sentences) // 2]))
    return out


def main():
    tool, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    failed = 0
    random = np.random.RandomState(5)
    texts = [list(random.randint(1000, 20000, n)) for n in (7, 128, 512)]
    longer = [list(random.randint(1000, 20000, n)) for n in (600, 1300, 2000)]
    sessions = {}
    for path in export(folder):
        original = session(path)
        failed += claims(tool, path)
        for method in METHODS:
            target = path.replace(".onnx", f"-{method}.onnx")
            done = subprocess.run([tool, "extend", "--len", "2048", "--method", method, path, "-o", target, "--force"], capture_output=True, text=True)
            if done.returncode:
                print(f"{os.path.basename(target)}: FAIL: {done.stderr.strip()}")
                failed += 1
                continue
            s = session(target)
            same = all(np.array_equal(run(original, t), run(s, t)) for t in texts)
            runs = all(np.isfinite(run(s, t)).all() for t in longer)
            ok = runs and (same or method not in KEEPING)
            failed += not ok
            print(f"{os.path.basename(target)}: {'ok' if ok else 'FAIL'}: up to 512 tokens {'bitwise the original' if same else 'other numbers'}, longer ones {'run' if runs else 'do not run'}")
            sessions.setdefault(method, s)
        sessions.setdefault("cut at 512", original)
    if os.path.exists(converter()) and os.environ.get("LLAMA_SERVER"):
        failed += gguf(tool, folder, texts, longer)
    else:
        print("skipped by name: the GGUF file (no llama.cpp sources beside GGUF_VOCAB_DIR, or no LLAMA_SERVER)")
    tokenizer = T.AutoTokenizer.from_pretrained(os.environ["MINILM_DIR"])
    docs = documents(tokenizer)
    queries = [tokenizer(q, truncation=True, max_length=200)["input_ids"] for _, _, q in docs]
    print(f"retrieval: {len(docs)} packages, one sentence each from beyond token 512")
    for method in ("cut at 512",) + METHODS:
        s = sessions[method]
        table = np.stack([embed(s, ids[:512] if method == "cut at 512" else ids) for _, ids, _ in docs])
        ranks = [int((table @ embed(s, q) > (table @ embed(s, q))[i]).sum()) + 1 for i, q in enumerate(queries)]
        print(f"  {method:12s} found first {sum(r == 1 for r in ranks)}/{len(docs)}, mean reciprocal rank {np.mean([1 / r for r in ranks]):.3f}")
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
