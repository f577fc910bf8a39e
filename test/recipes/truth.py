"""What a configuration says of positions, in the words that score-inspect compares with a report: one function a scheme.

`accept` lists other values that are as right for a field, where a configuration leaves the choice to the exporter.
"""


def encoding(scheme, form, capacity=None, accept=None, **parameters):
    out = dict(scheme=scheme, form=form, capacity=capacity, parameters=parameters)
    if accept:
        out["accept"] = accept
    return out


def table(rows, dim, capacity=None, accept=None, **more):
    return encoding("learned", "table", capacity or rows, accept or {}, rows=rows, dim=dim, **more)


def patches(side, dim, prefix, **accept):
    accept = dict({"form": ["baked", "table"], "rows": [side * side, side * side + prefix]}, **accept)
    return encoding("learned", "baked", side * side, accept, rows=side * side + prefix, dim=dim, grid=[side, side], prefix=prefix)


def rope(dim, head, layout, base=10000, form="runtime", accept=None, **scaling):
    return encoding("rope", form, None, dict({"form": ["runtime", "cache", "baked"], "capacity": list(range(1, 2000))}, **(accept or {})), rotary_dim=dim, head_dim=head, layout=layout, base=base, scaling=scaling or dict(type="none"))


def none(**accept):
    return encoding("none", None, None, dict({"scheme": ["conv"]}, **accept))


def unknown(*also):
    return encoding("unknown", "runtime", None, {"scheme": ["unknown", *also], "form": ["runtime", "baked", "table", "cache"], "capacity": [None, *range(1, 300)]})
