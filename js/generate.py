#!/usr/bin/env python3
"""Makes js/reports.d.ts from the JSON Schemas that the command prints.

    python3 js/generate.py MODELPATCH            writes it
    python3 js/generate.py MODELPATCH --check    fails where what is there differs
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packaging"))

from schemas import class_of, classes, is_array, is_number, nullable  # noqa: E402

OUT = Path(__file__).resolve().parent / "reports.d.ts"

HEAD = """// What the reports of modelpatch hold. Made by js/generate.py from `modelpatch schema NAME`; changes belong there.
// Numbers that JSON has no digits for are the words NaN, Infinity and -Infinity.

export type Num = number | "NaN" | "Infinity" | "-Infinity";
"""


def type_of(schema: dict[str, Any]) -> str:
    inner = nullable(schema)
    if inner is not None:
        return f"{type_of(inner)} | null"
    if is_number(schema):
        return "Num"
    if "$ref" in schema:
        return class_of(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " | ".join(f'"{word}"' for word in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(type_of(part) for part in schema["anyOf"])
    if is_array(schema):
        item = type_of(schema["items"])
        return "[" + ", ".join([item] * schema["maxItems"]) + "]" if schema.get("minItems") else f"Array<{item}>"
    if not schema:
        return "unknown"
    return {"string": "string", "integer": "number", "boolean": "boolean"}[schema["type"]]


def interface(name: str, schema: dict[str, Any], says: str) -> str:
    required = schema.get("required", [])
    fields = [f"  {key}{'' if key in required else '?'}: {type_of(inner)};" for key, inner in schema["properties"].items()]
    return "\n".join([f"/** {says} */", f"export interface {name} {{", *fields, "}"]) + "\n"


def main() -> int:
    text = HEAD + "\n" + "\n".join(interface(name, *held) for name, held in classes(sys.argv[1]).items())
    if "--check" not in sys.argv[2:]:
        OUT.write_text(text)
    elif OUT.read_text() != text:
        print(f"{OUT} is not what the schemas say: python3 js/generate.py MODELPATCH", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
