#!/usr/bin/env python3
"""Two small decoders trained on text of this machine: one with RoPE (Llama), one with a learned table (GPT-2).

usage: train_decoders.py FOLDER [--steps N] [--threads N]      (needs torch, transformers, tokenizers, and Go)

Both have 3 layers of 128, 4 heads, a vocabulary of 1,024 pieces made from the same text, and see 128 tokens at a time. FOLDER
gets rope.onnx, learned.onnx (free batch and length) and held.npy: 512 tokens of each of 96 documents that neither model saw;
far.npy are 2,048 tokens of those of them that are as long.
Some ten minutes a model on one thread. docs/measured/methods.md says what they are for.
"""
import argparse
import os
import random
import sys
import time
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import tokenizers
import torch
import transformers as T

import study_texts

LENGTH, LONG, FAR, HELD, VOCABULARY, BATCH = 128, 512, 2048, 96, 1024, 8


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


def tokens(folder):
    """Token ids of all documents for training in one row, and the held-out matrices."""
    paths = [os.path.join(folder, n) for n in ("train.npy", "held.npy", "far.npy")]
    if all(map(os.path.exists, paths)):
        return [np.load(p) for p in paths]
    texts = [t for _, _, t in study_texts.documents()]
    random.Random(2).shuffle(texts)
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<s>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    held, far, train = [], [], []
    for text in texts:
        ids = pieces.encode(text).ids
        if len(held) < HELD and len(ids) >= LONG:
            held.append(ids[:LONG])
            if len(ids) >= FAR:
                far.append(ids[:FAR])
        else:
            train += [0] + ids
    out = np.array(train, np.int64), np.array(held, np.int64), np.array(far, np.int64)
    for p, a in zip(paths, out):
        np.save(p, a)
    return out


def models():
    common = dict(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, tie_word_embeddings=True)
    yield "rope", T.LlamaForCausalLM(T.LlamaConfig(hidden_size=128, intermediate_size=344, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=LENGTH, attn_implementation="eager", **common))
    yield "learned", T.GPT2LMHeadModel(T.GPT2Config(n_embd=128, n_layer=3, n_head=4, n_positions=LENGTH, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager", **common))


def train(name, model, ids, steps):
    model.train()
    best = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
    rate = torch.optim.lr_scheduler.OneCycleLR(best, 3e-3, steps, pct_start=0.1)
    chance, begun, mean = np.random.RandomState(3), time.time(), 0.0
    for step in range(steps):
        at = chance.randint(0, len(ids) - LENGTH, BATCH)
        batch = torch.from_numpy(np.stack([ids[i:i + LENGTH] for i in at]))
        loss = model(input_ids=batch, labels=batch, use_cache=False).loss
        best.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        best.step()
        rate.step()
        mean += (float(loss.detach()) - mean) * max(0.02, 1 / (step + 1))
        if step % 100 == 99:
            print(f"{name}: step {step + 1} of {steps}, loss {mean:.3f}, {time.time() - begun:.0f} s", flush=True)


def export(model, path):
    model.eval()
    shapes = ({0: torch.export.Dim("batch", min=1, max=256), 1: torch.export.Dim("seq", min=2, max=1 << 15)},)
    with torch.no_grad():
        torch.onnx.export(Plain(model), (torch.randint(0, VOCABULARY, (2, 17)),), path, input_names=["input_ids"], output_names=["logits"], dynamic_shapes=shapes,
                          dynamo=True, opset_version=18, verbose=False, external_data=False)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--threads", type=int, default=1)
    o = options.parse_args()
    torch.set_num_threads(o.threads)
    os.makedirs(o.folder, exist_ok=True)
    ids, held, far = tokens(o.folder)
    print(f"{len(ids)} tokens for training, {len(held)} documents of {LONG} held out, {len(far)} of {FAR}", flush=True)
    for name, model in models():
        path = os.path.join(o.folder, name + ".onnx")
        if os.path.exists(path):
            continue
        torch.manual_seed(4)
        model.apply(model._init_weights)
        train(name, model, ids, o.steps)
        export(model, path)
        print(f"{path}: {os.path.getsize(path)} bytes", flush=True)


main()
