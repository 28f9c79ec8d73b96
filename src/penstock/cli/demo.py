"""``penstock demo``: a blizzard goes through Spark, with a page to watch it."""

from __future__ import annotations

import sys

import click

__all__ = ["command"]


@click.command(name="demo")
@click.option("--crash", is_flag=True, help="Kill it with kill -9 in the middle, and go on.")
@click.option("--slow-subscriber", "slow", is_flag=True, help="Let the pressure reach the source.")
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    default=7200.0,
    show_default=True,
    help="How many times as fast as it was.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of the page.")
def command(crash: bool, slow: bool, no_browser: bool, speed: float, port: int) -> None:
    """Watch a blizzard go through Spark.

    Its week is replayed live, and the totals are checked. It needs penstock[demo], which has a Java
    for machines that have none, no network, and about two minutes.
    """
    from penstock.demo.story import DemoOptions, tell

    sys.exit(tell(DemoOptions(speed, crash, slow, not no_browser, port)))
