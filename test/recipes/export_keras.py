#!/usr/bin/env python3
"""Exports small graphs of KerasHub by Keras' own ONNX export (tf2onnx), with what their configurations say of positions,
as a manifest that score-inspect reads.

usage: export_keras.py FOLDER [WORD …]     (only graphs whose name holds a WORD)

Writes FOLDER/onnx.json and FOLDER/onnx/NAME.onnx. Needs keras-hub, tensorflow and tf2onnx; weights are seeded noise. The
truth is from the layers' documentation and arguments, written before any file was inspected.
"""
import json
import os
import sys

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import keras
import keras_hub
import numpy
import onnx
import onnxruntime

from truth import encoding, none, patches, rope, table, unknown

M = keras_hub.models
SMALL = dict(vocabulary_size=64, num_layers=2, num_heads=4, hidden_dim=32, intermediate_dim=48)
DECODER = dict(vocabulary_size=64, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=64, intermediate_dim=96)
ALIBI = encoding("alibi", "runtime", None, {"form": ["runtime", "baked", "table"]}, heads=4)
T5 = encoding("t5-bias", "runtime", None, {"form": ["runtime", "baked", "table"]}, buckets=32, max_distance=128, heads=4)
LLAMA3 = dict(type="llama3", factor=8, low_freq_factor=1, high_freq_factor=4, original_length=256)


def vit(kind, **more):
    return lambda: getattr(M, kind)(image_shape=(32, 32, 3), patch_size=more.pop("patch_size", 8), num_layers=2, num_heads=2, hidden_dim=32, **more)


def clip(kind):
    def build():
        prefix = kind[:-len("Backbone")]
        vision = getattr(M, prefix + "VisionEncoder", None) or getattr(keras_hub.layers, prefix + "VisionEncoder", None)
        text = getattr(M, prefix + "TextEncoder", None) or getattr(keras_hub.layers, prefix + "TextEncoder", None)
        if vision is None:
            import importlib
            base = f"keras_hub.src.models.{prefix.lower()}.{prefix.lower()}_"
            vision = getattr(importlib.import_module(base + "vision_encoder"), prefix + "VisionEncoder")
            text = getattr(importlib.import_module(base + "text_encoder"), prefix + "TextEncoder")
        if prefix == "CLIP":
            v = vision(patch_size=8, hidden_dim=32, num_layers=1, num_heads=2, intermediate_dim=48, image_shape=(32, 32, 3))
            t = text(vocabulary_size=64, embedding_dim=32, hidden_dim=32, num_layers=1, num_heads=2, intermediate_dim=48, max_sequence_length=24)
            return M.CLIPBackbone(v, t, 16)
        v = vision(patch_size=8, hidden_dim=32, num_layers=1, num_heads=2, intermediate_dim=48, image_shape=(32, 32, 3))
        t = text(vocabulary_size=64, embedding_dim=32, hidden_dim=32, num_layers=1, num_heads=2, intermediate_dim=48, max_sequence_length=24)
        return M.SigLIPBackbone(v, t)
    return build


def sequence(layer, dim=32):
    """A text model of own making round one layer of keras_hub."""
    def build():
        ids = keras.Input((None,), dtype="int32", name="token_ids")
        x = keras.layers.Embedding(64, dim)(ids)
        x = layer(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, dim // 2)(x, x))
        return keras.Model(ids, keras.layers.Dense(8)(x))
    return build


def added(layer):
    return lambda x: x + layer(x)


def series():
    """A forecaster with a table of its window, as Keras' own examples write it."""
    window = keras.Input((24, 5), name="window")
    x = keras.layers.Dense(32)(window)
    positions = keras.ops.arange(24)
    x = x + keras.layers.Embedding(24, 32)(positions)
    x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, 16)(x, x))
    return keras.Model(window, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))


class PatchEncoder(keras.layers.Layer):
    def __init__(self, count, dim):
        super().__init__()
        self.count, self.projection, self.position = count, keras.layers.Dense(dim), keras.layers.Embedding(count, dim)

    def call(self, patch):
        positions = keras.ops.expand_dims(keras.ops.arange(0, self.count, 1), 0)
        return self.projection(patch) + self.position(positions)


def keras_vit():
    """keras.io's "Image classification with Vision Transformer"."""
    picture = keras.Input((32, 32, 3), name="image")
    patch = keras.ops.image.extract_patches(picture, size=8)
    x = PatchEncoder(16, 32)(keras.layers.Reshape((16, 192))(patch))
    x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, 16)(x, x))
    return keras.Model(picture, keras.layers.Dense(10)(keras.layers.Flatten()(x)))


def camera():
    """A classifier of bytes as a camera gives them, of any size: Keras' own preparation and a ViT of fixed size."""
    picture = keras.Input((None, None, 3), dtype="uint8", name="image")
    x = keras.ops.cast(picture, "float32") / 127.5 - 1.0
    x = keras.ops.image.resize(x, (32, 32))
    return keras.Model(picture, vit("ViTBackbone", mlp_dim=48)()(x))


def any_size():
    picture = keras.Input((None, None, 3), name="image")
    x = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(picture)
    x = keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(x)
    return keras.Model(picture, keras.layers.Dense(8)(keras.layers.GlobalAveragePooling2D()(x)))


def recurrent():
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    x = keras.layers.Embedding(64, 32)(ids)
    x = keras.layers.Bidirectional(keras.layers.LSTM(16, return_sequences=True))(x)
    return keras.Model(ids, keras.layers.Dense(8)(keras.layers.GRU(16)(x)))


def bag():
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    x = keras.layers.Embedding(64, 32)(ids)
    x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, 16)(x, x))
    return keras.Model(ids, keras.layers.Dense(8)(keras.layers.GlobalAveragePooling1D()(x)))


def text_convolution():
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    x = keras.layers.Embedding(64, 32)(ids)
    x = keras.layers.Conv1D(32, 5, padding="same", activation="relu")(x)
    x = keras.layers.SeparableConv1D(32, 3, dilation_rate=2, padding="same")(x)
    return keras.Model(ids, keras.layers.Dense(8)(keras.layers.GlobalMaxPooling1D()(x)))


def esm(**more):
    return lambda: M.ESMBackbone(**SMALL, max_sequence_length=40, max_wavelength=10000, pad_token_id=1, **more)


# name, how it is built, what is true, the capacity of the graph ("open": not judged)
KERAS = [
    ("kh-bert", lambda: M.BertBackbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-roberta", lambda: M.RobertaBackbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-xlm-roberta", lambda: M.XLMRobertaBackbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-distilbert", lambda: M.DistilBertBackbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-albert", lambda: M.AlbertBackbone(**SMALL, embedding_dim=16, max_sequence_length=40), [table(40, 16)], 40),
    ("kh-electra", lambda: M.ElectraBackbone(vocab_size=64, num_layers=2, num_heads=4, hidden_dim=32, embedding_dim=16, intermediate_dim=48, max_sequence_length=40), [table(40, 16)], 40),
    ("kh-fnet", lambda: M.FNetBackbone(vocabulary_size=64, num_layers=2, hidden_dim=32, intermediate_dim=48, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-gpt2", lambda: M.GPT2Backbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-opt", lambda: M.OPTBackbone(**SMALL, max_sequence_length=40), [table(40, 32)], 40),
    ("kh-bart", lambda: M.BartBackbone(**SMALL, max_sequence_length=40), [table(40, 32), table(40, 32)], 40),
    ("kh-bloom", lambda: M.BloomBackbone(**SMALL), [ALIBI], None),
    ("kh-falcon", lambda: M.FalconBackbone(vocabulary_size=64, num_layers=2, num_attention_heads=4, hidden_dim=32, intermediate_dim=48), [ALIBI], None),
    ("kh-gpt-neox", lambda: M.GPTNeoXBackbone(vocabulary_size=64, num_layers=2, num_heads=4, hidden_dim=64, intermediate_dim=96, rotary_percentage=0.25, max_sequence_length=40), [rope(4, 16, "half")], None),
    ("kh-llama", lambda: M.LlamaBackbone(**DECODER), [rope(16, 16, "half")], None),
    ("kh-llama-linear", lambda: M.LlamaBackbone(**DECODER, rope_position_scaling_factor=4.0), [rope(16, 16, "half")], None),  # its rotary layer ignores the factor unless rope_type says "linear"
    ("kh-llama3", lambda: M.Llama3Backbone(**{**DECODER, "hidden_dim": 128}, rope_max_wavelength=500000, rope_frequency_adjustment_factor=8, rope_low_freq_factor=1, rope_high_freq_factor=4, rope_pretraining_sequence_length=256), [rope(32, 32, "half", 500000, **LLAMA3)], None),
    ("kh-mistral", lambda: M.MistralBackbone(**DECODER, sliding_window=16), [rope(16, 16, "half")], None),
    ("kh-mixtral", lambda: M.MixtralBackbone(**DECODER, num_experts=2, top_k=1, sliding_window=None), [rope(16, 16, "half")], None),
    ("kh-qwen", lambda: M.QwenBackbone(**DECODER, rope_max_wavelength=1000000), [rope(16, 16, "half", 1000000)], None),
    ("kh-qwen3", lambda: M.Qwen3Backbone(**DECODER, head_dim=16, rope_max_wavelength=1000000), [rope(16, 16, "half", 1000000)], None),
    ("kh-gemma", lambda: M.GemmaBackbone(**DECODER, head_dim=16), [rope(16, 16, "half")], None),
    ("kh-phi3", lambda: M.Phi3Backbone(**DECODER, max_sequence_length=64, pretraining_sequence_length=64), [rope(16, 16, "half")], None),
    ("kh-phi3-long", lambda: M.Phi3Backbone(**DECODER, max_sequence_length=256, pretraining_sequence_length=64, rope_scaling_type="su", rope_scaling_short_factor=[1.0 + 0.05 * i for i in range(8)], rope_scaling_long_factor=[1.5 + i for i in range(8)]), [rope(16, 16, "half", type="longrope")], "open"),
    ("kh-gpt-oss", lambda: M.GptOssBackbone(**{**DECODER}, num_experts=2, top_k=1, head_dim=16, rope_max_wavelength=150000, rope_scaling_factor=32.0, sliding_window=16), [rope(16, 16, "half", 150000, type="yarn")], "open"),
    ("kh-smollm3", lambda: M.SmolLM3Backbone(vocabulary_size=64, hidden_dim=64, intermediate_dim=96, num_layers=2, num_attention_heads=4, num_key_value_heads=2, attention_bias=False, attention_dropout=0.0, rope_layer_enabled_list=[True, False], layer_types=["full_attention"] * 2, mlp_bias=False, layer_norm_epsilon=1e-6, max_position_embeddings=64, rope_theta=2000000.0, partial_rotary_factor=1.0), [rope(16, 16, "half", 2000000)], None),
    ("kh-roformer", lambda: M.RoformerV2Backbone(**SMALL, head_size=8, num_segments=2), [rope(8, 8, "interleaved", accept={"layout": ["half", "interleaved"], "head_dim": [8, 64], "rotary_dim": [8, 64]})], None),
    ("kh-esm-rotary", esm(position_embedding_type="rotary"), [rope(8, 8, "half")], None),
    ("kh-esm-absolute", esm(position_embedding_type="absolute"), [table(40, 32, 39, offset=1)], 39),  # rows from pad_token_id on
    ("kh-t5", lambda: M.T5Backbone(vocabulary_size=64, num_layers=2, num_heads=4, hidden_dim=32, intermediate_dim=48), [T5, T5], None),
    ("kh-deberta", lambda: M.DebertaV3Backbone(**SMALL, max_sequence_length=40, bucket_size=8), [encoding("disentangled", "table", None, {"form": ["table", "runtime", "baked"], "capacity": [None, 40]}, buckets=8, rows=16)], "open"),
    ("kh-xlnet", lambda: M.XLNetBackbone(**SMALL), [encoding("relative-sinusoid", "runtime", None, {"form": ["runtime", "baked", "table"]}, dim=32)], "open"),
    ("kh-whisper", lambda: M.WhisperBackbone(**SMALL, num_mels=8, max_encoder_sequence_length=80, max_decoder_sequence_length=24), [table(40, 32), table(24, 32)], "open"),
    ("kh-vit", vit("ViTBackbone", mlp_dim=48), [patches(4, 32, 1)], 16),
    ("kh-vit-no-class", vit("ViTBackbone", mlp_dim=48, use_class_token=False), [patches(4, 32, 0)], 16),
    ("kh-deit", vit("DeiTBackbone", intermediate_dim=48), [patches(4, 32, 2)], 16),
    ("kh-dinov2", vit("DINOV2Backbone", intermediate_dim=48, position_embedding_shape=(48, 48)), [encoding("learned", "table", 16, {"form": ["table", "baked", "runtime"], "rows": [37, 36, 16, 17], "capacity": [16, 36, None], "grid": [[6, 6], [4, 4]], "prefix": [0, 1]}, rows=37, dim=32, grid=[6, 6])], "open"),
    ("kh-dinov3", vit("DINOV3Backbone", intermediate_dim=48), [encoding("rope", "runtime", None, {"form": ["runtime", "baked", "cache"], "capacity": [None, *range(1, 64)]}, head_dim=16)], "open"),
    # without a preset CLIP's position_ids are zeros: its vision tower adds one row to all patches
    ("kh-clip", clip("CLIPBackbone"), [table(24, 32, accept={"form": ["table", "baked"]})], "open"),
    ("kh-siglip", clip("SigLIPBackbone"), [table(24, 32, accept={"form": ["table", "baked"]}), patches(4, 32, 0)], "open"),
    ("kh-vitdet", lambda: M.ViTDetBackbone(hidden_size=32, num_layers=2, intermediate_dim=48, num_heads=2, global_attention_layer_indices=[1], image_shape=(64, 64, 3), patch_size=16, num_output_channels=16, window_size=2), [encoding("learned", "baked", 16, {"form": ["table", "baked"]}, rows=16, dim=32, grid=[4, 4]), encoding("relative-table", "table", None, {"form": ["table", "baked"], "capacity": [None, 4, 16]})], "open"),
    ("kh-mit", lambda: M.MiTBackbone(layerwise_depths=[1, 1], num_layers=2, layerwise_num_heads=[1, 2], layerwise_sr_ratios=[2, 1], max_drop_path_rate=0.1, layerwise_patch_sizes=[7, 3], layerwise_strides=[4, 2], image_shape=(64, 64, 3), hidden_dims=[16, 32]), [none()], None),
    ("kh-resnet", lambda: M.ResNetBackbone(input_conv_filters=[16], input_conv_kernel_sizes=[7], stackwise_num_filters=[64, 64], stackwise_num_blocks=[1, 1], stackwise_num_strides=[1, 2], block_type="basic_block_vd", use_pre_activation=False, image_shape=(64, 64, 3)), [none()], None),
    ("kh-efficientnet", lambda: M.MobileNetBackbone(stackwise_expansion=[[16], [24]], stackwise_num_blocks=[1, 1], stackwise_num_filters=[[16], [24]], stackwise_kernel_size=[[3], [3]], stackwise_num_strides=[[1], [2]], stackwise_se_ratio=[[0.25], [None]], stackwise_activation=[["relu"], ["relu"]], stackwise_padding=[[1], [1]], output_num_filters=32, depthwise_filters=8, depthwise_stride=2, depthwise_residual=False, last_layer_filter=32, image_shape=(64, 64, 3), input_num_filters=8), [none()], None),
    ("kh-moonshine", lambda: M.MoonshineBackbone(vocabulary_size=64, filter_dim=32, encoder_num_layers=1, decoder_num_layers=1, hidden_dim=32, intermediate_dim=48, encoder_num_heads=2, decoder_num_heads=2, max_position_embeddings=64, partial_rotary_factor=0.5), [rope(8, 16, "interleaved", accept={"layout": ["half", "interleaved"]})], "open"),
    ("kh-paligemma", lambda: M.PaliGemmaBackbone(vocabulary_size=64, image_size=32, num_layers=1, num_query_heads=2, num_key_value_heads=1, hidden_dim=32, intermediate_dim=48, head_dim=16, vit_patch_size=8, vit_num_heads=2, vit_hidden_dim=32, vit_num_layers=1, vit_intermediate_dim=48), [rope(16, 16, "half"), patches(4, 32, 0)], "open"),
    ("kh-rwkv", lambda: M.RWKV7Backbone(hidden_size=32, head_size=16, num_layers=1, vocabulary_size=64, intermediate_dim=48, gate_lora=8, mv_lora=8, aaa_lora=8, decay_lora=8), [none(scheme=["none", "conv", "recurrent"])], "open"),
    ("k-sine", sequence(added(keras_hub.layers.SinePositionEncoding())), [encoding("sinusoidal", "runtime", None, {}, dim=32, base=10000)], None),
    ("k-positions", sequence(added(keras_hub.layers.PositionEmbedding(40))), [table(40, 32)], 40),
    ("k-rotary", sequence(keras_hub.layers.RotaryEmbedding()), [rope(32, 32, "half")], None),
    ("k-encoder", sequence(keras_hub.layers.TransformerEncoder(48, 4)), [none(scheme=["none"])], None),
    ("k-decoder", sequence(keras_hub.layers.TransformerDecoder(48, 4)), [encoding("none", None, None, {"scheme": ["none", "causal"]})], "open"),
    ("k-reversible", lambda: M.GPT2CausalLM(M.GPT2Backbone(**SMALL, max_sequence_length=40)), [table(40, 32)], 40),
    ("k-bert-classifier", lambda: M.BertTextClassifier(M.BertBackbone(**SMALL, max_sequence_length=40), num_classes=3), [table(40, 32)], 40),
    ("k-series", series, [unknown()], "open"),  # the export makes the looked-up rows an input of the graph
    ("k-vit", keras_vit, [patches(4, 32, 0)], 16),
    ("k-camera", camera, [patches(4, 32, 1)], "open"),
    ("k-any-size", any_size, [none()], None),
    ("k-lstm", recurrent, [encoding("recurrent", None, None, {"scheme": ["none", "conv", "recurrent"]})], None),
    ("k-bag", bag, [none(scheme=["none"])], None),
    ("k-conv", text_convolution, [none()], None),
]


def noise(model, seed=7):
    """Seeded noise in place of what is trained; layers' own constants stay (Whisper's sines)."""
    random = numpy.random.default_rng(seed)
    for w in model.trainable_weights:
        w.assign(random.uniform(-0.3, 0.3, w.shape))


def erf(path):
    """tf2onnx leaves TensorFlow's Erfc of an exact GELU as a node that no engine knows: 1 - Erf stands for it."""
    graph = onnx.load(path)
    nodes = []
    for node in graph.graph.node:
        if node.op_type == "Erfc":
            at = node.output[0]
            nodes += [onnx.helper.make_node("Erf", list(node.input), [at + "_erf"]),
                      onnx.helper.make_node("Constant", [], [at + "_one"], value_float=1.0),
                      onnx.helper.make_node("Sub", [at + "_one", at + "_erf"], [at])]
        else:
            nodes.append(node)
    del graph.graph.node[:]
    graph.graph.node.extend(nodes)
    onnx.save(graph, path)


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    entries = []
    for name, build, truth, capacity in KERAS:
        if words and not any(w in name for w in words):
            continue
        path = os.path.join(folder, "onnx", name + ".onnx")
        try:
            if not os.path.exists(path):
                model = build()
                noise(model)
                signature = keras.tree.map_structure(lambda t: keras.InputSpec(shape=t.shape, dtype=t.dtype, name=t.name), model.input)
                model.export(path, format="onnx", verbose=False, input_signature=[signature])
                erf(path)
            onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as problem:
            print(f"{name}: not exported: {type(problem).__name__} {' '.join(str(problem).split())[:200]}", file=sys.stderr)
            continue
        length = {} if capacity == "open" else {"capacity": capacity}
        entries.append(dict(file=f"onnx/{name}.onnx", truth=dict(length=length, encodings=truth), accept={}))
    with open(os.path.join(folder, "onnx.json"), "w") as f:
        json.dump(entries, f)
    print(f"{len(entries)} graphs")


if __name__ == "__main__":
    main()
