#!/usr/bin/env python3
"""Exports small graphs from seven libraries that no other recipe uses (open_clip, fair-esm, torchaudio, speechbrain, torchtune,
ultralytics and the model builder of onnxruntime-genai), with what their code and configurations say of positions, as a manifest
that score-inspect reads.

usage: export_libraries.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs torch, onnxscript, onnxruntime and the libraries named; weights are
seeded noise. The truth was written before any file was inspected.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import torch

from truth import encoding, none, patches, rope, table, unknown

TOKENS = {"input_ids": {0: "batch", 1: "seq"}}
PICTURE = {"pixel_values": {0: "batch"}}
FRAMES = {"input_features": {0: "batch", 1: "seq"}}
WAVE = {"input_values": {0: "batch", 1: "seq"}}


def anything(scheme, **parameters):
    """An encoding of which only the scheme and what is given count."""
    return encoding(scheme, "runtime", None, {"form": ["runtime", "cache", "baked", "table"], "capacity": [None, *range(1, 12000)]}, **parameters)


class Outputs(torch.nn.Module):
    """A module of which one result is wanted."""

    def __init__(self, inner, take=lambda r: r, call=None):
        super().__init__()
        self.inner, self.take, self.call = inner, take, call

    def forward(self, *inputs):
        return self.take((self.call or self.inner)(*inputs))


# --- open_clip (github.com/mlfoundations/open_clip)
def clip(tower, **more):
    import open_clip.model as C
    vision = C.CLIPVisionCfg(layers=2, width=64, head_width=16, patch_size=8, image_size=32, **(more if tower == "image" else {}))
    text = C.CLIPTextCfg(context_length=24, vocab_size=64, width=32, heads=2, layers=2, **(more if tower == "text" else {}))
    m = C.CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text)
    if tower == "image":
        return Outputs(m, call=m.encode_image), (torch.randn(1, 3, 32, 32),), PICTURE
    if tower == "text":
        return Outputs(m, call=m.encode_text), (torch.randint(1, 60, (1, 24)),), {"input_ids": {0: "batch"}}
    return Outputs(m, lambda r: r[:2]), (torch.randn(1, 3, 32, 32), torch.randint(1, 60, (1, 24))), {**PICTURE, "input_ids": {0: "batch"}}


OPEN_CLIP = [
    ("clip-image", lambda: clip("image"), [patches(4, 64, 1)], 16),
    ("clip-image-avg", lambda: clip("image", global_average_pool=True), [patches(4, 64, 1)], 16),
    ("clip-image-sincos", lambda: clip("image", pos_embed_type="sin_cos_2d"), [patches(4, 64, 1)], "open"),
    ("clip-image-dropout", lambda: clip("image", patch_dropout=0.5), [patches(4, 64, 1)], 16),
    ("clip-image-attpool", lambda: clip("image", attentional_pool=True), [patches(4, 64, 1)], 16),
    ("clip-text", lambda: clip("text"), [table(24, 32, accept={"form": ["table", "baked"]})], 24),
    ("clip-text-cls", lambda: clip("text", embed_cls=True), [table(25, 32, accept={"form": ["table", "baked"], "capacity": [24, 25]})], "open"),
    ("clip-both", lambda: clip("both"), [patches(4, 64, 1), table(24, 32, accept={"form": ["table", "baked"]})], "open"),
]


# --- fair-esm (github.com/facebookresearch/esm)
def esm2():
    import esm
    return Outputs(esm.model.esm2.ESM2(num_layers=2, embed_dim=32, attention_heads=2, alphabet="ESM-1b", token_dropout=True), lambda r: r["logits"]), (torch.randint(4, 20, (1, 11)),), TOKENS


def esm1(arch):
    import argparse
    import esm
    alphabet = esm.Alphabet.from_architecture(arch)
    args = argparse.Namespace(arch=arch, layers=2, embed_dim=32, ffn_embed_dim=64, attention_heads=2, max_positions=48, token_dropout=False, emb_layer_norm_before=True, final_bias=True, logit_bias=True, checkpoint_path=None)
    return Outputs(esm.ProteinBertModel(args, alphabet), lambda r: r["logits"]), (torch.randint(4, 20, (1, 11)),), TOKENS


ESM = [
    ("esm2", esm2, [rope(16, 16, "half")], None),
    ("esm1b", lambda: esm1("roberta_large"), [encoding("learned", "table", 48, {"rows": [48, 49, 50], "offset": [2, None]}, rows=50, dim=32)], "open"),
    ("esm1", lambda: esm1("protein_bert_base"), [anything("sinusoidal", dim=32, base=10000)], "open"),
]


# --- torchaudio
def conformer():
    import torchaudio
    m = torchaudio.models.Conformer(input_dim=32, num_heads=2, ffn_dim=64, num_layers=2, depthwise_conv_kernel_size=5)
    return Outputs(m, lambda r: r[0], lambda x: m(x, torch.full((x.shape[0],), x.shape[1]))), (torch.randn(1, 30, 32),), FRAMES


def wav2vec2(kind):
    import torchaudio
    make = dict(wav2vec2=torchaudio.models.wav2vec2_model, wavlm=torchaudio.models.wavlm_model)[kind]
    args = dict(extractor_mode="group_norm", extractor_conv_layer_config=[(16, 10, 5), (16, 3, 2), (16, 2, 2)], extractor_conv_bias=False, encoder_embed_dim=32, encoder_projection_dropout=0.0, encoder_pos_conv_kernel=8, encoder_pos_conv_groups=4,
                encoder_num_layers=2, encoder_num_heads=2, encoder_attention_dropout=0.0, encoder_ff_interm_features=64, encoder_ff_interm_dropout=0.0, encoder_dropout=0.0, encoder_layer_norm_first=False, encoder_layer_drop=0.0, aux_num_out=8)
    if kind == "wavlm":
        args.update(encoder_num_buckets=32, encoder_max_distance=80)
    return Outputs(make(**args), lambda r: r[0]), (torch.randn(1, 1000),), WAVE


def emformer():
    import torchaudio
    m = torchaudio.models.Emformer(input_dim=32, num_heads=2, ffn_dim=64, num_layers=2, segment_length=4, right_context_length=1)
    return Outputs(m, lambda r: r[0], lambda x: m(x, torch.full((x.shape[0],), x.shape[1] - 1))), (torch.randn(1, 13, 32),), {"input_features": {0: "batch"}}


def tacotron():
    import torchaudio
    m = torchaudio.models.DeepSpeech(32, n_hidden=32, n_class=8)
    return m, (torch.randn(1, 1, 30, 32),), {"input_features": {0: "batch", 2: "seq"}}


def wavernn():
    import torchaudio
    return torchaudio.models.ConvTasNet(num_sources=2, enc_kernel_size=16, enc_num_feats=16, msk_kernel_size=3, msk_num_feats=8, msk_num_hidden_feats=16, msk_num_layers=2, msk_num_stacks=1), (torch.randn(1, 1, 400),), {"input_values": {0: "batch", 2: "seq"}}


TORCHAUDIO = [
    ("ta-conformer", conformer, [none()], "open"),
    ("ta-wav2vec2", lambda: wav2vec2("wav2vec2"), [encoding("conv", None, None)], "open"),
    ("ta-wavlm", lambda: wav2vec2("wavlm"), [anything("t5-bias", buckets=32, max_distance=80, heads=2), encoding("conv", None, None)], "open"),
    ("ta-emformer", emformer, [none()], "open"),
    ("ta-deepspeech", tacotron, [none()], "open"),
    ("ta-convtasnet", wavernn, [none()], "open"),
]


# --- speechbrain (github.com/speechbrain/speechbrain)
def sb(module="transformer", encoding_type="fixed_abs_sine", attention="regularMHA", **more):
    from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
    m = TransformerASR(tgt_vocab=32, input_size=40, d_model=32, nhead=2, num_encoder_layers=2, num_decoder_layers=1, d_ffn=64, encoder_module=module, positional_encoding=encoding_type, attention_type=attention, max_length=200, normalize_before=True, causal=False, kernel_size=5, **more)
    return Outputs(m, call=lambda x: m.encode(x)), (torch.randn(1, 30, 40),), FRAMES


def sblm():
    from speechbrain.lobes.models.transformer.TransformerLM import TransformerLM
    return TransformerLM(vocab=64, d_model=32, nhead=2, num_encoder_layers=2, d_ffn=64, max_length=200), (torch.randint(1, 60, (1, 11)),), TOKENS


SPEECHBRAIN = [
    ("sb-transformer", lambda: sb(), [encoding("sinusoidal", "table", 200, {"form": ["table", "baked", "cache"], "capacity": [200, 30]}, dim=32, base=10000)], "open"),
    ("sb-conformer-rel", lambda: sb("conformer", attention="RelPosMHAXL"), [anything("relative-sinusoid")], "open"),
    ("sb-conformer-hyper", lambda: sb("conformer", attention="regularMHA"), [encoding("sinusoidal", "table", 200, {"form": ["table", "baked", "cache"], "capacity": [200, 30]}, dim=32, base=10000)], "open"),
    ("sb-branchformer-rope", lambda: sb("branchformer", attention="RoPEMHA"), [anything("rope", base=10000, head_dim=16)], "open"),
    ("sb-conformer-rope", lambda: sb("conformer", attention="RoPEMHA"), [anything("rope", base=10000, head_dim=16)], "open"),
    ("sb-none", lambda: sb("transformer", encoding_type=None), [none()], "open"),
    ("sb-lm", sblm, [anything("sinusoidal", dim=32, base=10000)], "open"),
]


# --- torchtune (github.com/pytorch/torchtune)
def tune(kind):
    usual = dict(vocab_size=64, num_layers=2, num_heads=4, num_kv_heads=2, embed_dim=64, max_seq_len=64)
    if kind == "llama3":
        from torchtune.models.llama3 import llama3 as make
        usual.update(rope_base=500000, intermediate_dim=96)
    elif kind == "llama31":
        from torchtune.models.llama3_1 import llama3_1 as make
        usual.update(rope_base=500000, intermediate_dim=96, scale_factor=8, max_seq_len=9000)
    elif kind == "llama2":
        from torchtune.models.llama2 import llama2 as make
    elif kind == "mistral":
        from torchtune.models.mistral import mistral as make
        usual.update(intermediate_dim=96)
    elif kind == "gemma":
        from torchtune.models.gemma import gemma as make
        usual.update(head_dim=16, intermediate_dim=96)
    elif kind == "gemma2":
        from torchtune.models.gemma2 import gemma2 as make
        usual.update(head_dim=16, intermediate_dim=96, sliding_window_size=16)
    elif kind == "qwen2":
        from torchtune.models.qwen2 import qwen2 as make
        usual.update(intermediate_dim=96)
    elif kind == "phi3":
        from torchtune.models.phi3 import phi3 as make
        usual.update(intermediate_dim=96)
    m = make(**usual)
    return Outputs(m, call=lambda x: m(x)), (torch.randint(1, 60, (1, 11)),), TOKENS


def tunet5():
    from torchtune.models.t5 import t5_encoder
    m = t5_encoder(embed_dim=32, mlp_dim=64, num_heads=2, head_dim=16, num_layers=2, rel_pos_num_buckets=32, rel_pos_max_dist=128, vocab_size=64, norm_eps=1e-6, max_seq_len=48)
    return Outputs(m, call=lambda x: m(x)), (torch.randint(1, 60, (1, 48)),), {"input_ids": {0: "batch"}}


def tuneclip(tiled):
    from torchtune.models.clip import clip_vision_encoder
    m = clip_vision_encoder(tile_size=32, patch_size=8, embed_dim=32, num_layers=2, num_heads=2, activation=torch.nn.SiLU, cls_output_dim=16, max_num_tiles=4 if tiled else 1, in_channels=3, append_cls_token=False)
    if not tiled:
        return Outputs(m, lambda r: r[0], lambda x: m(x[:, None, None], None)), (torch.randn(1, 3, 32, 32),), PICTURE
    return Outputs(m, lambda r: r[0], lambda x: m(x[:, None], torch.tensor([[[2, 2]]]))), (torch.randn(1, 4, 3, 32, 32),), PICTURE


TORCHTUNE = [
    ("tt-llama2", lambda: tune("llama2"), [anything("rope", rotary_dim=16, head_dim=16, layout="interleaved", base=10000)], "open"),
    ("tt-llama3", lambda: tune("llama3"), [anything("rope", rotary_dim=16, head_dim=16, layout="interleaved", base=500000)], "open"),
    ("tt-llama31", lambda: tune("llama31"), [encoding("rope", "cache", None, {"form": ["cache", "runtime", "baked"], "capacity": [None, *range(1, 12000)]}, rotary_dim=16, head_dim=16, layout="interleaved", base=500000, scaling={"type": "llama3", "factor": 8})], "open"),
    ("tt-mistral", lambda: tune("mistral"), [anything("rope", rotary_dim=16, head_dim=16, layout="interleaved", base=10000)], "open"),
    ("tt-gemma", lambda: tune("gemma"), [anything("rope", rotary_dim=16, head_dim=16, layout="interleaved", base=10000)], "open"),
    ("tt-gemma2", lambda: tune("gemma2"), [anything("rope", rotary_dim=16, head_dim=16, layout="interleaved", base=10000)], "open"),
    ("tt-qwen2", lambda: tune("qwen2"), [anything("rope", rotary_dim=16, head_dim=16, layout="half", base=1000000)], "open"),
    ("tt-phi3", lambda: tune("phi3"), [anything("rope", rotary_dim=16, head_dim=16, layout="half", base=10000)], "open"),
    ("tt-t5", tunet5, [anything("t5-bias", buckets=32, max_distance=128, bidirectional=True, heads=2)], "open"),
    ("tt-clip", lambda: tuneclip(False), [anything("learned", dim=32)], "open"),
    ("tt-clip-tiled", lambda: tuneclip(True), [anything("learned", dim=32)] * 4, "open"),
]


# --- ultralytics: its own exporter, from its architecture files; nothing in them counts positions but RT-DETR's encoder
def yolo(path, kind, **more):
    from ultralytics import RTDETR, YOLO
    folder = tempfile.mkdtemp()
    here = os.getcwd()
    os.chdir(folder)
    try:
        made = (RTDETR if "rtdetr" in kind else YOLO)(kind + ".yaml").export(format="onnx", **dict(dict(imgsz=160, simplify=False, opset=17), **more))
        shutil.move(made, path)
    finally:
        os.chdir(here)
        shutil.rmtree(folder)


ULTRALYTICS = [("yolo-" + name, kind, more, [none()], "open") for name, kind, more in [
    ("v5n", "yolov5n", {}), ("v8n", "yolov8n", {}), ("v8n-free", "yolov8n", dict(dynamic=True)), ("v8n-nms", "yolov8n", dict(nms=True)), ("v8n-seg-free", "yolov8n-seg", dict(dynamic=True)), ("v8n-pose", "yolov8n-pose", {}), ("v9t", "yolov9t", {}), ("v10n-free", "yolov10n", dict(dynamic=True)), ("11n", "yolo11n", {}),
    ("11n-free", "yolo11n", dict(dynamic=True)), ("11n-cls", "yolo11n-cls", {}), ("11n-obb-free", "yolo11n-obb", dict(dynamic=True)), ("12n", "yolo12n", {}), ("12n-free", "yolo12n", dict(dynamic=True)), ("26n", "yolo26n", {}), ("26n-free", "yolo26n", dict(dynamic=True))]]
ULTRALYTICS += [("yolo-rtdetr", "rtdetr-l", {}, [anything("sinusoidal", dim=256, base=10000)], "open"), ("yolo-rtdetr-free", "yolov8n-rtdetr", dict(dynamic=True), [unknown()], "open")]


# --- onnxruntime-genai's model builder: tiny configurations of transformers
def genai(path, kind, precision="fp32", options=(), **config):
    import transformers
    from tokenizers import Tokenizer, models
    folder = tempfile.mkdtemp()
    try:
        usual = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
        vision = config.pop("vision", None)
        usual.update(config)
        if vision is None:
            model = getattr(transformers, kind + "ForCausalLM")(getattr(transformers, kind + "Config")(**usual))
        else:
            seen = dict(depth=1, hidden_size=32, embed_dim=32, num_heads=2, intermediate_size=48, out_hidden_size=64, patch_size=4, spatial_merge_size=2, temporal_patch_size=2, in_channels=3, **vision)
            model = getattr(transformers, kind + "ForConditionalGeneration")(getattr(transformers, kind + "Config")(text_config=usual, vision_config=seen, image_token_id=60, video_token_id=61, vision_start_token_id=62, vision_end_token_id=63))
        model.save_pretrained(folder + "/in")
        transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({f"t{i}": i for i in range(64)}, unk_token="t3")), bos_token="t1", eos_token="t2", pad_token="t0").save_pretrained(folder + "/in")
        run = subprocess.run([sys.executable, "-W", "ignore", "-m", "onnxruntime_genai.models.builder", "-i", folder + "/in", "-m", folder + "/in", "-o", folder + "/out", "-p", precision, "-e", "cpu", "-c", folder + "/cache", *(["--extra_options", *options] if options else [])], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip().splitlines()[-1])
        import onnx
        onnx.save(onnx.load(folder + "/out/model.onnx"), path)
    finally:
        shutil.rmtree(folder)


def turned(layout="half", dim=16, head=16, base=10000, **scaling):
    return encoding("rope", "cache", 256, {"form": ["cache", "runtime"], "capacity": [256, 64, None]}, rotary_dim=dim, head_dim=head, layout=layout, base=base, scaling=scaling or dict(type="none"))


GENAI = [
    ("genai-llama", dict(kind="Llama"), [turned()], "open"),
    ("genai-llama-int4", dict(kind="Llama", precision="int4", hidden_size=128), [turned(dim=32, head=32)], "open"),
    ("genai-llama3", dict(kind="Llama", rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)), [turned(base=500000, type="llama3", factor=8)], "open"),
    ("genai-mistral", dict(kind="Mistral", sliding_window=32), [turned()], "open"),
    ("genai-qwen2", dict(kind="Qwen2", rope_parameters=dict(rope_type="default", rope_theta=1000000.0)), [turned(base=1000000)], "open"),
    ("genai-qwen3", dict(kind="Qwen3", head_dim=16, rope_parameters=dict(rope_type="default", rope_theta=1000000.0)), [turned(base=1000000)], "open"),
    ("genai-qwen3-hidden", dict(kind="Qwen3", head_dim=16, options=("exclude_lm_head=true",)), [turned()], "open"),
    ("genai-phi3", dict(kind="Phi3", original_max_position_embeddings=256), [turned()], "open"),
    ("genai-phi3-long", dict(kind="Phi3", max_position_embeddings=256, original_max_position_embeddings=64, rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=64, short_factor=[1.0 + 0.05 * i for i in range(8)], long_factor=[2.0 + 0.5 * i for i in range(8)])), [encoding("rope", "cache", 256, {"form": ["cache", "runtime"], "capacity": [256, 64, None], "scaling.type": ["longrope"]}, rotary_dim=16, head_dim=16, layout="half", base=10000, scaling=dict(type="longrope"))], "open"),
    ("genai-gemma2", dict(kind="Gemma2", head_dim=16, sliding_window=32), [turned()], "open"),
    ("genai-gemma3", dict(kind="Gemma3", head_dim=16, sliding_window=32, num_hidden_layers=6), [turned(base=1000000), turned()], "open"),
    ("genai-granite", dict(kind="Granite"), [turned()], "open"),
    ("genai-olmo", dict(kind="Olmo"), [turned()], "open"),
    ("genai-nemotron", dict(kind="Nemotron", partial_rotary_factor=0.5, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)), [turned(dim=8)], "open"),
    ("genai-phi", dict(kind="Phi", partial_rotary_factor=0.5, num_key_value_heads=4, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)), [turned(dim=8)], "open"),
    ("genai-smollm3", dict(kind="SmolLM3", num_hidden_layers=4), [turned()], "open"),
    ("genai-gptoss", dict(kind="GptOss", head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=32, rope_parameters=dict(rope_type="yarn", rope_theta=150000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False, original_max_position_embeddings=64)), [turned(base=150000, type="yarn", factor=4)], "open"),
    ("genai-qwen25vl", dict(kind="Qwen2_5_VL", vision=dict(window_size=16, fullatt_block_indexes=[0]), rope_parameters=dict(rope_type="default", rope_theta=1000000.0, mrope_section=[2, 3, 3])), [anything("rope", rotary_dim=16, layout="half", base=1000000, sections=[2, 3, 3], interleaved_sections=False)], "open"),
    ("genai-qwen3vl", dict(kind="Qwen3VL", head_dim=16, vision=dict(num_position_embeddings=16, deepstack_visual_indexes=[0]), rope_parameters=dict(rope_type="default", rope_theta=1000000.0, mrope_section=[2, 3, 3], mrope_interleaved=True)), [anything("rope", rotary_dim=16, layout="half", base=1000000, sections=[2, 3, 3], interleaved_sections=True)], "open"),
    ("genai-qwen35", dict(kind="Qwen3_5", head_dim=16, vision=dict(num_position_embeddings=16), layer_types=["linear_attention", "full_attention"], linear_num_value_heads=2, linear_num_key_heads=2, linear_key_head_dim=16, linear_value_head_dim=16,
                          rope_parameters=dict(rope_type="default", rope_theta=1000000.0, mrope_section=[2, 1, 1], mrope_interleaved=True, partial_rotary_factor=0.5)), [anything("rope", rotary_dim=8, layout="half", base=1000000, sections=[2, 1, 1], interleaved_sections=True)], "open"),
    ("genai-lfm2", dict(kind="Lfm2", layer_types=["conv", "full_attention"], conv_L_cache=3, block_ff_dim=96, block_auto_adjust_ff_dim=False), [turned(base=1000000)], "open"),
    ("genai-lfm2moe", dict(kind="Lfm2Moe", layer_types=["conv", "full_attention"], conv_L_cache=3, moe_intermediate_size=48, num_dense_layers=1, num_experts=2, num_experts_per_tok=1), [turned(base=1000000)], "open"),
    ("genai-hunyuan", dict(kind="HunYuanDenseV1", head_dim=16), [turned()], "open"),
    ("genai-ernie", dict(kind="Ernie4_5", head_dim=16), [turned("interleaved", base=500000)], "open"),
]


def runs(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        print(f"{path}: {str(problem)[:200]}", file=sys.stderr)
        return False
    return True


def export(path, build, exporter):
    torch.manual_seed(7)
    module, inputs, axes = build()
    with torch.no_grad():
        for p in module.parameters():
            if p.requires_grad:  # what is not trained is a formula's
                p.uniform_(-0.3, 0.3)
    if exporter == "ts":
        torch.onnx.export(module.eval(), inputs, path, input_names=list(axes), dynamic_axes=axes, opset_version=17, dynamo=False)
        return
    shapes = tuple({axis: torch.export.Dim.DYNAMIC for axis, name in a.items() if name != "batch"} for a in axes.values())
    torch.onnx.export(module.eval(), inputs, path, input_names=list(axes), dynamic_shapes=(shapes,) if isinstance(module, Outputs) else shapes, opset_version=20, dynamo=True, verbose=False, external_data=False)


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries, jobs = [], []
    for name, build, truth, capacity in OPEN_CLIP + ESM + TORCHAUDIO + SPEECHBRAIN + TORCHTUNE:
        for exporter in ("ts", "dy"):
            jobs.append((name + "-" + exporter, lambda path, build=build, exporter=exporter: export(path, build, exporter), truth, capacity))
    for name, kind, more, truth, capacity in ULTRALYTICS:
        jobs.append((name, lambda path, kind=kind, more=more: yolo(path, kind, **more), truth, capacity))
    for name, config, truth, capacity in GENAI:
        jobs.append((name, lambda path, config=config: genai(path, **config), truth, capacity))
    for name, make, truth, capacity in jobs:
        if words and not any(w in name for w in words):
            continue
        path = os.path.join(folder, "onnx", name + ".onnx")
        try:
            if not os.path.exists(path):
                make(os.path.abspath(path))
        except Exception as problem:
            print(f"{name}: not exported: {str(problem).strip().splitlines()[0][:200] if str(problem).strip() else type(problem)}", file=sys.stderr)
            continue
        if runs(path):
            entries.append(dict(file=f"onnx/{name}.onnx", truth=dict(length={} if capacity == "open" else {"capacity": capacity}, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
