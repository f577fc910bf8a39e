"""What the jobs share: small models of transformers with random weights and a published position configuration, llama.cpp's own
converter, llama-server, PyTorch's exporters and ONNX Runtime, and the comparison of what an engine computes with transformers.

A job holds what the engine gives for the changed file against transformers with the edited configuration (`Lab.compare`), and shows
that the file as it was gave something else, or nothing (`unchanged=`, `Lab.ends`).
"""
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers as T

torch.manual_seed(0)
T.logging.set_verbosity_error()
T.logging.disable_progress_bar()
VOCABULARY = 384  # of the models
WORDS = 320  # of the tokenizers: loaders of some families add words of their own
SMALL = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=64)
MIXTURE = dict(SMALL, moe_intermediate_size=48, num_experts=4, num_experts_per_tok=2, norm_topk_prob=True)
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2)
PATCHES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
# Log-probabilities of llama.cpp in float32 against transformers in float32: sums in another order, and angles that llama.cpp
# multiplies up one pair after the other (ggml_rope_cache_init), which costs some 1e-7 of the position.
LLAMA_TOLERANCE = 2e-3
# Outputs of ONNX Runtime against PyTorch over the largest output: sums in another order.
ONNX_TOLERANCE = 2e-5
# ggml's CPU kernel takes GELU from a table of 16-bit numbers (GGML_GELU_FP16 in ggml-cpu/vec.h).
GELU_TOLERANCE = 2e-2
# A job has shown nothing where the file as it was gives the wanted numbers, too.
TELLING = 5


class Failed(Exception):
    """A job whose change was not made, or did not give what it should."""


class Refused(Exception):
    """The words of a refusal."""


class Skipped(Exception):
    """What a job needs and is not there."""


class Lab:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.commands, self.rows = tool, folder, [], []

    def path(self, name):
        return os.path.join(self.folder, name)

    # --- models
    def model(self, kind, config, seed=1, **numbers):
        """A model of transformers with seeded weights, large enough that positions are seen in its outputs."""
        torch.manual_seed(seed)
        made = getattr(T, kind)(getattr(T, config)(initializer_range=0.15, **{"attn_implementation": "sdpa", **numbers})).eval().float()
        with torch.no_grad():
            for p in made.parameters():
                if p.ndim == 1:
                    p.add_(torch.randn_like(p) * 0.05)
        return made

    def edited(self, model, **numbers):
        """The same weights under a configuration with other numbers: what the thread would have got by converting anew."""
        config = type(model.config)(**{**model.config.to_dict(), **numbers})
        config._attn_implementation = model.config._attn_implementation
        other = type(model)(config).eval().float()
        state, own = model.state_dict(), other.state_dict()
        other.load_state_dict({k: v for k, v in state.items() if k in own and v.shape == own[k].shape}, strict=False)
        return other

    # --- GGUF
    def tokenizer(self, folder, kind):
        if kind == "wordpiece":
            words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(c) for c in range(33, 127)] + ["##" + chr(c) for c in range(33, 127)]
            words += [f"word{i}" for i in range(WORDS - len(words))]
            open(os.path.join(folder, "vocab.txt"), "w").write("\n".join(words) + "\n")
            T.BertTokenizerFast(vocab_file=os.path.join(folder, "vocab.txt")).save_pretrained(folder)
            return
        if kind == "sentencepiece":
            import sentencepiece

            text = self.path("text")
            open(text, "w").write("\n".join(f"some words and the number {i} of the line" for i in range(400)))
            sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=os.path.join(folder, "tokenizer"), vocab_size=WORDS, model_type="bpe", byte_fallback=True,
                                                     hard_vocab_limit=True, pad_id=3, minloglevel=9)
            json.dump({"tokenizer_class": "LlamaTokenizer"}, open(os.path.join(folder, "tokenizer_config.json"), "w"))
            return
        from tokenizers import Tokenizer, models, pre_tokenizers, decoders
        from transformers.convert_slow_tokenizer import bytes_to_unicode

        letters = list(bytes_to_unicode().values())
        pairs = [(a, b) for a in "abcdefgh" for b in "abcdefgh"][: WORDS - len(letters) - 3]
        words = ["<s>", "</s>", "<pad>"] + letters + [a + b for a, b in pairs]
        bpe = Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, pairs))
        bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        T.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", pad_token="<pad>").save_pretrained(folder)

    def gguf(self, model, name="model", tokenizer="bytes", drop=(), config=None, tokenizer_class=None):
        """The file that llama.cpp's converter writes of a model; drop: keys that an older or other converter left out; config: words of
        config.json that transformers no longer writes."""
        folder, target = self.path(name), self.path(name + ".gguf")
        os.makedirs(folder, exist_ok=True)
        model.save_pretrained(folder)
        if config:
            amend(os.path.join(folder, "config.json"), **config)
        self.tokenizer(folder, tokenizer)
        if tokenizer_class:
            amend(os.path.join(folder, "tokenizer_config.json"), tokenizer_class=tokenizer_class)
        source = os.path.join(os.path.dirname(os.environ["GGUF_VOCAB_DIR"]), "llama-src", "llama.cpp")
        run = subprocess.run([sys.executable, "-W", "ignore", os.path.join(os.path.dirname(os.path.abspath(__file__)), "convert.py"), source, folder, "--outfile", target, "--outtype", "f32"], capture_output=True, text=True)
        if run.returncode:
            raise Failed("the converter: " + run.stderr.strip().splitlines()[-1])
        if drop:
            without(target, drop)
        return target

    def served(self, path, prompts, context, embedding=False):
        """Log-probabilities of the next token after each prompt, from llama-server; or embeddings of all tokens."""
        with Server(path, context, embedding) as server:
            return [server.embedded(p) if embedding else server.next(p) for p in prompts]

    def granted(self, path, context):
        """Tokens that llama-server gives a prompt when it is asked for a context."""
        with Server(path, context, False) as server:
            return server.ask("/slots")[0]["n_ctx"]

    def wanted(self, model, prompts, embedding=False):
        with torch.no_grad():
            if embedding:
                return [model(torch.tensor([p]))[0][0].numpy() for p in prompts]
            return [torch.log_softmax(model(torch.tensor([p]), **({} if "logits_to_keep" not in forward_names(model) else {"logits_to_keep": 1})).logits[0, -1].double(), -1).numpy() for p in prompts]

    # --- ONNX
    def onnx(self, model, sample, names, free, name="model", dynamo=False, outputs=1):
        """A graph by one of PyTorch's exporters; free: {input: {axis: name}}."""
        target = self.path(name + ".onnx")
        model.eval()
        if dynamo:
            shapes = tuple({axis: torch.export.Dim.AUTO for axis in free.get(n, {})} for n in names)
            torch.onnx.export(model, sample, target, input_names=names, output_names=[f"out{i}" for i in range(outputs)], dynamic_shapes=shapes, dynamo=True, opset_version=18, verbose=False)
        else:
            torch.onnx.export(model, sample, target, input_names=names, output_names=[f"out{i}" for i in range(outputs)], dynamic_axes=free, opset_version=17, dynamo=False)
        return target

    def run(self, path, **inputs):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})[0]

    def ends(self, path, what, **inputs):
        """Holds that the file as it was does not run on these inputs."""
        try:
            self.run(path, **inputs)
        except Exception:
            self.rows.append((f"{what}: failed before", None, None))
            return
        raise Failed(f"{what}: the file as it was runs as well")

    def genai(self, model):
        """The graph that ONNX Runtime GenAI's model builder makes of a model."""
        if importlib.util.find_spec("onnxruntime_genai") is None:
            raise Skipped("onnxruntime-genai is not installed")
        folder = self.path("genai")
        os.makedirs(folder + "/in")
        model.save_pretrained(folder + "/in")
        self.tokenizer(folder + "/in", "bytes")
        run = subprocess.run([sys.executable, "-W", "ignore", "-m", "onnxruntime_genai.models.builder", "-i", folder + "/in", "-m", folder + "/in", "-o", folder + "/out", "-p", "fp32", "-e", "cpu", "-c", folder + "/cache"],
                             capture_output=True, text=True)
        if run.returncode:
            raise Failed("the builder: " + run.stderr.strip()[-3000:])
        return folder + "/out/model.onnx"

    def decode(self, path, text, config):
        """Logits of a text in one pass of a graph with caches, which are empty."""
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        feeds = {"input_ids": text, "attention_mask": np.ones_like(text), "position_ids": np.arange(text.shape[1])[None]}
        for i in session.get_inputs():
            if i.name not in feeds:
                feeds[i.name] = np.zeros([1, config.num_key_value_heads, 0, config.hidden_size // config.num_attention_heads], np.float32)
        return session.run(["logits"], {i.name: feeds[i.name] for i in session.get_inputs()})[0]

    def outputs(self, model, *inputs):
        """What a model of PyTorch gives first."""
        with torch.no_grad():
            out = model(*inputs)
        return (out if isinstance(out, torch.Tensor) else first(out)).numpy()

    # --- changes
    def change(self, source, *words, name=None):
        """modelpatch's result for a file."""
        target = self.path(name or "changed-" + os.path.basename(source))
        self.commands.append(" ".join(["modelpatch", *words, os.path.basename(source)]))
        run = subprocess.run([self.tool, *words, source, "-o", target, "--force"], capture_output=True, text=True)
        if run.returncode == 4:
            raise Refused(run.stderr.strip().splitlines()[0])
        if run.returncode:
            raise Failed(f"exit {run.returncode}: " + run.stderr.strip())
        return target

    def inspect(self, path):
        return json.loads(subprocess.run([self.tool, "inspect", "--json", path], check=True, capture_output=True, text=True).stdout)

    # --- comparisons
    def compare(self, what, got, want, unchanged=None, tolerance=None):
        """Holds numbers of an engine against transformers': lists of log-probabilities as they are, outputs over the largest."""
        listed = isinstance(want, list)
        tolerance = tolerance or (LLAMA_TOLERANCE if listed else ONNX_TOLERANCE)
        pairs = (lambda a: zip(a, want)) if listed else (lambda a: [(a, want)])
        scale = 1 if listed else float(np.abs(want).max())
        differs = lambda a: max(float(np.abs(np.asarray(x, np.float64) - y).max()) for x, y in pairs(a)) / scale
        now, before = differs(got), None if unchanged is None else differs(unchanged)
        self.rows.append((what, now, before))
        if not now <= tolerance:
            raise Failed(f"{what}: {now:.1e} from transformers, more than {tolerance:g}")
        if before is not None and before < TELLING * max(now, 1e-7):
            raise Failed(f"{what}: the file as it was is as near ({before:.1e}, now {now:.1e}): the job shows nothing")

    def expect(self, what, holds):
        self.rows.append((what, None, None))
        if not holds:
            raise Failed(what + ": it is not so")


class One(torch.nn.Module):
    """A model with its first output alone, as graphs have it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return first(self.model(x))


def first(out):
    return out.logits if getattr(out, "logits", None) is not None else out[0]


def forward_names(model):
    return model.forward.__code__.co_varnames


def amend(path, **words):
    with open(path) as f:
        written = json.load(f)
    written.update(words)
    with open(path, "w") as f:
        json.dump(written, f)


def without(path, keys):
    """Writes a GGUF file anew without some keys, as converters that do not know them leave it."""
    import gguf

    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(path + ".part", architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture" or name in [k.replace("ARCH", architecture) for k in keys]:
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for t in reader.tensors:
        if t.name not in keys:
            writer.add_tensor(t.name, t.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(path + ".part", path)


class Server:
    """llama-server on a file, with numbers of 32 bits wherever it has a choice."""

    def __init__(self, path, context, embedding):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.log, self.url = path + ".log", f"http://127.0.0.1:{port}"
        flags = ["-m", path, "-c", str(context), "-np", "1", "--host", "127.0.0.1", "--port", str(port), "--no-warmup", "-t", "2", "-fa", "off", "-ctk", "f32", "-ctv", "f32", "--fit", "off", "--slots"]
        flags += ["--embedding", "--pooling", "none", "-b", str(context), "-ub", str(context)] if embedding else []
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([os.environ["LLAMA_SERVER"], *flags], stdout=log, stderr=log)

    def __enter__(self):
        for _ in range(600):
            if self.process.poll() is not None:
                with open(self.log) as log:
                    raise Failed("llama-server: " + "; ".join(line.strip() for line in log if " E " in line)[:300])
            try:
                self.ask("/health")
                return self
            except (OSError, Failed):
                time.sleep(0.1)
        raise Failed("llama-server did not start within a minute")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, page, body=None):
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + page, data, {"Content-Type": "application/json"}), timeout=600) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            raise Failed("llama-server: " + e.read().decode()[:300]) from e

    def embedded(self, prompt):
        return np.asarray(self.ask("/embedding", {"content": [int(i) for i in prompt], "embd_normalize": -1})[0]["embedding"])

    def next(self, prompt):
        # The pick is forced to a token of ASCII: of incomplete UTF-8 the server tells no probabilities.
        got = self.ask("/completion", {"prompt": [int(i) for i in prompt], "n_predict": 1, "temperature": 0, "n_probs": VOCABULARY, "cache_prompt": False, "logit_bias": [[ASCII, 100]]})
        row = np.full(VOCABULARY, np.nan)
        for word in got["completion_probabilities"][0]["top_logprobs"]:
            row[word["id"]] = word["logprob"]
        return row


ASCII = 70


def prompts(*lengths, seed=3):
    """Random tokens, without those that mean something."""
    random = np.random.RandomState(seed)
    return [random.randint(10, WORDS - 10, n).tolist() for n in lengths]
