"""Models of recordings: of transformers, and Zipformer (pypi.org/project/zipformer)."""
import contextlib
import importlib.util
import sys
import types

import torch
import transformers as T
from model import SMALL, Row, noise


def positions(was, now, want):
    """As many positions as come out."""
    return ["--len", str(want.shape[1]), *(["--shorter"] if now < was else [])]


def recording(build, sizes, shape, axis, **more):
    return Row(build, sizes, inputs=lambda size: dict(x=noise(*(n or size for n in shape))), free={"x": {axis: "frames"}}, extend=positions, padded=True, **more)


def conformer(kind):
    shape = dict(conv_dim=(16,) * 3, conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_depthwise_kernel_size=5)
    return lambda samples: T.Wav2Vec2ConformerModel(T.Wav2Vec2ConformerConfig(**SMALL, intermediate_size=48, position_embeddings_type=kind, max_source_positions=samples // 20 + 5, vocab_size=20, **shape))


def parakeet(frames):
    return T.ParakeetEncoder(T.ParakeetEncoderConfig(**SMALL, intermediate_size=48, num_mel_bins=16, subsampling_conv_channels=8, max_position_embeddings=64, conv_kernel_size=5,
                                                     attn_implementation="eager"))


def whisper(frames):
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return WhisperEncoder(T.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=48, num_mel_bins=8, max_source_positions=frames // 2))


def zipformer(frames):
    """Its sines of distances for as many frames: the package makes more only while it runs."""
    if "zipformer" not in sys.modules:  # without its command line and training, which want further libraries
        spec, package, tools = importlib.util.find_spec("zipformer"), types.ModuleType("zipformer"), types.ModuleType("zipformer.utils")
        package.__path__ = spec and spec.submodule_search_locations or []
        vars(tools)["torch_autocast"] = lambda *_, **__: contextlib.nullcontext()
        sys.modules.update({"zipformer": package, "zipformer.utils": tools})
    from zipformer.modules.zipformer import CompactRelPositionalEncoding, Zipformer

    model = Zipformer(output_downsampling_factor=2, downsampling_factor=(1, 2), encoder_dim=(32, 32), num_encoder_layers=(1, 1), encoder_unmasked_dim=(32, 32), query_head_dim=8, pos_head_dim=4,
                      value_head_dim=8, num_heads=2, feedforward_dim=48, cnn_module_kernel=(7, 7), pos_dim=16, causal=False)
    for module in model.modules():
        if isinstance(module, CompactRelPositionalEncoding):
            module.pe = None
            module.extend_pe(torch.zeros(frames))
    return model


def zipped(model, x, lengths):
    mask = torch.arange(x.size(1)).unsqueeze(0) >= lengths.unsqueeze(1)
    return model(x.permute(1, 0, 2), lengths, mask)[0].permute(1, 0, 2)


MODELS = {
    "Wav2Vec2-Conformer, relative": recording(conformer("relative"), (800, 1210, 1600, 2400), (1, 0), 1),
    # nothing in the file with free axes bounds it
    "Wav2Vec2-Conformer, rotary": recording(conformer("rotary"), (800, 1210, 1600, 2400), (1, 0), 1, more={"TorchScript, free": ["--method", "none"]}),
    "Wav2Vec2-BERT, relative_key": recording(lambda n: T.Wav2Vec2BertModel(T.Wav2Vec2BertConfig(**SMALL, intermediate_size=48, feature_projection_input_dim=16, position_embeddings_type="relative_key",
                                                                                                left_max_position_embeddings=8, right_max_position_embeddings=4)), (40, 24, 64, 101), (1, 0, 16), 1),
    "Parakeet": recording(parakeet, (160, 200, 320, 480), (1, 0, 16), 1),
    "Whisper's encoder": recording(whisper, (80, 40, 100, 160, 240), (1, 8, 0), 2),
    "Zipformer": Row(zipformer, (61, 64, 100), inputs=lambda n: dict(x=noise(1, n, 32), lengths=torch.tensor([n])), free={"x": {0: "batch", 1: "frames"}, "lengths": {0: "batch"}},
                     extend=lambda was, now, want: ["--len", str(now)], run=zipped, library="zipformer"),
}
