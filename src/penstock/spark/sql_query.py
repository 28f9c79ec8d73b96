"""A query in SQL as a step of a stream, in which ``{stream}`` stands for the rows so far."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import TYPE_CHECKING, Final

from penstock.runtime import shorten
from penstock.runtime.arguments import require_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["selecting"]

STREAM: Final = ("stream", "", None)
"""A place in a query as ``Formatter.parse`` gives it: its name and nothing else."""


def selecting(query: str) -> Callable[[DataFrame], DataFrame]:
    """What the query makes of a stream."""
    require_text("sql", "query", query)
    require_stream_alone(query)

    def select(frame: DataFrame) -> DataFrame:
        return frame.sparkSession.sql(query, stream=frame)

    return select


def require_stream_alone(query: str) -> None:
    """Refuse a query in which braces mean anything but the stream.

    Spark would take ``{stream.name}`` for an attribute of the data frame, and from there for
    anything in this process.
    """
    try:
        places = [each for each in Formatter().parse(query) if each[1] is not None]
    except ValueError as error:
        raise ValueError(f"sql cannot read its query, {shorten(query)}: {error}") from None
    wrong = [f"{{{name}}}" for _, name, shape, change in places if (name, shape, change) != STREAM]
    if wrong:
        raise ValueError(
            f"sql knows {{stream}} only, not {shorten(wrong[0])}; a brace that is meant as such is "
            "written twice"
        )
    if not places:
        raise ValueError(f"sql needs {{stream}} in its query, which is {shorten(query)}")
