"""Models of text of transformers: sizes are lengths in tokens, for which a model has as many rows where it has a table."""
import torch
import transformers as T
from model import SMALL, Row, by_ends, first, lively, noise
from torch import nn

ANY = dict(vocab_size=64, attn_implementation="eager")
ENCODER = dict(**SMALL, **ANY, intermediate_size=48)


def tokens(length):
    return torch.randint(3, 64, (1, length), generator=torch.Generator().manual_seed(3))


def length(was, now, want):
    return ["--len", str(now), *(["--shorter"] if now < was else [])]


def tiled(rows, shape):
    """Rows stay, further ones repeat them: what extend does by default, as no library makes rows of a table longer."""
    return rows[torch.arange(shape[0]) % rows.shape[0]]


def farthest(rows, shape):
    """Rows of distances stay about their middle, and farther ones are as the farthest."""
    most, old = shape[0] // 2, rows.shape[0] // 2
    return rows[torch.arange(-most, shape[0] - most).clamp(-old, rows.shape[0] - old - 1) + old]


def text(build, sizes=(64, 48, 96, 128), **more):
    return Row(lambda n: lively(build(n)), sizes, inputs=lambda n: dict(input_ids=tokens(n)), free={"input_ids": {0: "batch", 1: "tokens"}}, extend=length, **more)


class RelativeKey(nn.Module):
    """BertSelfAttention with position_embedding_type of relative_key or relative_key_query, as transformers had it before its version 5."""

    def __init__(self, attention, config, query):
        super().__init__()
        self.query, self.key, self.value, self.heads, self.asks = attention.query, attention.key, attention.value, config.num_attention_heads, query
        self.most = config.max_position_embeddings
        self.distance_embedding = nn.Embedding(2 * self.most - 1, config.hidden_size // config.num_attention_heads)

    def forward(self, x, *_, **__):
        q, k, v = (made(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2) for made in (self.query, self.key, self.value))
        places = torch.arange(x.shape[1])
        rows = self.distance_embedding(places.view(-1, 1) - places.view(1, -1) + self.most - 1)
        scores = q @ k.transpose(-1, -2) + torch.einsum("bhld,lrd->bhlr", q, rows)
        if self.asks:
            scores = scores + torch.einsum("bhrd,lrd->bhlr", k, rows)
        return ((scores * q.shape[-1] ** -0.5).softmax(-1) @ v).transpose(1, 2).flatten(2), None


def bert(relative=False, query=False):
    def build(most):
        config = T.BertConfig(**ENCODER, max_position_embeddings=most)
        model = T.BertModel(config, add_pooling_layer=False)
        if relative:
            model.embeddings.position_embeddings.weight.requires_grad_(False).zero_()
            for layer in model.encoder.layer:
                layer.attention.self = RelativeKey(layer.attention.self, config, query)
        return model

    return build


def speecht5(most):
    """Vectors of distances that end at 8 (Shaw), beside sines of as many tokens."""
    from transformers.models.speecht5.modeling_speecht5 import SpeechT5EncoderWithTextPrenet

    return SpeechT5EncoderWithTextPrenet(T.SpeechT5Config(hidden_size=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=48, encoder_max_relative_position=8, max_text_positions=most, encoder_layerdrop=0.0, **ANY))


def whisper(most):
    from transformers.models.whisper.modeling_whisper import WhisperDecoder

    return WhisperDecoder(T.WhisperConfig(d_model=32, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=48, max_target_positions=most, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **ANY))


def decoded(model, ids, states):
    return first(model, ids, attention_mask=torch.ones_like(ids), encoder_hidden_states=states, use_cache=False)  # with a mask, as what is without one is looked through for several texts


DEBERTA = dict(ENCODER, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)
MODELS = {
    "BERT": text(bert(), resized=by_ends(position_embeddings__weight=tiled)),
    "BERT, relative_key": text(bert(True), resized=by_ends(distance_embedding__weight=farthest)),
    "BERT, relative_key_query": text(bert(True, True), resized=by_ends(distance_embedding__weight=farthest)),
    "SpeechT5's encoder": text(speecht5),
    "DeBERTa": text(lambda n: T.DebertaModel(T.DebertaConfig(**DEBERTA, max_position_embeddings=n)), resized=by_ends(rel_embeddings__weight=farthest)),
    "DeBERTa v2": text(lambda n: T.DebertaV2Model(T.DebertaV2Config(**DEBERTA, max_position_embeddings=n)), resized=by_ends(rel_embeddings__weight=farthest)),
    "DeBERTa v2, buckets": text(lambda n: T.DebertaV2Model(T.DebertaV2Config(**DEBERTA, position_buckets=16, max_relative_positions=128, max_position_embeddings=128))),
    "T5's encoder": text(lambda n: T.T5EncoderModel(T.T5Config(d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, relative_attention_num_buckets=16, relative_attention_max_distance=40, decoder_start_token_id=0, **ANY))),
    "Whisper's decoder": Row(lambda n: lively(whisper(n)), (64, 48, 96, 128), inputs=lambda n: dict(input_ids=tokens(n), encoder_hidden_states=noise(1, 12, 32)), free={"input_ids": {0: "batch", 1: "tokens"}, "encoder_hidden_states": {0: "batch", 1: "frames"}},
                             extend=length, run=decoded, resized=by_ends(embed_positions__weight=tiled)),
}
