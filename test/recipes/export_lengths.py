"""Exports tiny models of fixed lengths: what `diff` has to tell of two fresh exports is their length.

    export_lengths.py FOLDER

It made testdata/onnx/lengths: BERT by the exporter of TorchScript and Llama by that of torch.export, each for 17
and 23 tokens, from one seed (torch 2.15, transformers 5.23); stack traces are dropped.
"""

import os
import sys
import warnings

import onnx
import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

warnings.filterwarnings("ignore")


class First(torch.nn.Module):
    """The first output of a model alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids)[0]


def drop_traces(path):
    """Takes out what exporters note of the source: names of this machine's files among it."""
    model = onnx.load(path)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    onnx.save(model, path)


def bert():
    return BertModel(BertConfig(vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                                max_position_embeddings=64, attn_implementation="eager"))


def llama():
    return LlamaForCausalLM(LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                                        max_position_embeddings=64, attn_implementation="eager", use_cache=False))


def main(folder):
    for name, make, dynamo in (("bert", bert, False), ("llama", llama, True)):
        torch.manual_seed(0)
        model = First(make()).eval()
        for length in (17, 23):
            path = os.path.join(folder, f"{name}-{length}.onnx")
            torch.onnx.export(model, (torch.zeros(1, length, dtype=torch.long),), path, dynamo=dynamo,
                              opset_version=18 if dynamo else 17, external_data=False, input_names=["input_ids"], output_names=["out"])
            drop_traces(path)


if __name__ == "__main__":
    main(sys.argv[1])
