#!/usr/bin/env python3
"""What the methods for more positions are worth, measured: docs/measured/methods.md.

usage: methods_study.py encoder MODELPATCH WORK_FOLDER [--questions N]     all-MiniLM-L6-v2 (needs MINILM_DIR)
       methods_study.py decoder MODELPATCH FOLDER_OF_TRAIN_DECODERS        the models of test/recipes/train_decoders.py
       methods_study.py far     MODELPATCH FOLDER_OF_TRAIN_DECODERS        the same at sixteen times the trained length
       methods_study.py draw    FOLDER DOCS_FOLDER                         pictures of what decoder measured

encoder: documents of three kinds (test/recipes/study_texts.py), cut to between 600 and 2,000 tokens, and of each a sentence from
beyond token 512 and one from before; every model that modelpatch writes has to find the document of each sentence among all of
them, by mean-pooled outputs and by the first token's. decoder: log-probabilities of held-out documents by position. Both run what
modelpatch wrote in ONNX Runtime on one thread, and leave their numbers as JSON beside the models.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes"))
import numpy as np
import onnxruntime

CUT = "cut at 512"
ENCODER = {m: ["--method", m] for m in ("hierarchical", "tile", "repeat-last", "zero", "grouped", "interpolate", "stretch")}
ENCODER["hierarchical, anchor first"] = ["--method", "hierarchical", "--anchor", "first"]
TRAINED, LONG, FAR = 128, 512, 2048


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def written(tool, verb, source, target):
    done = subprocess.run([tool, verb[0], *verb[1:], source, "-o", target, "--force"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(verb)}: {done.stderr.strip()}")
    return target


def questions(tokenizer, most):
    """(kind, name, tokens, sentence from beyond 512, sentence from before)."""
    import study_texts
    chance, out = random.Random(7), []
    found = study_texts.documents(500)
    chance.shuffle(found)
    for kind in ("Go", "Python", "Debian"):
        for _, name, text in [d for d in found if d[0] == kind]:
            if sum(q[0] == kind for q in out) >= (most + 2) // 3:
                break
            ids = tokenizer(text[:30000])["input_ids"]
            if len(ids) < 640:
                continue
            ids = ids[:min(len(ids), chance.randint(600, 2000)) - 1] + [ids[-1]]
            if len(ids) < 600:
                continue
            pick = []
            for part in (ids[520:-1], ids[60:500]):
                sentences = [s for s in re.split(r"(?<=[.])\s", tokenizer.decode(part))[1:-1] if 60 < len(s) < 240 and sum(c.isalpha() for c in s) > 0.7 * len(s)]
                pick.append(sentences[len(sentences) // 2] if sentences else None)
            if all(pick):
                out.append((kind, name, ids, *pick))
    return out


def vectors(s, ids):
    row = np.asarray([ids], np.int64)
    v = s.run(None, {"input_ids": row, "attention_mask": np.ones_like(row)})[0][0]
    pooled = np.stack([v.mean(0), v[0]])
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def encoder(o):
    import torch
    import transformers as T

    class Plain(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask)[0]

    torch.set_num_threads(1)
    os.makedirs(o.folder, exist_ok=True)
    source = os.path.join(o.folder, "minilm.onnx")
    if not os.path.exists(source):
        ids = torch.randint(1000, 5000, (2, 11))
        names = ["input_ids", "attention_mask"]
        torch.onnx.export(Plain(T.BertModel.from_pretrained(os.environ["MINILM_DIR"], attn_implementation="eager").eval()), (ids, torch.ones_like(ids)), source,
                          input_names=names, output_names=["out"], dynamic_axes={n: {0: "batch", 1: "seq"} for n in names}, opset_version=17, dynamo=False)
    tokenizer = T.AutoTokenizer.from_pretrained(os.environ["MINILM_DIR"])
    tokenizer.model_max_length = 1 << 30
    asked = questions(tokenizer, o.questions)
    kinds = ("Go", "Python", "Debian")
    print({k: sum(q[0] == k for q in asked) for k in kinds}, "questions; tokens", np.percentile([len(q[2]) for q in asked], [0, 25, 50, 75, 100]), flush=True)
    out = {"questions": [(q[0], q[1], len(q[2])) for q in asked], "ranks": {}}
    for method in (CUT, *ENCODER):
        path = source if method == CUT else written(o.tool, ["extend", "--len", "2048", *ENCODER[method]], source, os.path.join(o.folder, re.sub(r"\W+", "-", method) + ".onnx"))
        s = session(path)
        table = np.stack([vectors(s, ids[:511] + [ids[-1]] if method == CUT else ids) for _, _, ids, _, _ in asked])  # document, pooling, number
        ranks = np.zeros((2, 2, len(asked)), int)  # where the sentence stands, pooling, question
        for where in range(2):
            for i, q in enumerate(asked):
                v = vectors(s, tokenizer(q[3 + where])["input_ids"][:200])
                for pooling in range(2):
                    near = table[:, pooling] @ v[pooling]
                    ranks[where, pooling, i] = 1 + int((near > near[i]).sum())
        out["ranks"][method] = ranks.tolist()
        said = [f"{method:28s}"]
        for where, pooling in ((0, 0), (0, 1), (1, 0), (1, 1)):
            r = ranks[where, pooling]
            said.append(f"{(r == 1).sum():3d} ({np.mean(1 / r):.3f})")
        said += [f"{k} {(ranks[0, 0][[q[0] == k for q in asked]] == 1).sum()}" for k in kinds]
        print("  ".join(said), flush=True)
        with open(os.path.join(o.folder, "encoder.json"), "w") as f:
            json.dump(out, f)


def decoders():
    """(model, name, verb) of everything that is measured."""
    s, trained, long = str(LONG // TRAINED), str(TRAINED), str(LONG)
    yield "rope", "none", None
    for name, words in (("linear", ["--scaling", "linear", "--factor", s]), ("ntk", ["--scaling", "ntk", "--factor", s]),
                        ("dynamic", ["--scaling", "dynamic", "--factor", s, "--original-length", trained, "--len", long]),
                        ("yarn", ["--scaling", "yarn", "--factor", s, "--original-length", trained]),
                        ("yarn, no amplitude", ["--scaling", "yarn", "--factor", s, "--original-length", trained, "--attention-factor", "1"]),
                        ("yarn, not rounded", ["--scaling", "yarn", "--factor", s, "--original-length", trained, "--truncate=false"]),
                        ("llama3", ["--scaling", "llama3", "--factor", s, "--original-length", trained]),
                        ("resonance", ["--scaling", "resonance"]),
                        ("base ×8", ["--base", "80000"])):
        yield "rope", name, ["rope", *words]
    yield from windows()
    for name, words in ENCODER.items():
        yield "learned", name, ["extend", "--len", long, *words]


def windows():
    for sinks in "0", "4":
        yield "rope", f"window verb, {sinks} sinks", ["window", "--len", str(TRAINED), "--sinks", sinks]


def furthest():
    """(model, name, verb) of what is measured at sixteen times the trained length."""
    s = str(FAR // TRAINED)
    yield "rope", "none", None
    yield "rope", "yarn", ["rope", "--scaling", "yarn", "--factor", s, "--original-length", str(TRAINED)]
    yield "rope", "llama3", ["rope", "--scaling", "llama3", "--factor", s, "--original-length", str(TRAINED)]
    yield from windows()


def losses(s, rows):
    """Negative log-probability of each next token, of each row."""
    out = []
    for row in rows:
        logits = s.run(None, {"input_ids": row[None]})[0][0, :-1].astype(np.float64)
        top = logits.max(1, keepdims=True)
        out.append(np.log(np.exp(logits - top).sum(1)) + top[:, 0] - logits[np.arange(len(row) - 1), row[1:]])
    return np.stack(out)


def recomputed(s, texts):
    """As far as a window of the trained length gets: each token has 64 to 127 before it."""
    length, half = texts.shape[1], TRAINED // 2
    out = np.full((len(texts), length - 1), np.nan)
    for first in range(0, length - TRAINED + 1, half):
        part = losses(s, texts[:, first:first + TRAINED])
        keep = 0 if first == 0 else half - 1
        out[:, first + keep:first + TRAINED - 1] = part[:, keep:]
    return out.mean(0).tolist()


def changed(o, model, name, verb, prefix=""):
    """A session of what a verb makes of a model."""
    source = os.path.join(o.folder, model + ".onnx")
    return session(source if verb is None else written(o.tool, verb, source, os.path.join(o.folder, prefix + model + "-" + re.sub(r"\W+", "-", name) + ".onnx")))


def tell(out, ends):
    """Perplexities between the ends, and of all."""
    print("perplexity up to token " + ", ".join(str(end) for end in ends) + ", and of all")
    for name, loss in out.items():
        parts = [np.exp(np.mean(loss[a:b])) for a, b in [*zip([0, *(end - 1 for end in ends)], (end - 1 for end in ends)), (0, len(loss))]]
        print(f"{name:36s}" + "".join(f"{p:10.1f}" for p in parts), flush=True)


def far(o):
    texts = np.load(os.path.join(o.folder, "far.npy"))
    out = {"window": recomputed(session(os.path.join(o.folder, "rope.onnx")), texts)}
    for model, name, verb in furthest():
        out[name] = losses(changed(o, model, name, verb, "far-"), texts).mean(0).tolist()
    tell(out, (TRAINED, 2 * TRAINED, LONG, 2 * LONG, FAR))


def decoder(o):
    held = np.load(os.path.join(o.folder, "held.npy"))
    out = {}
    for model in ("rope", "learned"):
        out[model + ": window"] = recomputed(session(os.path.join(o.folder, model + ".onnx")), held)
    for model, name, verb in decoders():
        out[f"{model}: {name}"] = losses(changed(o, model, name, verb), held).mean(0).tolist()
    with open(os.path.join(o.folder, "decoder.json"), "w") as f:
        json.dump(out, f)
    tell(out, (TRAINED, 2 * TRAINED, LONG))


COLOURS = ("#222222", "#e6b800", "#005f73", "#999999", "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#bcbd22")


def picture(curves, title, target):
    """Lines of perplexity by position, on a logarithmic scale, as SVG."""
    width, height, left, top, right, bottom = 640, 360, 48, 28, 170, 34
    smooth = {n: [float(np.mean(c[i:i + 16])) for i in range(0, len(c) - 15, 16)] for n, c in curves.items()}
    low = min(min(c) for c in smooth.values()) - 0.1
    high = min(max(max(c) for c in smooth.values()), low + 4.2)
    x = lambda i, n: left + (width - left - right) * (i + 0.5) / n
    y = lambda v: top + (height - top - bottom) * (high - min(v, high)) / (high - low)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">', f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="16" font-size="13">{title}</text>']
    for p in (10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 500, 1000, 2000):
        if low < np.log(p) < high:
            out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(np.log(p)):.1f}" y2="{y(np.log(p)):.1f}" stroke="#ddd"/><text x="{left - 6}" y="{y(np.log(p)) + 4:.1f}" text-anchor="end">{p}</text>')
    edge = left + (width - left - right) * TRAINED / LONG
    out.append(f'<line x1="{edge:.1f}" x2="{edge:.1f}" y1="{top}" y2="{height - bottom}" stroke="#888" stroke-dasharray="4 3"/><text x="{edge + 4:.1f}" y="{height - bottom - 6}" fill="#666">trained length</text>')
    for p in range(0, LONG + 1, 128):
        out.append(f'<text x="{left + (width - left - right) * p / LONG:.1f}" y="{height - bottom + 14}" text-anchor="middle">{p}</text>')
    out.append(f'<text x="{left + (width - left - right) / 2}" y="{height - 6}" text-anchor="middle">position</text>')
    ends = sorted((y(c[-1]), n) for n, c in smooth.items())
    at = {}
    for k, (v, n) in enumerate(ends):
        at[n] = max(v + 4, at[ends[k - 1][1]] + 12) if k else v + 4
    over = max(at.values()) - (height - bottom + 4)
    for (n, c), colour in zip(smooth.items(), COLOURS):
        points = " ".join(f"{x(i, len(c)):.1f},{y(v):.1f}" for i, v in enumerate(c))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/><text x="{width - right + 6}" y="{at[n] - max(over, 0):.1f}" fill="{colour}">{n}</text>')
    with open(target, "w") as f:
        f.write("\n".join(out) + "\n</svg>\n")


def draw(o):
    with open(os.path.join(o.tool, "decoder.json")) as f:  # the first argument is the folder here
        measured = json.load(f)
    for model, title in (("rope", f"RoPE trained on {TRAINED} tokens: perplexity by position"), ("learned", f"Learned table of {TRAINED} rows: perplexity by position")):
        picture({n.split(": ", 1)[1]: c for n, c in measured.items() if n.startswith(model + ":")}, title, os.path.join(o.folder, f"methods-{model}.svg"))


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("what", choices=("encoder", "decoder", "far", "draw"))
    options.add_argument("tool")
    options.add_argument("folder")
    options.add_argument("--questions", type=int, default=210)
    o = options.parse_args()
    if o.what != "draw":
        o.tool = os.path.abspath(o.tool)
    {"encoder": encoder, "decoder": decoder, "far": far, "draw": draw}[o.what](o)


main()
