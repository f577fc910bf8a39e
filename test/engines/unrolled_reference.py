#!/usr/bin/env python3
"""Recurrences that exporters wrote out for one length, made longer, against the same model of the new length.

usage: unrolled_reference.py MODELPATCH      (needs torch, transformers and onnxruntime)

Exporters run the loop of Python while they trace: each position gets nodes of its own (position/onnxpos/recurrence). Small networks
with such a loop beside sinusoids and causal attention are exported for 9 tokens by TorchScript and by torch.export, extended to 12 and 23, and
must give what PyTorch gives there. Where a step has numbers that no other step tells, or reads all before it, a refusal
is the right answer.
"""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch
import transformers as T

TOLERANCE = 1e-5
LENGTH = 9
LONGER = (12, 23)
WIDTH = 8


def stacked(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    for t in range(x.shape[1]):
        state = torch.tanh(net.a(x[:, t]) + net.b(state))
        out.append(state)
    return torch.stack(out, 1), state


def twice(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    x = stacked(net, x)[0]
    for t in range(x.shape[1]):
        state = torch.sigmoid(net.b(x[:, t]) * state + net.a(x[:, t]))
        out.append(state)
    return torch.stack(out, 1)


def scattered(net, x):
    state, out, gate = torch.zeros(len(x), WIDTH), torch.zeros_like(x), torch.sigmoid(net.a(x))
    for t in range(x.shape[1]):
        state = state * gate[:, t] + x[:, t]
        out[:, t] = state
    return out


def selective(net, x):
    """Mamba's scan (Gu and Dao 2023, algorithm 2)."""
    state, out = torch.zeros(len(x), WIDTH, 4), []
    step = torch.nn.functional.softplus(net.a(x))
    decay, drive = torch.exp(-step[..., None] * net.decay), step[..., None] * net.drive(x)[:, :, None]
    read = net.read(x)
    for t in range(x.shape[1]):
        state = decay[:, t] * state + drive[:, t] * x[:, t, :, None]
        out.append((state @ read[:, t, :, None]).squeeze(-1))
    return torch.stack(out, 1)


def selective_time_last(net, x):
    state, out = torch.zeros(len(x), WIDTH, 4), []
    step = torch.nn.functional.softplus(net.a(x)).transpose(1, 2)[..., None]
    decay, drive, read, turned = torch.exp(-step * net.decay[:, None]), step * net.drive(x)[:, None], net.read(x), x.transpose(1, 2)
    for t in range(x.shape[1]):
        state = decay[:, :, t] * state + drive[:, :, t] * turned[:, :, t, None]
        out.append((state @ read[:, t, :, None])[:, :, 0])
    return torch.stack(out, -1).transpose(1, 2)


def gated(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    for t in range(x.shape[1]):
        state = net.cell(x[:, t], state)
        out.append(state[:, None])
    return torch.cat(out, 1)


def unbound(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    for one in x.unbind(1):
        state = torch.tanh(net.a(one) + net.b(state))
        out.append(state)
    return torch.stack(out, 1)


def parted(net, x):
    state, out = torch.zeros(len(x), 1, WIDTH), []
    for one in x.split(1, 1):
        state = torch.tanh(net.a(one) + net.b(state))
        out.append(state)
    return torch.cat(out, 1)


def sliced(net, x):
    state, out = torch.zeros(len(x), 1, WIDTH), []
    for t in range(x.shape[1]):
        state = torch.tanh(net.a(x[:, t : t + 1]) + net.b(state))
        out.append(state)
    return torch.cat(out, 1)


def begun(net, x):
    out = [torch.zeros(len(x), WIDTH)]
    for t in range(x.shape[1]):
        out.append(torch.tanh(net.a(x[:, t]) + net.b(out[-1])))
    return torch.stack(out, 1)[:, 1:]


def backwards(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    for t in reversed(range(x.shape[1])):
        state = torch.tanh(net.a(x[:, t]) + net.b(state))
        out.append(state)
    return torch.stack(out[::-1], 1)


def of_second_order(net, x):
    state, before, out = torch.zeros(len(x), WIDTH), torch.zeros(len(x), WIDTH), []
    for t in range(x.shape[1]):
        state, before = torch.tanh(net.a(x[:, t]) + net.b(state) + before), state
        out.append(state)
    return torch.stack(out, 1)


def positions_first(net, x):
    return stacked(net, x.transpose(0, 1).transpose(0, 1))[0]


def averaged(net, x):
    out = [x[:, 0]]
    for t in range(1, x.shape[1]):
        out.append(0.9 * out[-1] + 0.1 * x[:, t])
    return torch.stack(out, 1)


def counted(net, x):
    total, out = torch.zeros(len(x), WIDTH), []
    for t in range(x.shape[1]):
        total = total + x[:, t]
        out.append(total / (t + 1))
    return torch.stack(out, 1)


def encoded(net, x):
    """A second recurrence that begins where the first one ends."""
    seen, state = stacked(net, x)
    out = []
    for t in range(x.shape[1]):
        state = torch.tanh(net.q(x[:, t]) + net.k(state))
        out.append(state)
    return torch.stack(out, 1) + seen


def with_rows(net, x):
    state, out = torch.zeros(len(x), WIDTH), []
    for t in range(x.shape[1]):
        state = torch.tanh(net.a(x[:, t]) + net.b(state) + net.rows[t])
        out.append(state)
    return torch.stack(out, 1)


def of_all_before(net, x):
    out = [x[:, 0]]
    for t in range(1, x.shape[1]):
        out.append(torch.tanh(net.a(x[:, t]) + torch.stack(out, 1).mean(1)))
    return torch.stack(out, 1)


def stepping(step):
    """A loop of a step of the network, the states so far, the tokens and the position."""

    def loop(net, x):
        out = []
        for t in range(int(x.shape[1])):
            out.append(step(net, x, out, t, int(x.shape[1])))
        return torch.stack(out, 1)

    return loop


def before(net, out, x):
    return net.b(out[-1]) if out else torch.zeros(len(x), WIDTH)


def counting(number):
    return stepping(lambda net, x, out, t, n: torch.tanh(net.a(x[:, t]) + 0.5 * before(net, out, x) + float(number(t, n))))


def shifted(net, x):
    state, out, n = torch.zeros(len(x), WIDTH), torch.zeros_like(x), int(x.shape[1])
    for t in range(n):
        state = torch.tanh(net.a(x[:, t]) + net.b(state))
        out[:, (t + 1) % n] = state
    return out


def less_last(net, x):
    out = stacked(net, x)[0].unbind(1)
    return torch.stack([one - out[-1] for one in out], 1)


# By name: the loop, and whether it can go on.
LOOPS = {
    "stack": (lambda net, x: stacked(net, x)[0], True),
    "the last state for all": (lambda net, x: stacked(net, x)[0] * 0.5 + stacked(net, x)[1][:, None], True),
    "two layers": (twice, True),
    "scatter": (scattered, True),
    "selective scan": (selective, True),
    "selective scan, time last": (selective_time_last, True),
    "GRU cell": (gated, True),
    "unbind": (unbound, True),
    "split": (parted, True),
    "slices": (sliced, True),
    "a state before": (begun, True),
    "from the end": (backwards, True),
    "both ways": (lambda net, x: stacked(net, x)[0] + backwards(net, x), True),
    "second order": (of_second_order, True),
    "positions first": (positions_first, True),
    "moving average": (averaged, True),
    "mean so far": (counted, True),
    "one behind another": (encoded, True),
    "a row for each step": (with_rows, False),
    "all before": (of_all_before, False),
    "t mod 4": (counting(lambda t, n: t % 4), False),
    "t over 3": (counting(lambda t, n: t // 3), False),
    "the last one": (counting(lambda t, n: t == n - 1), False),
    "to the end": (counting(lambda t, n: n - t), False),
    "from the middle": (counting(lambda t, n: t - n // 2), False),
    "other weights in the second half": (stepping(lambda net, x, out, t, n: torch.tanh((net.a, net.q)[t >= n // 2](x[:, t]) + before(net, out, x))), False),
    "the length in each step": (stepping(lambda net, x, out, t, n: torch.tanh(net.a(x[:, t]) * n + before(net, out, x))), False),
    "five back": (stepping(lambda net, x, out, t, n: torch.tanh(net.a(x[:, t]) + (net.b(out[t - 5]) if t >= 5 else 0))), False),
    "filled by turns": (stepping(lambda net, x, out, t, n: torch.tanh(net.a(x[:, t]) + before(net, out, x) + torch.full_like(x[:, t], t % 2))), False),
    "less the last state": (less_last, False),
    "all tokens so far": (stepping(lambda net, x, out, t, n: torch.tanh(net.a(x[:, t]) + before(net, out, x) + x[:, : t + 1].sum(1))), False),
    "shifted places": (shifted, False),
}


class Network(torch.nn.Module):
    def __init__(self, loop, length):
        super().__init__()
        torch.manual_seed(1)
        self.loop, self.length = loop, length
        self.embed, self.cell = torch.nn.Embedding(20, WIDTH), torch.nn.GRUCell(WIDTH, WIDTH)
        self.a, self.b, self.q, self.k, self.v = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(5))
        self.drive, self.read = torch.nn.Linear(WIDTH, 4), torch.nn.Linear(WIDTH, 4)
        self.decay, self.rows = torch.nn.Parameter(torch.rand(WIDTH, 4)), torch.nn.Parameter(torch.randn(64, WIDTH))
        angles = torch.arange(64)[:, None] * 1e4 ** (-torch.arange(WIDTH // 2) / (WIDTH // 2))
        self.register_buffer("waves", torch.cat([angles.sin(), angles.cos()], 1))

    def forward(self, input_ids):
        x = self.embed(input_ids) + self.waves[: self.length][None]
        x = x + self.loop(self, x)
        scores = self.q(x) @ self.k(x).transpose(1, 2) / WIDTH**0.5
        seen = torch.tril(torch.ones(self.length, self.length)).bool()
        return x + scores.masked_fill(~seen, -1e9).softmax(-1) @ self.v(x)


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids, attention_mask=torch.ones_like(input_ids), use_cache=False)[0]


def recurrent_gemma(_length):
    torch.manual_seed(1)
    config = T.RecurrentGemmaConfig(vocab_size=20, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48, lru_width=32, attention_window_size=64)
    config._attn_implementation = "eager"
    return Plain(T.RecurrentGemmaForCausalLM(config))


def mamba(_length):
    torch.manual_seed(1)
    config = T.MambaConfig(vocab_size=20, hidden_size=16, state_size=4, num_hidden_layers=2, expand=2)
    return Plain(T.MambaForCausalLM(config))


def export(model, dynamo, path, length):
    names = dict(input_names=["input_ids"], output_names=["out"])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(model, (torch.randint(0, 20, (2, length)),), path, opset_version=18 if dynamo else 17, dynamo=dynamo,
                          **(dict(external_data=False) if dynamo else {}), **names)


def tried(modelpatch, title, path, model, length, goes_on):
    """Whether a model of another length is what it should be."""
    other = f"{path}-{length}.onnx"
    made = subprocess.run([modelpatch, "extend", "--len", str(length), path, "-o", other], capture_output=True, text=True)
    if made.returncode:
        right = made.returncode == 4 and not goes_on
        print(f"{title}: {'ok' if right else 'FAILED'}: at {length}: {made.stderr.strip()[:200]}")
        return right
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    ids = torch.randint(0, 20, (2, length), generator=torch.Generator().manual_seed(3))
    got = onnxruntime.InferenceSession(other, options, providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids.numpy()})[0]
    with torch.no_grad():
        want = model(ids).numpy()
    off = float(np.abs(got - want).max() / np.abs(want).max()) if got.shape == want.shape else float("inf")
    right = off <= TOLERANCE and goes_on
    print(f"{title}: {'ok' if right else 'FAILED'}: at {length} positions differs by {off:.1e} of its scale")
    return right


def main():
    modelpatch, failed = sys.argv[1], 0
    makers = {name: (lambda length, loop=loop: Network(loop, length), goes_on) for name, (loop, goes_on) in LOOPS.items()}
    makers |= {"RecurrentGemma": (recurrent_gemma, True), "Mamba": (mamba, True)}
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, goes_on) in makers.items():
            for dynamo in (False, True):
                if dynamo and name in ("RecurrentGemma", "Mamba"):
                    continue  # torch.export does not take the one, and runs the other's scan as one operator
                path = os.path.join(folder, f"{name}-{'dy18' if dynamo else 'ts17'}.onnx".replace(" ", "-"))
                export(make(LENGTH).eval(), dynamo, path, LENGTH)
                for length in LONGER:
                    failed += not tried(modelpatch, os.path.basename(path)[:-5], path, make(length).eval(), length, goes_on)
                if goes_on and name != "both ways":  # what was written goes on again, but where two recurrences read the same and stand in another order now
                    failed += not tried(modelpatch, os.path.basename(path)[:-5] + " again", f"{path}-{LONGER[0]}.onnx", make(LONGER[1]).eval(), LONGER[1], True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
