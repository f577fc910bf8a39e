"""Computes one head's attention in float64 with NumPy from a job on standard input."""
import json
import sys

import numpy


def numbers(rows):
    return numpy.array([[float(x) for x in row] for row in rows]) if rows else None


job = json.load(sys.stdin)
query, key, value = (numbers(job[k]) for k in ("query", "key", "value"))


def turned(x):
    cos, sin = numbers(job.get("cos")), numbers(job.get("sin"))
    if job.get("angles"):
        angles = numbers(job["angles"])
        cos, sin = job["amplitude"] * numpy.cos(angles), job["amplitude"] * numpy.sin(angles)
    if cos is None:
        return x
    first, dim = job["first"], job["dim"]
    a, b = numpy.arange(first, first + dim // 2), numpy.arange(first + dim // 2, first + dim)
    if job["interleaved"]:
        a, b = numpy.arange(first, first + dim, 2), numpy.arange(first + 1, first + dim, 2)
    out = x.copy()
    out[:, a] = x[:, a] * cos[: len(x)] - x[:, b] * sin[: len(x)]
    out[:, b] = x[:, b] * cos[: len(x)] + x[:, a] * sin[: len(x)]
    return out


scores = turned(query) @ turned(key).T * job["scale"]
if job["softcap"] > 0:
    scores = job["softcap"] * numpy.tanh(scores / job["softcap"])
rows, columns = numpy.indices(scores.shape)
scores -= job["slope"] * numpy.abs(rows - columns)
if job.get("bias"):
    scores += numbers(job["bias"])
if job["causal"]:
    scores[columns > rows] = -numpy.inf
weights = numpy.exp(scores)
total = weights.sum(axis=1, keepdims=True) + sum(numpy.exp(float(x)) for x in job.get("sink", []))
print(json.dumps((weights / total @ value).tolist()))
