"""``penstock init``: writes a small working pipeline with its test."""

from __future__ import annotations

import keyword
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

import click

from penstock.cli.failures import BadInput

__all__ = ["command"]

WRITTEN: Final = ("README.md", "penstock.toml", "pipeline.py", "test_pipeline.py")
DATA: Final = "readings.jsonl"
TEMPLATES: Final = {"spark": (DATA,), "plain": (DATA,), "kafka-to-postgres": ()}
"""The data that comes with each."""
SUFFIX: Final = ".template"


@click.command(name="init")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The folder in which the new one is made; else this one.",
)
@click.option("--plain", is_flag=True, help="A pipeline without Spark: --template plain.")
@click.option(
    "--template",
    type=click.Choice([*TEMPLATES]),
    default="spark",
    show_default=True,
    help="Which pipeline it is.",
)
def command(name: str, into: Path, plain: bool, template: str) -> None:
    """Write a small working pipeline with its test.

    It makes the folder NAME and overwrites nothing.
    """
    require_name(name)
    folder = into / name
    kind = "plain" if plain else template
    try:
        folder.mkdir()
        for file, text in texts(name, kind).items():
            (folder / file).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise BadInput(f"{folder} is there already; take another name, or another --into") from None
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error.strerror}") from None
    click.echo(f"{folder} has {', '.join([*WRITTEN, *TEMPLATES[kind]])}; go on with")
    click.echo(f"  cd {folder}\n  penstock run pipeline:pipeline --config penstock.toml")


def require_name(name: str) -> None:
    """A name that can stand wherever pipelines are named: in Python, on the page, in a file."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise BadInput(
            f"{name!r} cannot be the name of a pipeline; a name is made of letters, digits and _, "
            "does not begin with a digit, and is no word of Python"
        )


def texts(name: str, kind: str) -> dict[str, str]:
    """The files of a new pipeline."""
    templates = files("penstock.cli") / "templates"
    written = {
        file: (templates / kind / f"{file}{SUFFIX}").read_text(encoding="utf-8") for file in WRITTEN
    }
    return {
        **{file: Template(text).substitute(name=name) for file, text in written.items()},
        **{file: (templates / file).read_text(encoding="utf-8") for file in TEMPLATES[kind]},
    }
