"""The ``penstock`` command and the list of its subcommands, none of which is loaded for --help."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

__all__ = ["COMMANDS", "application"]

COMMANDS: Final = {
    "run": "Run a pipeline until its sources are done.",
    "check": "Check a pipeline without moving data.",
    "checkpoint": "Look at a checkpoint, back it up, rewind it, or begin again.",
    "init": "Write a small working pipeline with its test.",
    "deploy": "Write the files that run a pipeline for months.",
    "demo": "Watch a blizzard go through Spark.",
    "doctor": "Say what is missing on this machine.",
    "spec": "Explain the 43 rules of Reactive Streams.",
    "tck": "Verify a publisher, subscriber or processor against the 43 rules.",
}
"""Each subcommand with its line in the help: ``spec`` is ``penstock.cli.spec.command``."""


INTERRUPTED: Final = {"run": 3}
"""The exit codes of subcommands that are interrupted while they load, if they are not 130."""


class _Application(click.Group):
    """Imports the module of a subcommand when that subcommand is called, and no sooner."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        try:
            command = import_module(f"penstock.cli.{name}").command
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED.get(name, 130)) from None
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"penstock {version('penstock')}")
    except PackageNotFoundError:
        click.echo("penstock, version unknown: not installed")
    context.exit()


@click.command(cls=_Application)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def application() -> None:
    """Reactive Streams for Python."""
