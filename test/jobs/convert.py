"""llama.cpp's convert_hf_to_gguf.py on a model with a small tokenizer, whose hash it cannot know: the pre-tokenizer is GPT-2's.

usage: convert.py SOURCES_OF_LLAMA_CPP MODEL_FOLDER --outfile FILE --outtype f32
"""
import runpy
import sys

sources = sys.argv.pop(1)
sys.path[:0] = [sources, sources + "/gguf-py"]
from conversion import base

for name in ("TextModel", "ModelBase"):
    if hasattr(getattr(base, name, None), "get_vocab_base_pre"):
        getattr(base, name).get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
sys.argv[0] = sources + "/convert_hf_to_gguf.py"
runpy.run_path(sys.argv[0], run_name="__main__")
