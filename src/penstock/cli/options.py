"""What ``run`` and ``check`` take from the command line and from a file, in the same words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from penstock.cli.failures import BadInput
from penstock.pipeline import RunTarget, SettingsError

__all__ = ["RunOptions", "place_options"]

T = TypeVar("T")
MOST_PORTS: Final = 65535


@dataclass(frozen=True)
class RunOptions:
    """What ``[run]`` in the settings file may say, and the options of the same names."""

    checkpoint: str | None = None
    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    dashboard: bool = False
    port: int = 0
    accept_state_change: bool = False
    drain_timeout: float = 30.0
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    spark_page: bool = False

    def __post_init__(self) -> None:
        if not self.drain_timeout > 0:
            raise SettingsError(
                f"drain_timeout is a number of seconds above 0, not {self.drain_timeout:g}"
            )
        if not 0 <= self.port <= MOST_PORTS:
            raise ValueError(f"port is from 0 to {MOST_PORTS}, not {self.port}")

    def require_complete(self) -> None:
        """Refuse options of which one needs another that is not there."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            given, missing = (
                ("--tls-key", "--tls-certificate")
                if self.tls_certificate is None
                else ("--tls-certificate", "--tls-key")
            )
            raise BadInput(f"{given} needs {missing} as well: TLS takes a certificate and its key")
        if self.tls_key is not None and not self.dashboard:
            raise BadInput("--tls-certificate and --tls-key are for the page: add --dashboard")

    def with_given(self, given: Mapping[str, Any]) -> RunOptions:
        """The command line wins over the file."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    @property
    def target(self) -> RunTarget:
        """Where the pipeline runs."""
        return RunTarget(
            checkpoint=self.checkpoint,
            master=self.master,
            remote=self.remote,
            spark_page=self.spark_page,
            accept_state_change=self.accept_state_change,
        )


def place_options(command: Callable[..., T]) -> Callable[..., T]:
    """The pipeline, its settings, and where it runs."""
    for add in reversed(DECORATORS):
        command = add(command)
    return command


DECORATORS: Final[tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...]] = (
    click.argument("reference", metavar="MODULE:PIPELINE"),
    click.option(
        "--config", type=click.Path(path_type=Path), help="A TOML file: [run], [settings]."
    ),
    click.option(
        "--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Set one setting."
    ),
    click.option("--checkpoint", metavar="PLACE", help="Where it goes on from when run again."),
    click.option(
        "--master", metavar="URL", help="The Spark cluster; without it Spark runs in here."
    ),
    click.option(
        "--remote", metavar="URL", help="A Spark Connect server, such as sc://host:15002."
    ),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)
