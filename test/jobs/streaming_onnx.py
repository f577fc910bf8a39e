# tomaarsen/attention_sinks #17
"""A window of attention with four sinks in one pass over a long text, in ONNX."""
import torch

from lab import SMALL, One, prompts

WINDOW, SINKS = 256, 4


def job(lab):
    model = lab.model("LlamaForCausalLM", "LlamaConfig", **SMALL, max_position_embeddings=2048, rope_parameters=dict(rope_type="default", rope_theta=10000.0), use_cache=False)
    source = lab.onnx(One(model), (torch.tensor(prompts(11)),), ["input_ids"], {"input_ids": {1: "sequence"}}, dynamo=True)
    changed = lab.change(source, "window", "--len", str(WINDOW), "--sinks", str(SINKS))
    text = torch.tensor(prompts(1500))
    q, k = torch.arange(1500)[:, None], torch.arange(1500)[None]
    sees = (k <= q) & ((q - k < WINDOW) | (k < SINKS))
    mask = torch.where(sees, 0.0, torch.finfo(torch.float32).min)[None, None]
    lab.compare("1,500 tokens", lab.run(changed, input_ids=text.numpy()), lab.outputs(lambda t: model(t, attention_mask=mask).logits, text), lab.run(source, input_ids=text.numpy()))
