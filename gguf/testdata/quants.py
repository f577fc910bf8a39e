"""Writes quants.json: blocks of every storage type and the float32 values that others read from them.

usage: LLAMA_LIB_DIR=DIR python quants.py > quants.json

gguf-py 0.19.0 (and numpy) reads and writes what it knows; what it does not, the ggml library of llama.cpp v0.4.0 reads.
Blocks are random bytes with finite scales. `raw` and `values` are base64, values little-endian float32. With `source`, raw
is what the other implementation makes of these values. Q8_1 is read by nobody: its values are those it was made from.
"""
import base64
import ctypes
import json
import os
import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, quants

SIZES = {t.name: (int(t), *size) for t, size in GGML_QUANT_SIZES.items()} | {"Q1_0": (41, 128, 18), "Q2_0": (42, 64, 18)}  # number, values, bytes
ggml = ctypes.CDLL(os.path.join(os.environ["LLAMA_LIB_DIR"], "libggml-base.so"))
random, out = np.random.RandomState(3), []
b64 = lambda a: base64.b64encode(a.tobytes()).decode()

# Where the half-float scales of a block stand; types without any are listed with none.
SCALES = {"Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q4_1": [0, 2], "Q5_1": [0, 2],
          "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [], "IQ1_M": [], "Q8_K": []}


def blocks(name, n):
    raw = random.randint(0, 256, size=(n, SIZES[name][2]), dtype=np.uint8)
    for at in SCALES.get(name, [0]):
        raw[:, at:at + 2] = (random.standard_normal(n) * 0.1).astype(np.float16).view(np.uint8).reshape(n, 2)
    if name == "IQ1_M":  # four nibbles of a half-float: clear the top exponent bit
        raw[:, 55] &= 0xBF
    if name == "Q8_K":
        raw[:, :4] = random.standard_normal(n).astype(np.float32).view(np.uint8).reshape(n, 4)
    return raw


def add(name, raw, values, **more):
    out.append({"type": SIZES[name][0], "raw": b64(raw), "values": b64(values.astype("<f4")), **more})


for name in ["F16", "BF16"]:
    values = (random.standard_normal((1, 64)) * 3).astype(np.float32)
    raw = quants.quantize(values, T[name])
    add(name, raw, quants.dequantize(raw.view(np.uint8), T[name]), source=b64(values))
for name in ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS",
             "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"]:
    block = SIZES[name][1]
    raw = blocks(name, max(3, 128 // block))
    add(name, raw, quants.dequantize(raw, T[name]))
for name in ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]:
    values = (random.standard_normal((8, 32)) * 3).astype(np.float32)
    values[1] = 0
    values[2] = 1.25
    values[3] *= 1e-6
    values[4, 5], values[4, 6] = 7.5, -7.5  # equally large, the first counts
    raw = quants.quantize(values, T[name])
    add(name, raw, quants.dequantize(raw, T[name]), source=b64(values))
for name in ["Q8_K", "Q1_0", "Q2_0"]:
    raw = blocks(name, 3)
    values = np.zeros(3 * SIZES[name][1], dtype=np.float32)
    read = getattr(ggml, "dequantize_row_" + name.replace("Q8_K", "q8_K").replace("Q1", "q1").replace("Q2", "q2"))
    read(ctypes.c_void_p(raw.ctypes.data), ctypes.c_void_p(values.ctypes.data), ctypes.c_int64(len(values)))
    add(name, raw, values)
values, raw = random.standard_normal(128).astype(np.float32), np.zeros((4, 36), dtype=np.uint8)
ggml.quantize_row_q8_1_ref(ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(raw.ctypes.data), ctypes.c_int64(128))
add("Q8_1", raw, values)
print(json.dumps(out))
