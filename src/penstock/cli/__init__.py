"""The command line: ``penstock``. Its commands live in one module each, loaded when called."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install where its libraries are missing."""
    try:
        from penstock.cli.application import application

        application(prog_name="penstock")
    except ModuleNotFoundError as missing:
        if missing.name not in {"click", "rich"}:
            raise
        print(
            f"penstock: the command line needs {missing.name}; pip install 'penstock[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
