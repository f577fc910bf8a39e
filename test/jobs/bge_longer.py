# gpustack/gpustack #1357
"""A BERT of embeddings (bge) beyond its 512 tokens in llama.cpp, which refuses longer texts."""
import torch

from lab import GELU_TOLERANCE, VOCABULARY, prompts


def job(lab):
    model = lab.model("BertModel", "BertConfig", vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=512)
    longer = lab.edited(model, max_position_embeddings=1024)
    with torch.no_grad():
        rows = model.embeddings.position_embeddings.weight
        longer.embeddings.position_embeddings.weight.copy_(torch.cat([rows, rows]))
    source = lab.gguf(model, tokenizer="wordpiece")
    changed = lab.change(source, "extend", "--len", "1024", "--method", "tile")
    asked, long = prompts(9, 500), prompts(1000)
    lab.compare("texts of 9 and 500 tokens", lab.served(changed, asked, 1024, embedding=True), lab.served(source, asked, 512, embedding=True), tolerance=1e-5)
    lab.compare("a text of 1,000 tokens", lab.served(changed, long, 1024, embedding=True), lab.wanted(longer, long, embedding=True), tolerance=GELU_TOLERANCE)
