"""For the tests of an exporter: one assertion about a model's positions."""

from __future__ import annotations

from ._look import check
from ._model import Model


def assert_positions(model: Model, length: str | None = None, scheme: str | None = None) -> None:
    """Fails unless the model's positions are as expected and no rule of check finds an error.

    length and scheme are as in a policy (docs/policy.md): ">=8192", "rope".
    """
    __tracebackhide__ = True  # pytest shows the line of the caller
    expected = {name: value for name, value in (("length", length), ("scheme", scheme)) if value is not None}
    rules = [{"files": ["**"], "expect": [{"id": "assert_positions", **expected}]}] if expected else []
    report = check(model, policy={"version": 1, "for": rules} if rules else {"version": 1})
    if not report.passed:
        found = [f"{model.path}: {finding.message}" + (f" ({finding.hint})" if finding.hint else "")
                 for model in report for finding in model.findings if finding.level == "error" and finding.waived is None]
        raise AssertionError("\n".join(found))
