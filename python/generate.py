#!/usr/bin/env python3
"""Makes modelpatch/reports.py from the JSON Schemas that the command prints.

    python3 python/generate.py MODELPATCH            writes it
    python3 python/generate.py MODELPATCH --check    fails where what is there differs
"""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packaging"))

from schemas import class_of, classes, is_array, is_number, nullable  # noqa: E402

OUT = Path(__file__).resolve().parent / "modelpatch" / "reports.py"

# What a notebook shows of a report.
SHOWN = {"Inspection": "inspection"}

HEAD = '''"""What the reports of modelpatch hold, as frozen dataclasses.

Made by python/generate.py from `modelpatch schema NAME`; changes belong there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Made = TypeVar("Made")


def _made(cls: type[Made], fields: dict[str, Any]) -> Made:
    """What cls(**fields) makes, in half the time: the __init__ of a frozen class sets each field by a call."""
    made = object.__new__(cls)
    made.__dict__.update(fields)
    return made


'''


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
    if "enum" in schema:
        return "Literal[" + ", ".join(f'"{word}"' for word in schema["enum"]) + "]"
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
        read = reader(inner, "v")
        return value if read == "v" else f"None if (v := {value}) is None else {read}"
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
        return f"    {attribute}: {kind}", f'"{attribute}": {reader(schema, f"""d["{name}"]""")}'
    value = f'd.get("{name}")'
    if is_array(schema):
        return f"    {attribute}: {kind} = ()", f'"{attribute}": {reader(schema, value)}'
    if nullable(schema) is None and kind != "Any":
        schema, kind = {"anyOf": [schema, {"type": "null"}]}, f"{kind} | None"
    return f"    {attribute}: {kind} = None", f'"{attribute}": {reader(schema, value)}'


def class_text(name: str, schema: dict[str, Any], says: str) -> str:
    required = schema.get("required", [])
    # Fields without a default come first.
    names = [n for n in schema["properties"] if n in required] + [n for n in schema["properties"] if n not in required]
    fields = [field(n, schema["properties"][n], n in required) for n in names]
    lines = ["@dataclass(frozen=True)", f"class {name}:", f'    """{says}"""', "", *(declared for declared, _ in fields), ""]
    lines += ["    @classmethod", f"    def read(cls, d: Any) -> {name}:", '        """Makes one of an object of JSON."""', "        return _made(cls, {"]
    lines += [f"            {argument}," for _, argument in fields] + ["        })"]
    if name in SHOWN:
        lines += ["", "    def _repr_html_(self) -> str:", f"        from ._html import {SHOWN[name]}", "", f"        return {SHOWN[name]}(self)"]
    return "\n".join(lines) + "\n"


def module(executable: str) -> str:
    return HEAD + "\n\n".join(class_text(name, *held) for name, held in classes(executable).items())


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
