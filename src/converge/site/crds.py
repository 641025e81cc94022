"""A custom resource definition as a table of its fields, read from the YAML that the cluster gets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]

RULES = ("default", "enum", "minimum", "maximum", "minLength", "maxLength", "maxItems", "maxProperties", "pattern")


def render(root: Path, name: str) -> str:
    """Markdown for ``crds/NAME.yaml``: what it is called, then one table for the spec and one for the status."""
    crd = yaml.safe_load((root / "crds" / f"{name}.yaml").read_text())["spec"]
    version = next(version for version in crd["versions"] if version["storage"])
    schema = version["schema"]["openAPIV3Schema"]
    names = crd["names"]
    short = ", ".join(f"`{alias}`" for alias in [names["plural"], *names.get("shortNames", [])])
    parts = [
        f"{schema['description']} `apiVersion: {crd['group']}/{version['name']}`, `kind: {names['kind']}`, "
        f"{crd['scope'].lower()}; on the command line {short}."
    ]
    for section in ("spec", "status"):
        below = schema["properties"][section]
        rows = [
            f"| `{path}` | {_type(field)} | {_meaning(field, required)} |"
            for path, field, required in _fields(below, section)
        ]
        parts += [
            f"### {names['kind']} {section}",
            below.get("description", ""),
            "\n".join(["| field | type | meaning |", "|---|---|---|", *rows]),
        ]
    return "\n\n".join(part for part in parts if part)


def _fields(schema: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        yield here, field, name in required
        yield from _fields(field, here)
        if "items" in field:
            yield from _fields(field["items"], f"{here}[]")


def _type(field: Schema) -> str:
    if field["type"] == "array":
        return f"list of {field['items']['type']}"
    if "additionalProperties" in field:
        return f"map of {field['additionalProperties']['type']}"
    return str(field.get("format") if field["type"] == "integer" else field["type"])


def _meaning(field: Schema, required: bool) -> str:
    sentences = [field.get("description", "")]
    if required:
        sentences.append("Required.")
    rules = [f"{rule} `{str(field[rule]).lower() if isinstance(field[rule], bool) else field[rule]}`"
             for rule in RULES if rule in field]  # fmt: skip
    if rules:
        sentences.append(f"({', '.join(rules)})")
    sentences += [f"*{rule['message'][0].upper()}{rule['message'][1:]}.*"
                  for rule in field.get("x-kubernetes-validations", [])]  # fmt: skip
    return " ".join(sentence for sentence in sentences if sentence).replace("|", "\\|")
