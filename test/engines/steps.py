#!/usr/bin/env python3
"""Decoders that are exported for one token at a time, with the keys and values of those before it as an input: what inspect says of them, and what
extend makes of them, in ONNX Runtime.

usage: steps.py MODELPATCH      (needs torch, transformers, onnxscript and onnxruntime)

Each model of transformers is made small with random weights and exported by both exporters, with a free batch and with one of one. Its scheme and
capacity have to be told; where a table bounds it, the file that extend makes of it gives the same numbers with every past that the original
takes, to the last bit, and runs with more.
"""
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch
import transformers as T
from transformers.models.marian.modeling_marian import MarianDecoder
from transformers.models.t5.modeling_t5 import T5Stack
from transformers.models.whisper.modeling_whisper import WhisperDecoder

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(4)
ROWS, LONGER = 40, 80
ANY = dict(vocab_size=64, attn_implementation="eager", bos_token_id=1, eos_token_id=2, pad_token_id=0)
TWO = dict(d_model=32, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=48, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=48, decoder_start_token_id=1, **ANY)
T5 = T.T5Config(d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, decoder_start_token_id=0, **ANY)
MODELS = {  # name: (model, takes an encoder's states, scheme, capacity)
    "GPT-2": (lambda: T.GPT2Model(T.GPT2Config(n_positions=ROWS, n_embd=32, n_layer=2, n_head=2, **ANY)), False, "learned", ROWS),
    "OPT": (lambda: T.OPTModel(T.OPTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=48, max_position_embeddings=ROWS, word_embed_proj_dim=32, **ANY)), False, "learned", ROWS),
    "Llama": (lambda: T.LlamaModel(T.LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=ROWS, **ANY)), False, "rope", None),
    "BLOOM": (lambda: T.BloomModel(T.BloomConfig(hidden_size=32, n_layer=2, n_head=2, **ANY)), False, "alibi", None),
    "Whisper's decoder": (lambda: WhisperDecoder(T.WhisperConfig(max_target_positions=ROWS, **TWO)), True, "learned", ROWS),
    "Marian's decoder": (lambda: MarianDecoder(T.MarianConfig(max_position_embeddings=ROWS, **TWO)), True, "sinusoidal", ROWS),
    "T5's decoder": (lambda: next(m for m in T.T5Model(T5).children() if isinstance(m, T5Stack) and m.is_decoder), True, "t5-bias", None),
}
KINDS = ("TorchScript", "TorchScript, one sequence", "dynamo")


class Step(torch.nn.Module):
    """One token, with the keys and values of two layers in one tensor."""

    def __init__(self, model, encoded):
        super().__init__()
        self.model, self.encoded = model, encoded

    def forward(self, ids, past, states=None):
        cache = T.DynamicCache()
        for layer in range(2):
            cache.update(past[layer, 0], past[layer, 1], layer)
        if self.encoded:
            return self.model(input_ids=ids, past_key_values=T.EncoderDecoderCache(cache, T.DynamicCache()), encoder_hidden_states=states, use_cache=True)[0]
        return self.model(input_ids=ids, past_key_values=cache, use_cache=True)[0]


def given(past, encoded, seed=0):
    make = torch.Generator().manual_seed(seed)
    out = [torch.full((1, 1), 7), torch.randn(2, 2, 1, 2, past, 16, generator=make)]
    return (*out, torch.randn(1, 9, 32, generator=make)) if encoded else tuple(out)


def export(model, encoded, kind, path):
    names = ["ids", "past", "states"][: 2 + encoded]
    free = {"ids": {}, "past": {4: "past"}, "states": {}}
    if kind == "TorchScript":
        free = {"ids": {0: "batch"}, "past": {2: "batch", 4: "past"}, "states": {0: "batch"}}
    with torch.no_grad():
        if kind == "dynamo":
            shapes = tuple({k: torch.export.Dim.AUTO for k in free[name]} or None for name in names)
            torch.onnx.export(Step(model, encoded), given(6, encoded), dynamo=True, input_names=names, opset_version=18, dynamic_shapes=shapes, verbose=False).save(path)
        else:
            torch.onnx.export(Step(model, encoded), given(6, encoded), path, dynamo=False, input_names=names, opset_version=17, dynamic_axes={n: a for n, a in free.items() if a and n in names})


def run(session, past, encoded):
    return session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), given(past, encoded))})


def check(binary, name, kind, folder):
    """What is wrong with one export; "" for nothing."""
    build, encoded, scheme, capacity = MODELS[name]
    old, new = os.path.join(folder, "old.onnx"), os.path.join(folder, "new.onnx")
    torch.manual_seed(7)
    export(build().eval(), encoded, kind, old)
    said = json.loads(subprocess.run([binary, "inspect", "--json", old], capture_output=True, text=True, check=True).stdout)
    told = [e["scheme"] for e in said["encodings"]]
    if told != [scheme] or said["length"]["capacity"] != capacity:
        return f"{told}, capacity {said['length']['capacity']}: want {scheme}, {capacity}"
    if capacity is None:
        return ""
    p = subprocess.run([binary, "extend", "--len", str(LONGER), old, "-o", new], capture_output=True, text=True)
    if p.returncode:
        return f"exit {p.returncode}: {p.stderr.strip()}"
    before, after = (onnxruntime.InferenceSession(path) for path in (old, new))
    for past in range(1, capacity):
        if not all(np.array_equal(a, b) for a, b in zip(run(before, past, encoded), run(after, past, encoded))):
            return f"other numbers with {past} tokens before"
    run(after, LONGER - 1, encoded)
    return ""


def main():
    failed = 0
    for name in MODELS:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(sys.argv[1], name, kind, folder)
            print(f"{name}, {kind}: {wrong or 'right'}", flush=True)
            failed += bool(wrong)
    return 1 if failed else 0


sys.exit(main())
