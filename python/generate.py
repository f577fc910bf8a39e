#!/usr/bin/env python3
"""Makes modelpatch/reports.py from the JSON Schemas that the command prints.

    python3 python/generate.py MODELPATCH            writes it
    python3 python/generate.py MODELPATCH --check    fails where what is there differs
"""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent / "modelpatch" / "reports.py"

# The class of each report, and of each object in one; words that the schemas write together are apart here.
REPORTS = {"inspect": "Inspection", "plan": "Plan", "verify": "Verdict", "diff": "Difference", "check": "Checked", "patch": "Patch", "error": "Failure"}
OBJECTS = {
    "change": "EncodingChange", "verify": "Verdict", "checkedfacts": "CheckedFacts", "checkedfinding": "CheckedFinding",
    "declareddiff": "DeclaredDiff", "encodingdiff": "EncodingDiff", "keydiff": "KeyDiff", "lengthdiff": "LengthDiff", "nodediff": "NodeDiff",
    "tensordiff": "TensorDiff", "patchbeside": "PatchBeside", "patchedfile": "PatchedFile", "patchedit": "PatchEdit",
}
# What a notebook shows of a report.
SHOWN = {"Inspection": "inspection"}

HEAD = '''"""What the reports of modelpatch hold, as frozen dataclasses.

Made by python/generate.py from `modelpatch schema NAME`; changes belong there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


'''


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


def type_of(schema: dict[str, Any]) -> str:
    inner = nullable(schema)
    if inner is not None:
        return f"{type_of(inner)} | None"
    if is_number(schema):
        return "float"
    if "$ref" in schema:
        return class_of(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema:
        return f'Literal["{schema["const"]}"]'
    if "anyOf" in schema:
        return " | ".join(type_of(part) for part in schema["anyOf"])
    if is_array(schema):
        inner_type = type_of(schema["items"])
        return "tuple[" + ", ".join([inner_type] * schema["maxItems"]) + "]" if schema.get("minItems") else f"tuple[{inner_type}, ...]"
    if not schema:
        return "Any"
    return {"string": "str", "integer": "int", "boolean": "bool"}[schema["type"]]


def reader(schema: dict[str, Any], value: str) -> str:
    """The expression that makes of a JSON value what type_of says."""
    inner = nullable(schema)
    if inner is not None:
        read = reader(inner, value)
        return read if read == value else f"None if {value} is None else {read}"
    if is_number(schema):
        return f"float({value})"
    if "$ref" in schema:
        return f"{type_of(schema)}.read({value})"
    if "anyOf" in schema:
        word, array = schema["anyOf"]
        return f'{value} if {value} == "{word["const"]}" else {reader(array, value)}'
    if is_array(schema):
        item = reader(schema["items"], "x")
        values = value if schema.get("minItems") else f"{value} or ()"
        return f"tuple({values})" if item == "x" else f"tuple({item} for x in {values})"
    return value


def field(name: str, schema: dict[str, Any], required: bool) -> tuple[str, str]:
    """The declaration of a field, and the argument that reads it."""
    attribute = name + "_" if keyword.iskeyword(name) else name
    kind = type_of(schema)
    if required:
        return f"    {attribute}: {kind}", f'{attribute}={reader(schema, f"""d["{name}"]""")}'
    value = f'd.get("{name}")'
    if is_array(schema):
        return f"    {attribute}: {kind} = ()", f"{attribute}={reader(schema, value)}"
    if nullable(schema) is None and kind != "Any":
        schema, kind = {"anyOf": [schema, {"type": "null"}]}, f"{kind} | None"
    return f"    {attribute}: {kind} = None", f"{attribute}={reader(schema, value)}"


def class_text(name: str, schema: dict[str, Any], says: str) -> str:
    required = schema.get("required", [])
    # Fields without a default come first.
    names = [n for n in schema["properties"] if n in required] + [n for n in schema["properties"] if n not in required]
    fields = [field(n, schema["properties"][n], n in required) for n in names]
    lines = ["@dataclass(frozen=True)", f"class {name}:", f'    """{says}"""', "", *(declared for declared, _ in fields), ""]
    lines += ["    @classmethod", f"    def read(cls, d: Any) -> {name}:", '        """Makes one of an object of JSON."""', "        return cls("]
    lines += [f"            {argument}," for _, argument in fields] + ["        )"]
    if name in SHOWN:
        lines += ["", "    def _repr_html_(self) -> str:", f"        from ._html import {SHOWN[name]}", "", f"        return {SHOWN[name]}(self)"]
    return "\n".join(lines) + "\n"


def module(executable: str) -> str:
    classes: dict[str, tuple[dict[str, Any], str]] = {}
    for report, name in REPORTS.items():
        schema = json.loads(subprocess.run([executable, "schema", report], check=True, capture_output=True).stdout)
        classes[name] = (schema, f"A report of schema {schema['$id']}.")
        for key, inner in schema.get("$defs", {}).items():
            if key in REPORTS and OBJECTS.get(key) == REPORTS[key]:
                continue  # a report within a report
            known = classes.setdefault(class_of(key), (inner, f"The object {key} of the reports."))
            if known[0] != inner:
                raise SystemExit(f"generate.py: two objects are called {key}: give one another name in OBJECTS")
    return HEAD + "\n\n".join(class_text(name, *classes[name]) for name in sorted(classes))


def main() -> int:
    text = module(sys.argv[1])
    if "--check" not in sys.argv[2:]:
        OUT.write_text(text)
    elif OUT.read_text() != text:
        print(f"{OUT} is not what the schemas say: python3 python/generate.py MODELPATCH", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
