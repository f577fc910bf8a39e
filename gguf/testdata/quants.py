"""Writes quants.json: raw blocks of quantised types and the values that gguf-py 0.19.0 reads from them.

usage: python quants.py > quants.json   (needs the packages gguf and numpy)
"""
import base64, json
import numpy as np
from gguf import GGMLQuantizationType as T, quants
random, out = np.random.RandomState(3), []
for name in ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]:
    t = T[name]
    block, size = (1, 2) if name in ("F16", "BF16") else quants._type_traits[t].block_size and (quants._type_traits[t].block_size, quants._type_traits[t].type_size)
    n = 512 // block if block > 1 else 64
    raw = random.randint(0, 256, size=(1, n * size), dtype=np.uint8)
    if block > 1:  # scales that are finite
        b = raw.reshape(n, size)
        spots = {"Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q4_1": [0, 2], "Q5_1": [0, 2]}.get(name, [0])
        for s in spots:
            b[:, s:s + 2] = (random.standard_normal(n) * 0.1).astype(np.float16).view(np.uint8).reshape(n, 2)
    else:
        raw = (random.standard_normal((1, n)) * 3).astype(np.float32)
        raw = (raw.astype(np.float16).view(np.uint8) if name == "F16" else quants.quantize(raw, t).view(np.uint8))
    values = quants.dequantize(raw, t) if name != "F16" else raw.view(np.float16).astype(np.float32)
    out.append({"type": int(t), "raw": base64.b64encode(raw.tobytes()).decode(), "values": [float(v) for v in values.ravel()]})
print(json.dumps(out))
