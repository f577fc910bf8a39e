#!/usr/bin/env python3
"""Makes schemes/testdata/window.json: bias tables of image windows, resized by timm's and PyTorch's own functions.

usage: window_golden.py TIMM OUT.json     (needs torch; TIMM is the folder "timm/layers" of the package timm, of which two files are read)

Each case has a seeded table of a window (a row for each row and column of distance, then a class token's three), and
what becomes of it: "bilinear" by torch.nn.functional.interpolate as transformers' BeitRelativePositionBias calls it,
"bicubic" by timm's resize_rel_pos_bias_table_simple, "geometric" by timm's resize_rel_pos_bias_table.
"""
import importlib.util
import json
import sys
import types

import torch

CASES = [((4, 4), (6, 6), False), ((4, 4), (7, 7), True), ((7, 7), (4, 4), True), ((3, 3), (12, 12), False), ((5, 5), (5, 5), False)]


def timm(folder):
    for name in ("timm", "timm.layers"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [folder]
    for part in ("helpers", "interpolate", "grid", "mlp", "weight_init"):  # what pos_embed_rel imports; only two are called
        try:
            spec = importlib.util.spec_from_file_location(f"timm.layers.{part}", f"{folder}/{part}.py")
            module = importlib.util.module_from_spec(spec)
            sys.modules[f"timm.layers.{part}"] = module
            spec.loader.exec_module(module)
        except (FileNotFoundError, ImportError):
            sys.modules[f"timm.layers.{part}"] = types.SimpleNamespace(Mlp=None, to_2tuple=None, trunc_normal_=None)
    spec = importlib.util.spec_from_file_location("timm.layers.pos_embed_rel", f"{folder}/pos_embed_rel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    rel = timm(sys.argv[1])
    out = []
    for old, new, class_token in CASES:
        torch.manual_seed(sum(old) * 100 + sum(new))
        extra = 3 if class_token else 0
        rows, wanted = (2 * old[0] - 1) * (2 * old[1] - 1), (2 * new[0] - 1) * (2 * new[1] - 1)
        table = torch.randn(rows + extra, 2, dtype=torch.float32)
        grid = table[:rows].reshape(1, 2 * old[0] - 1, 2 * old[1] - 1, 2).permute(0, 3, 1, 2)
        plain = torch.nn.functional.interpolate(grid, size=(2 * new[0] - 1, 2 * new[1] - 1), mode="bilinear").permute(0, 2, 3, 1).reshape(wanted, 2)
        made = dict(bilinear=torch.cat([plain, table[rows:]]),
                    bicubic=rel.resize_rel_pos_bias_table_simple(table, new, (wanted + extra, 2)),
                    geometric=rel.resize_rel_pos_bias_table(table, new, (wanted + extra, 2)))
        numbers = lambda t: [[float(f"{x:.7g}") for x in row] for row in t.tolist()]
        out.append({"from": old, "to": new, "table": numbers(table), **{k: numbers(v) for k, v in made.items()}})
    with open(sys.argv[2], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]\n")


main()
