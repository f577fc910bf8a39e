"""Projectors of llama.cpp with another picture size: does its server take the picture, and as the model's own code would have it?

Makes a small Llama and small projectors (LLaVA's, with a class token; Gemma 3's; InternVL's) with random weights, changes the
picture by `extend --image`, and asks the server that xllamacpp holds for the next token behind a picture. Compared with a projector
that was written for the new size, its table resampled by PyTorch: the number of tokens that the picture takes, and log-probabilities.

    python test/engines/mmproj.py MODELPATCH LLAMA_PYTHON    (gguf, numpy, torch here; xllamacpp there)
"""
import base64
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zlib

SERVE = """
import sys, threading, xllamacpp as x
p = x.CommonParams()
p.model.path, p.mmproj.path, p.n_ctx, p.n_parallel, p.warmup, p.ui, p.fit_params = sys.argv[1], sys.argv[2], 1024, 1, False, False, False
p.hostnames, p.port, p.cpuparams.n_threads, p.mmproj_use_gpu = ["127.0.0.1"], 0, 1, False
p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
s = x.Server(p)
print("listening on", s.listening_address, flush=True)
threading.Event().wait()
"""
WIDTH, PATCH, LAYERS, HEADS = 32, 8, 2, 2


def language_model(path, rng):
    import gguf

    w = gguf.GGUFWriter(str(path), "llama")
    for add, value in ((w.add_block_count, 1), (w.add_context_length, 1024), (w.add_embedding_length, WIDTH), (w.add_feed_forward_length, WIDTH),
                       (w.add_head_count, HEADS), (w.add_head_count_kv, HEADS), (w.add_layer_norm_rms_eps, 1e-6), (w.add_rope_dimension_count, WIDTH // HEADS)):
        add(value)
    # GPT-2's alphabet of bytes
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelled = {b: chr(b) for b in printable}
    for n, b in enumerate(b for b in range(256) if b not in printable):
        spelled[b] = chr(256 + n)
    tokens = [spelled[b] for b in range(256)] + ["<s>", "</s>", "ab"]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("default")
    w.add_token_list(tokens)
    w.add_token_types([1] * 256 + [3, 3, 1])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(256)
    w.add_eos_token_id(257)
    w.add_add_bos_token(False)

    def tensor(name, *shape):
        w.add_tensor(name, (rng.standard_normal(shape) * 0.3).astype("float32"))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    w.add_tensor("output_norm.weight", rng.standard_normal(WIDTH).astype("float32"))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        tensor(f"blk.0.{name}.weight", WIDTH, WIDTH)
    for name in ("attn_norm", "ffn_norm"):
        w.add_tensor(f"blk.0.{name}.weight", rng.standard_normal(WIDTH).astype("float32"))
    finish(w)


def projector(path, kind, side, table, weights):
    """A projector for pictures of side pixels; weights gives the same numbers to a name whatever the size."""
    import gguf

    w = gguf.GGUFWriter(str(path), "clip")
    w.add_type("mmproj")
    w.add_bool("clip.has_vision_encoder", True)
    w.add_string("clip.projector_type", kind)
    for key, value in (("image_size", side), ("patch_size", PATCH), ("embedding_length", WIDTH), ("feed_forward_length", WIDTH), ("block_count", LAYERS),
                       ("attention.head_count", HEADS), ("projection_dim", WIDTH)):
        w.add_uint32(f"clip.vision.{key}", value)
    w.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    w.add_array("clip.vision.image_mean", [0.5] * 3)
    w.add_array("clip.vision.image_std", [0.5] * 3)
    w.add_bool("clip.use_gelu", True)

    def tensor(name, *shape):
        w.add_tensor(name, weights(name, shape))

    tensor("v.patch_embd.weight", WIDTH, 3, PATCH, PATCH)
    w.add_tensor("v.position_embd.weight", table)
    for i in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_out", "ffn_up", "ffn_down"):
            tensor(f"v.blk.{i}.{name}.weight", WIDTH, WIDTH)
            tensor(f"v.blk.{i}.{name}.bias", WIDTH)
        for name in ("ln1", "ln2"):
            tensor(f"v.blk.{i}.{name}.weight", WIDTH)
            tensor(f"v.blk.{i}.{name}.bias", WIDTH)
    if kind == "mlp":
        tensor("v.class_embd", WIDTH)
        for name in ("v.pre_ln", "v.post_ln"):
            tensor(name + ".weight", WIDTH)
            tensor(name + ".bias", WIDTH)
        w.add_bool("clip.has_llava_projector", True)
        tensor("mm.0.weight", WIDTH, WIDTH)
        tensor("mm.0.bias", WIDTH)
        tensor("mm.2.weight", WIDTH, WIDTH)
        tensor("mm.2.bias", WIDTH)
    elif kind == "gemma3":
        w.add_uint32("clip.vision.projector.scale_factor", 2)
        tensor("v.post_ln.weight", WIDTH)
        tensor("v.post_ln.bias", WIDTH)
        tensor("mm.input_projection.weight", WIDTH, WIDTH)
        tensor("mm.soft_emb_norm.weight", WIDTH)
    elif kind == "internvl":
        w.add_uint32("clip.vision.projector.scale_factor", 2)
        tensor("v.class_embd", WIDTH)
        tensor("mm.model.mlp.0.weight", 4 * WIDTH)
        tensor("mm.model.mlp.0.bias", 4 * WIDTH)
        tensor("mm.model.mlp.1.weight", WIDTH, 4 * WIDTH)
        tensor("mm.model.mlp.1.bias", WIDTH)
        tensor("mm.model.mlp.3.weight", WIDTH, WIDTH)
        tensor("mm.model.mlp.3.bias", WIDTH)
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def resampled(table, prefix, grid):
    import torch

    side = round((len(table) - prefix) ** 0.5)
    patches = torch.from_numpy(table[prefix:]).double().reshape(1, side, side, WIDTH).permute(0, 3, 1, 2)
    patches = torch.nn.functional.interpolate(patches, size=(grid, grid), mode="bicubic", align_corners=False)
    rows = patches.permute(0, 2, 3, 1).reshape(grid * grid, WIDTH).numpy().astype("float32")
    import numpy

    return numpy.concatenate([table[:prefix], rows])


def png(side, rng):
    rows = b"".join(b"\0" + rng.integers(0, 256, 3 * side, dtype="uint8").tobytes() for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def asked(python, model, projector, picture):
    """What the server says of the token behind a picture: tokens of the prompt, and log-probabilities."""
    server = subprocess.Popen([python, "-c", SERVE, str(model), str(projector)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        if "listening on" not in line:
            raise SystemExit("the server does not load it: " + server.stderr.read()[-2000:])
        at = line.split("listening on", 1)[1].strip()
        at = at if at.startswith("http") else "http://" + at
        import threading

        threading.Thread(target=server.stderr.read, daemon=True).start()
        with urllib.request.urlopen(at + "/props", timeout=60) as r:
            marker = json.load(r).get("media_marker", "<__media__>")
        body = {"prompt": {"prompt_string": "x" + marker + "y", "multimodal_data": [base64.b64encode(picture).decode()]}, "n_predict": 1,
                "temperature": 0, "n_probs": 259, "cache_prompt": False, "logit_bias": [[65, 100]]}
        request = urllib.request.Request(at + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as r:
            answer = json.load(r)
        top = {p["id"]: p["logprob"] for p in answer["completion_probabilities"][0]["top_logprobs"]}
        return answer["tokens_evaluated"], top
    finally:
        server.kill()


def main(modelpatch, python):
    import numpy

    rng = numpy.random.default_rng(1)
    folder = pathlib.Path(tempfile.mkdtemp())
    language_model(folder / "llama.gguf", rng)
    made = {}

    def weights(name, shape):
        if (name, shape) not in made:
            made[name, shape] = (rng.standard_normal(shape) * 0.3).astype("float32")
        return made[name, shape]

    failed = False
    for kind, prefix, old, new, merge in (("mlp", 1, 48, 64, 1), ("mlp", 1, 48, 32, 1), ("gemma3", 0, 48, 64, 2), ("internvl", 1, 48, 96, 2)):
        before, after, wanted = (folder / f"{kind}-{n}.gguf" for n in (old, f"{new}-changed", f"{new}-made"))
        table = (rng.standard_normal((prefix + (old // PATCH) ** 2, WIDTH))).astype("float32")
        projector(before, kind, old, table, weights)
        projector(wanted, kind, new, resampled(table, prefix, new // PATCH), weights)
        subprocess.run([modelpatch, "extend", "--image", str(new), str(before), "-o", str(after)], check=True, stdout=subprocess.DEVNULL)
        other = folder / f"{kind}-{new}-other.gguf"
        subprocess.run([modelpatch, "extend", "--image", str(new), "--kernel", "bilinear", str(before), "-o", str(other)], check=True, stdout=subprocess.DEVNULL)
        picture = png(new, rng)
        n0, _ = asked(python, folder / "llama.gguf", before, png(old, rng))
        n1, got = asked(python, folder / "llama.gguf", after, picture)
        n2, want = asked(python, folder / "llama.gguf", wanted, picture)
        _, bilinear = asked(python, folder / "llama.gguf", other, picture)
        off, seen = (max(abs(p[t] - want[t]) for t in want) for p in (got, bilinear))
        ok = n1 == n2 and n1 - n0 == (new // PATCH // merge) ** 2 - (old // PATCH // merge) ** 2 and off < 1e-4 < seen
        failed |= not ok
        print(f"{kind} {old} → {new} pixels: {n0} → {n1} tokens of the prompt; log-probabilities off by {off:.1e} (of another kernel {seen:.1e}): {'ok' if ok else 'DIFFERENT'}")
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
