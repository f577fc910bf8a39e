#!/usr/bin/env python3
"""Exports every architecture of the installed transformers that a general recipe can make small, by one of PyTorch's two exporters.

usage: export_zoo.py FOLDER [--only WORD]… [--both] [--part I/N]

Writes FOLDER/NAME-ts.onnx or NAME-dy.onnx (by a hash of the name; --both: the two), and beside each NAME.json what the modules say of
positions: tables and lists of frequencies by their names and shapes. Weights are seeded noise, those of positions too, so that sinusoids
that a library stores as parameters are noise as well. Composite models, those of more than 20 million parameters and those that the
recipe does not fit are left out, each with its reason. Needs torch, onnxscript and transformers; some two hundred files in ten minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers as T

LENGTH, SECONDS, MOST = 12, 60, 20e6
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embed_dim", "dim", "hidden_dim", "emb_dim", "embedding_size", "project_dim", "word_embed_proj_dim",
                     "moe_intermediate_size", "shared_expert_intermediate_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers",
                     "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads", "num_experts",
                     "num_local_experts", "n_routed_experts", "type_vocab_size", "num_feat_extract_layers"), 2),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "num_experts_per_tok", "moe_topk", "first_k_dense_replace", "n_group", "topk_group"), 1),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "n_inner", "ffn_hidden_size", "d_inner", "mlp_dim"), 64),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions", "max_target_positions", "max_seq_len",
                     "max_2d_position_embeddings"), 48),
    **dict.fromkeys(("head_dim", "d_head", "d_kv", "kv_lora_rank", "q_lora_rank", "bottleneck_size", "num_mel_bins"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "rotary_dim", "patch_size", "sliding_window", "num_conv_pos_embeddings"), 8),
    "vocab_size": 99, "image_size": 32, "use_cache": False, "axial_pos_embds": False, "num_conv_pos_embedding_groups": 2,
    "conv_dim": [16, 16], "conv_stride": [5, 2], "conv_kernel": [10, 3], "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
NAMED = re.compile(r"pos_emb|position_emb|pos_embed|absolute_pos|rel_pos|relative_position|pos_bias")


class Plain(torch.nn.Module):
    """A model over positional inputs, with its first output alone."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        out = self.model(**dict(zip(self.names, values)), return_dict=True)
        return out[0] if getattr(out, "last_hidden_state", None) is None else out.last_hidden_state


def small(kind: str) -> tuple[Any, Any]:
    """The configuration and the model of an architecture; the error is that of the last try."""
    made = T.CONFIG_MAPPING[kind]
    known = made().to_dict()
    fitting = {k: v for k, v in SMALL.items() if k in known and isinstance(known[k], list) == isinstance(v, list)}
    error: Exception = ValueError("nothing to try")
    for left_out in ((), ("head_dim",), ("pad_token_id",), ("conv_dim", "conv_stride", "conv_kernel"), ("head_dim", "rotary_dim")):
        try:
            config = made(**{k: v for k, v in fitting.items() if k not in left_out})
            with torch.device("meta"):
                count = sum(p.numel() for p in T.AutoModel.from_config(config, attn_implementation="eager").parameters())
            if count > MOST:
                raise SystemExit(f"{count / 1e6:.0f} million parameters")
            return config, T.AutoModel.from_config(config, attn_implementation="eager").eval()
        except Exception as e:  # each try is another shape of the same architecture
            error = e
    raise error


def inputs(config: Any, model: Any) -> tuple[dict[str, torch.Tensor], dict[str, dict[int, str]]]:
    """Example inputs, and the names of their free axes."""
    takes, main = inspect.signature(model.forward).parameters, model.main_input_name
    free = {0: "batch", 1: "seq"}
    decoder = {"decoder_input_ids": torch.randint(3, 90, (2, 6))} if "decoder_input_ids" in takes else {}
    given: dict[str, torch.Tensor]
    if main == "input_ids":
        given = {"input_ids": torch.randint(3, 90, (2, LENGTH))}
        if "attention_mask" in takes:
            given["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.int64)
        if "bbox" in takes:
            given["bbox"] = torch.randint(0, 40, (2, LENGTH, 1)).repeat(1, 1, 4)
        axes = dict.fromkeys(given, free)
    elif main == "pixel_values":
        side = getattr(config, "image_size", 32)
        given = {main: torch.randn(2, getattr(config, "num_channels", 3), *([side if isinstance(side, int) else 32] * 2))}
        axes = {main: {0: "batch"}}
    elif main == "input_values":
        given, axes = {main: torch.randn(2, 2000)}, {main: free}
    elif main == "input_features":
        bins = getattr(config, "num_mel_bins", 16)
        whole = "max_source_positions" in config.to_dict()  # Whisper's encoder takes one length, its bins first
        given, axes = {main: torch.randn(2, bins, 96) if whole else torch.randn(2, 40, bins)}, {main: {0: "batch"} if whole else free}
    else:
        raise ValueError(f"its main input is {main}")
    return given | decoder, axes | {k: {0: "batch", 1: "target"} for k in decoder}


def said(model: Any) -> list[str]:
    """What modules, parameters and buffers are called that belong to positions, with their shapes."""
    out = []
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Embedding) and re.search(r"pos|wpe|rel|bias", name):
            out.append(f"{name} {tuple(module.weight.shape)}")
    out += [f"{name} {tuple(p.shape)}" for name, p in model.named_parameters() if NAMED.search(name) and not name.endswith(".weight")]
    out += [f"{name} {tuple(b.shape)}" for name, b in model.named_buffers() if re.search(r"inv_freq|pos|sin|cos|slope|rotary", name) and "position_ids" not in name]
    return out


def export(kind: str, exporter: str, folder: Path) -> None:
    torch.manual_seed(0)
    config, model = small(kind)
    for name, parameter in model.named_parameters():
        if re.search(r"pos|rel|bias_table", name):
            torch.nn.init.normal_(parameter, 0, 0.5)
    given, axes = inputs(config, model)
    plain, values, path = Plain(model, list(given)).eval(), tuple(given.values()), folder / f"{kind}-{exporter}.onnx"
    with torch.no_grad():
        plain(*values)
        if exporter == "dy":
            shapes = (tuple(dict.fromkeys(axes[n], torch.export.Dim.AUTO) for n in given),)
            torch.onnx.export(plain, values, path, input_names=list(given), output_names=["out"], dynamic_shapes=shapes, dynamo=True, opset_version=18,
                              verbose=False, external_data=False)
        else:
            torch.onnx.export(plain, values, path, input_names=list(given), output_names=["out"], dynamic_axes=axes, dynamo=False, opset_version=17)
    path.with_suffix(".json").write_text(json.dumps(said(model), indent=1) + "\n")


def main() -> None:
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--both", action="store_true")
    options.add_argument("--part", default="1/1")
    o = options.parse_args()
    o.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    part, parts = map(int, o.part.split("/"))
    kinds = [k for k in sorted(T.models.auto.modeling_auto.MODEL_MAPPING_NAMES) if not o.only or any(w in k for w in o.only)]
    for kind in kinds[part - 1 :: parts]:
        by_name = "ts" if hashlib.md5(kind.encode()).digest()[0] % 2 else "dy"
        for exporter in ("ts", "dy") if o.both else (by_name,):
            sys.stdout.flush()
            child = os.fork()  # an exporter may end the process, or never
            if child:
                os.waitpid(child, 0)
                continue
            signal.alarm(SECONDS)
            try:
                export(kind, exporter, o.folder)
                print(f"{kind} {exporter}: exported", flush=True)
            except BaseException as e:
                print(f"{kind} {exporter}: left out: {type(e).__name__}: {str(e).splitlines()[0][:120] if str(e) else ''}", flush=True)
            os._exit(0)


if __name__ == "__main__":
    main()
