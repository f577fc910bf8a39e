#!/usr/bin/env python3
"""Models exported for one length, made longer and shorter, against the same model exported with a free length.

usage: fixed_reference.py MODELPATCH      (needs torch, transformers and onnxruntime)

Exporters fold masks, windows, distances, rotations and shapes of a fixed length into constants (facts/ONNX-PATTERNS §2, §4).
Tiny models of which nothing is lost by that are exported for 11 tokens, and cut to 7 or extended to two, three and four times as many,
must give what PyTorch gives there. A refusal fails, too, but where something is lost: then it must be one. BERT goes from 512 to 384
tokens, and Whisper's encoder from 1500 frames to 1000, against the library's model of that length.
"""
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch
import transformers as T

TOLERANCE = 1e-5
LENGTH = 11
SMALL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
DECODER = dict(SMALL, num_key_value_heads=2, head_dim=8, max_position_embeddings=64)
ENCODER = dict(vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64)
MODELS = {
    "llama": ("Llama", DECODER),
    "llama, llama3 scaling": ("Llama", dict(DECODER, rope_parameters=dict(rope_type="llama3", rope_theta=1e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    "gemma2, windows of 8": ("Gemma2", dict(DECODER, sliding_window=8)),
    "mistral, window of 6": ("Mistral", dict(DECODER, sliding_window=6)),
    "modernbert": ("ModernBert", dict(SMALL, max_position_embeddings=64, local_attention=8, global_attn_every_n_layers=2, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)),
    "deberta-v2": ("DebertaV2", dict(SMALL, relative_attention=True, position_buckets=8, max_relative_positions=32, max_position_embeddings=32, pos_att_type="p2c|c2p", position_biased_input=False)),
    "deberta-v2, 64 buckets": ("DebertaV2", dict(SMALL, relative_attention=True, position_buckets=64, max_relative_positions=256, max_position_embeddings=256, pos_att_type="p2c|c2p", position_biased_input=False)),
    "deepseek-v3": ("DeepseekV3", dict(SMALL, num_key_value_heads=4, max_position_embeddings=64, q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, first_k_dense_replace=2)),
    "m2m100 encoder": ("M2M100", ENCODER),
    "marian encoder": ("Marian", dict(ENCODER, pad_token_id=0, decoder_start_token_id=0)),
    "mpt": ("Mpt", dict(vocab_size=64, d_model=32, n_layers=2, n_heads=4, max_seq_len=64)),
    "bloom": ("Bloom", dict(vocab_size=64, hidden_size=32, n_layer=2, n_head=4)),
    "gpt2": ("GPT2", dict(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    "t5 encoder": ("T5", dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=16)),
    "mpnet of 100": ("MPNet", dict(SMALL, max_position_embeddings=514), 100),
    "lfm2": ("Lfm2", dict(SMALL, num_key_value_heads=2, max_position_embeddings=64, layer_types=["conv", "full_attention"])),
    "roberta": ("Roberta", dict(SMALL, max_position_embeddings=66, pad_token_id=1)),
}
# With their gathers folded, these hold no more than the rows of the fixed length (facts/ONNX-PATTERNS §2).
LOST = {("gpt2", "dy18"), ("bloom", "dy18")}
# With the logarithm folded, nothing says which distances beyond a quarter of the table's rows share a bucket.
REFUSED = {("deberta-v2", "dy18"): 22, ("deberta-v2, 64 buckets", "dy18"): 44, ("deberta-v2, 64 buckets", "ts17"): 44}


# Of buckets that seven tokens do not reach, their largest distance is not told: refused, too.
UNTOLD = {("deberta-v2", "dy18")}


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        import inspect

        more = {"use_cache": False} if "use_cache" in inspect.signature(self.model.forward).parameters else {}
        return self.model(input_ids=input_ids, attention_mask=attention_mask, **more)[0]


def build(name, config):
    torch.manual_seed(11)
    config = getattr(T, name + "Config")(**config)
    config._attn_implementation = "eager"
    model = getattr(T, name + "Model")(config)
    if config.is_encoder_decoder:
        model = model.get_encoder()
    for p in model.parameters():
        if p.dim() > 1 and p.requires_grad:  # a computed table (Marian's sinusoids) asks for none
            torch.nn.init.normal_(p, std=0.2)
    return Plain(model).eval()  # the outer one, too: the exporter puts back the mode it found, for all below


def export(model, kind, path, length=LENGTH):
    inputs = (torch.randint(3, 64, (1, length)), torch.ones(1, length, dtype=torch.long))
    names = dict(input_names=["input_ids", "attention_mask"], output_names=["out"])
    if kind == "dy18":
        torch.onnx.export(model, inputs, path, opset_version=18, dynamo=True, external_data=False, verbose=False, **names)
    else:
        torch.onnx.export(model, inputs, path, opset_version=17, dynamo=False, **names)


def tried(modelpatch, title, model, path, length, *flags):
    """How far a model of another length is off, or None where it was refused."""
    other = path + f"-{length}.onnx"
    made = subprocess.run([modelpatch, "extend", "--len", str(length), *flags, path, "-o", other], capture_output=True, text=True)
    if made.returncode:
        print(f"{title}: FAILED at {length}: {made.stderr.strip()[:300]}")
        return None
    session = onnxruntime.InferenceSession(other, providers=["CPUExecutionProvider"])
    feeds = {}
    for i in session.get_inputs():
        if i.type == "tensor(float)":
            feeds[i.name] = torch.randn(*i.shape, generator=torch.Generator().manual_seed(3)).numpy()
        elif i.name == "input_ids":
            feeds[i.name] = torch.randint(3, 64, (1, length), generator=torch.Generator().manual_seed(3)).numpy()
        else:
            feeds[i.name] = np.ones((1, length), np.int64)
    with torch.no_grad():
        want = model(*(torch.from_numpy(x) for x in feeds.values()), *([torch.ones(1, length, dtype=torch.long)] if list(feeds) == ["input_ids"] else [])).numpy()
    got = session.run(None, feeds)[0]
    off = float(np.abs(got - want).max() / np.abs(want).max()) if got.shape == want.shape else float("inf")
    print(f"{title}: {'ok' if off <= TOLERANCE else 'FAILED'}: at {length} positions differs by {off:.1e} of its scale")
    return off


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, features):
        return self.model(features)[0]


def whisper(frames, weights=None):
    config = T.WhisperConfig(vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=16, max_source_positions=frames, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    config._attn_implementation = "eager"
    torch.manual_seed(5)
    model = T.models.whisper.modeling_whisper.WhisperEncoder(config)
    for name, p in model.named_parameters():
        if p.dim() > 1 and "embed_positions" not in name:
            torch.nn.init.normal_(p, std=0.2)
    if weights:
        model.load_state_dict({k: v for k, v in weights.model.state_dict().items() if "embed_positions" not in k}, strict=False)
    return Encoder(model).eval()


def shorter(modelpatch):
    """BERT and Whisper's encoder at usual sizes, cut."""
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["ts17", "dy18"]:
            path = os.path.join(folder, kind + ".onnx")
            model = build("Bert", dict(SMALL, max_position_embeddings=512))
            export(model, kind, path, 512)
            worst.append(tried(modelpatch, f"bert of 512-{kind}", model, path, 384, "--shorter"))
            path = os.path.join(folder, "whisper-" + kind + ".onnx")
            more = dict(opset_version=18, dynamo=True, external_data=False, verbose=False) if kind == "dy18" else dict(opset_version=17, dynamo=False)
            long = whisper(1500)
            torch.onnx.export(long, (torch.randn(1, 16, 3000),), path, input_names=["features"], output_names=["out"], **more)
            worst.append(tried(modelpatch, f"whisper's encoder-{kind}", whisper(1000, long), path, 1000, "--shorter"))
    return worst


def main():
    modelpatch = sys.argv[1]
    cut = shorter(modelpatch)
    failed, compared = sum(off is None or off > TOLERANCE for off in cut), len(cut)
    for title, (name, config, *rest) in MODELS.items():
        short = rest[0] if rest else LENGTH
        for kind in ["ts17", "dy18"]:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "fixed.onnx")
                model = build(name, config)
                try:
                    export(model, kind, path, short)
                except Exception as e:
                    print(f"{title}-{kind}: skipped: the exporter cannot: {str(e).splitlines()[0][:90]}")
                    continue
                if (title, kind) not in UNTOLD:
                    off = tried(modelpatch, f"{title}-{kind}", model, path, 2 * short // 3, "--shorter")
                    compared += 1
                    failed += off is None or not off <= TOLERANCE
                for times in [] if (title, kind) in LOST else [2, 3, 4]:
                    length, longer = times * short, os.path.join(folder, f"{times}.onnx")
                    made = subprocess.run([modelpatch, "extend", "--len", str(length), path, "-o", longer], capture_output=True, text=True)
                    if length >= REFUSED.get((title, kind), length + 1):
                        right = made.returncode == 4 and any(why in made.stderr for why in ("share a bucket", "do not broadcast", "does not say which column"))
                        failed += not right
                        print(f"{title}-{kind}: {'ok' if right else 'FAILED'}: at {length} tokens refused")
                        break
                    if made.returncode:
                        failed += 1
                        print(f"{title}-{kind}: FAILED at {length}: {made.stderr.strip()[:300]}")
                        break
                    ids = torch.randint(3, 64, (1, length), generator=torch.Generator().manual_seed(3))
                    mask = torch.ones_like(ids)
                    with torch.no_grad():
                        want = model(ids, mask).numpy()
                    session = onnxruntime.InferenceSession(longer, providers=["CPUExecutionProvider"])
                    feeds = {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}
                    got = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})[0]
                    off = float(np.abs(got - want).max() / np.abs(want).max())
                    compared += 1
                    if not off <= TOLERANCE:
                        failed += 1
                    print(f"{title}-{kind}: {'ok' if off <= TOLERANCE else 'FAILED'}: at {length} tokens differs by {off:.1e} of its scale")
    print(f"{compared} compared, {failed} failed")
    return 1 if failed or compared < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
