"""What the JSON Schemas of the reports (`modelpatch schema NAME`) hold, for those who write their types in another language."""

from __future__ import annotations

import json
import subprocess
from typing import Any

# The class of each report, and of each object in one; words that the schemas write together are apart here.
REPORTS = {"inspect": "Inspection", "plan": "Plan", "verify": "Verdict", "diff": "Difference", "check": "Checked", "patch": "Patch", "error": "Failure"}
OBJECTS = {
    "change": "EncodingChange", "verify": "Verdict", "checkedfacts": "CheckedFacts", "checkedfinding": "CheckedFinding",
    "declareddiff": "DeclaredDiff", "encodingdiff": "EncodingDiff", "keydiff": "KeyDiff", "lengthdiff": "LengthDiff", "nodediff": "NodeDiff",
    "tensordiff": "TensorDiff", "patchbeside": "PatchBeside", "patchedfile": "PatchedFile", "patchedit": "PatchEdit",
}


def class_of(name: str) -> str:
    return OBJECTS.get(name) or name.capitalize()


def nullable(schema: dict[str, Any]) -> dict[str, Any] | None:
    """What may also be null in a schema of the form anyOf [X, null]."""
    parts = schema.get("anyOf", [])
    return parts[0] if len(parts) == 2 and parts[1] == {"type": "null"} else None


def is_number(schema: dict[str, Any]) -> bool:
    """Numbers that JSON has no digits for are words in the reports."""
    parts = schema.get("anyOf", [])
    return schema.get("type") == "number" or bool(parts) and parts[0] == {"type": "number"} and set(parts[1].get("enum", [])) == {"NaN", "Infinity", "-Infinity"}


def is_array(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "array" or isinstance(kind, list) and "array" in kind


def classes(executable: str) -> dict[str, tuple[dict[str, Any], str]]:
    """The schema of each class, and what it is in a sentence, by name."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for report, name in REPORTS.items():
        schema = json.loads(subprocess.run([executable, "schema", report], check=True, capture_output=True).stdout)
        found[name] = (schema, f"A report of schema {schema['$id']}.")
        for key, inner in schema.get("$defs", {}).items():
            if key in REPORTS and OBJECTS.get(key) == REPORTS[key]:
                continue  # a report within a report
            known = found.setdefault(class_of(key), (inner, f"The object {key} of the reports."))
            if known[0] != inner:
                raise SystemExit(f"schemas.py: two objects are called {key}: give one another name in OBJECTS")
    return dict(sorted(found.items()))
