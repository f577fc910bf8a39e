# espnet/espnet_onnx #24
"""Relative sines of a conformer that end the graph at the length of its export."""
import torch

from lab import One

SHAPE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, position_embeddings_type="relative", vocab_size=20, conv_dim=(16,) * 3, conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
             num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, conv_depthwise_kernel_size=5)


def job(lab):
    model = lab.model("Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", **SHAPE, max_source_positions=512)
    longer = lab.edited(model, max_source_positions=2048)
    source = lab.onnx(One(model), (torch.randn(1, 4000),), ["input_values"], {"input_values": {1: "samples"}})
    changed = lab.change(source, "extend", "--len", "2048")
    for n in (4000, 30000):
        speech = torch.randn(1, n)
        lab.compare(f"{n} samples", lab.run(changed, input_values=speech.numpy()), lab.outputs(longer, speech))
    lab.ends(source, "30,000 samples", input_values=speech.numpy())
