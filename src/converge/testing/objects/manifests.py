"""Kubernetes manifests from files: one object or many, YAML or JSON, a file or a whole folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

ENDINGS = (".yaml", ".yml", ".json")


class ManifestError(Exception):
    """A file that can't be used, and why, in a sentence."""


def read(*paths: Path | str, skipped: list[ManifestError] | None = None) -> list[dict[str, Any]]:
    """Every object of these files. A folder stands for all manifests below it.

    With `skipped`, files in a folder that can't be read are left out and put there: templates of Helm, for example.
    """
    found: list[dict[str, Any]] = []
    for path in map(Path, paths):
        for file in _files(path):
            try:
                found += _objects(file)
            except ManifestError as error:
                if skipped is None or file == path:
                    raise
                skipped.append(error)
    return found


def of_kind(documents: Iterable[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    """The objects of these kinds."""
    return [each for each in documents if each["kind"] in kinds]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    if not path.is_file():
        raise ManifestError(f"{path}: there is no such file")
    return [path]


def _objects(file: Path) -> list[dict[str, Any]]:
    try:
        documents = [each for each in yaml.safe_load_all(file.read_text()) if each is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ManifestError(f"{file}{where}: not YAML: {getattr(error, 'problem', None) or error}") from error
    found: list[dict[str, Any]] = []
    for document in documents:
        if not isinstance(document, dict):
            raise ManifestError(f"{file}: an object begins with apiVersion and kind, and this is {document!r:.60}")
        items = document.get("items")
        found += items if document.get("kind") == "List" and isinstance(items, list) else [document]
    # What isn't an object of Kubernetes (a kustomization without a kind, a Helm values file) isn't a manifest.
    return [each for each in found if "apiVersion" in each and "kind" in each]
