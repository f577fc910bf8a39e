# airockchip/rknn_model_zoo #428
"""Whisper's encoder for recordings of 20 seconds instead of 30, with fixed shapes for an NPU."""
import torch
from transformers.models.whisper.modeling_whisper import WhisperEncoder

import transformers as T
from lab import One


def job(lab):
    torch.manual_seed(1)
    shape = dict(d_model=64, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=96, num_mel_bins=80)
    model = WhisperEncoder(T.WhisperConfig(**shape, max_source_positions=1500)).eval()
    shorter = WhisperEncoder(T.WhisperConfig(**shape, max_source_positions=1000)).eval()
    state = model.state_dict()
    state["embed_positions.weight"] = state["embed_positions.weight"][:1000]
    shorter.load_state_dict(state)
    source = lab.onnx(One(model), (torch.randn(1, 80, 3000),), ["input_features"], {})
    changed = lab.change(source, "extend", "--len", "1000", "--shorter")
    recording = torch.randn(1, 80, 2000)
    lab.compare("2,000 frames", lab.run(changed, input_features=recording.numpy()), lab.outputs(shorter, recording))
