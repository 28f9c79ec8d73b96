"""``penstock deploy``: writes the files that run a pipeline for months, and those that watch it."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from penstock.cli.failures import BadInput

__all__ = ["PLACES", "command"]

PLACES: Final = {
    "systemd": "cp penstock@.service /etc/systemd/system && systemctl start penstock@NAME",
    "docker": "docker build --tag NAME .",
    "kubernetes": "kubectl apply -k .",
    "prometheus": "promtool check rules penstock.rules.yml",
}
"""Where a pipeline can run, or be watched from; each with the command that comes next."""


@click.command(name="deploy")
@click.argument("place", type=click.Choice([*PLACES]))
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder in which the files are written, made if it is not there; else this one.",
)
def command(place: str, into: Path) -> None:
    """Write the files that run a pipeline for months.

    Under systemd, in a container or on Kubernetes; for prometheus, those that watch it. They are
    yours to change. It overwrites nothing.
    """
    written = {each.name: each for each in deployment(place)}
    for name in written:
        if (into / name).exists():
            raise BadInput(f"{into / name} is there already; name another folder by --into")
    try:
        into.mkdir(exist_ok=True)
        for name, source in written.items():
            (into / name).write_bytes(source.read_bytes())
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be written: {error.strerror}") from None
    click.echo(f"{into} has {', '.join(written)}; when they are as you want them:")
    click.echo(f"  {PLACES[place]}")


def deployment(place: str) -> list[Traversable]:
    """The files for a place, in the order of their names."""
    folder = files("penstock.cli") / "deployments" / place
    return sorted(folder.iterdir(), key=lambda file: file.name)
