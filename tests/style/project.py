"""The files of this project, as the style tests look at them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python_files(*folders: str) -> list[Path]:
    """All Python files below the folders, by their paths from the root."""
    return [path for path in files() if path.suffix == ".py" and path.parts[0] in folders]


def files() -> list[Path]:
    """All files that belong to the project, by their paths from the root."""
    return sorted(path.relative_to(ROOT) for path in _walk())


def text(path: Path) -> str:
    """The content of a project file."""
    return (ROOT / path).read_text(encoding="utf-8")


def syntax(path: Path) -> ast.Module:
    """The syntax tree of a Python file of the project."""
    return ast.parse(text(path))


def _walk() -> Iterator[Path]:
    patterns = [line.rstrip("/") for line in text(Path(".gitignore")).splitlines()]

    def belongs(folder: Path, name: str) -> bool:
        relative = (folder / name).relative_to(ROOT).as_posix()
        return name != ".git" and not any(
            fnmatch(name, pattern) or relative == pattern for pattern in patterns
        )

    for place, folders, names in os.walk(ROOT):
        folder = Path(place)
        folders[:] = [name for name in folders if belongs(folder, name)]
        yield from (folder / name for name in names if belongs(folder, name))
