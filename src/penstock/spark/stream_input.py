"""A streaming DataFrame as an input: what it reads, and whether its batches have a bound.

Spark reads such an input itself, on its executors, and keeps its offsets: there is no journal.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

from penstock.runtime import printable, shorten, shown_address
from penstock.spark.checkpoint import STREAM
from penstock.spark.private_api import analyzed_plan
from penstock.spark.session.spark_session import require_running
from penstock.spark.state import plan_nodes, shown_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.ingest.schema import Schema
    from penstock.spark.workers.functions import FusedFunctions

__all__ = [
    "DataFrameInput",
    "InputPlace",
    "RowsTaken",
    "StreamInput",
    "StreamRead",
    "StreamSource",
    "stream_input",
]

LIMITS: Final = re.compile(r"max\w+per(trigger|batch)|rowsperbatch", re.IGNORECASE)
"""The options of sources that bound a batch."""
FILES: Final = "files"
FILE_SOURCE: Final = "FileSource"
"""How Spark calls its source of files, whatever their format."""
NEEDED: Final = {FILES: "maxFilesPerTrigger", "kafka": "maxOffsetsPerTrigger"}
"""The limit of sources that would give all that they have in one batch."""
PLACES: Final = ("path", "subscribe", "subscribepattern", "assign", "host")
"""The options that say what is read; none of them holds a secret."""
RELATION: Final = re.compile(
    r"StreamingRelation(?:V2 [^,]+, (?P<name>[^,]+),| (?P<files>FileSource)\[(?P<path>[^]]*)\],)"
)

RowsTaken = Callable[[object], int | None]
"""Takes the offset at which a batch ends; ``None`` if nobody knows how many rows it has taken."""

logger = logging.getLogger("penstock")


class StreamRead(Protocol):
    """How a query reads one of its inputs."""

    def frame(self, session: SparkSession) -> DataFrame:
        """The input as a stream of Spark."""

    @property
    def rows_taken(self) -> RowsTaken | None:
        """Tells the rows of a batch, where functions run as rows are read and Spark counts others.

        ``None`` where Spark, or its offsets, say it.
        """


class InputPlace(NamedTuple):
    """Where an input keeps what it has to know after a restart.

    ``number``  which of the inputs it is
    ``run``     the run, of all those that the checkpoint has had
    """

    checkpoint: str
    number: int
    run: int


class StreamSource(NamedTuple):
    """A source of Spark.

    ``place``    what it reads, as far as that is known
    ``limited``  whether an option bounds its batches; ``None`` where its options cannot be seen
    ``limit``    the option that would, of a source that is known to have no bound without it
    """

    name: str
    place: str = ""
    limited: bool | None = None
    limit: str = ""

    @property
    def description(self) -> str:
        """Its name, and what it reads, as far as that is known."""
        return f"{self.name} {self.place}".rstrip()

    @property
    def replays(self) -> bool:
        """Whether it gives again, after a restart, what was not done; a socket does not."""
        return self.name != "socket"


@dataclass(frozen=True, eq=False)
class StreamInput(ABC):
    """A stream that Spark reads itself; ``sources`` are those at its beginnings."""

    operator: ClassVar[str] = "from_stream"
    sources: tuple[StreamSource, ...]

    @property
    def description(self) -> str:
        """What it reads, in a few words."""
        return " and ".join(each.description for each in self.sources) or "a stream"

    @property
    def replays(self) -> bool:
        """Whether all of it comes again that was not done."""
        return all(each.replays for each in self.sources)

    @property
    def identity(self) -> str:
        """What a checkpoint has to have been made for: offsets of another source mean nothing."""
        return f"{STREAM}{self.description}"

    @property
    def schema_read(self) -> Schema | None:
        """That of the rows which Python reads, and could give to functions; else ``None``."""
        return None

    @abstractmethod
    def read(self, place: InputPlace, through: FusedFunctions | None = None) -> StreamRead:
        """How a query reads it.

        Only one that has a ``schema_read`` is given functions to run where it is read.
        """

    def is_over(self, place: InputPlace) -> bool:
        """Whether nothing more will come of it in this run, as far as it knows that itself."""
        return False


@dataclass(frozen=True, eq=False)
class DataFrameInput(StreamInput):
    """A streaming DataFrame, which belongs to a session."""

    dataframe: DataFrame = field(repr=False)

    def read(self, place: InputPlace, through: FusedFunctions | None = None) -> StreamRead:
        """Spark keeps its offsets, and nothing else is to be kept."""
        return self

    def frame(self, session: SparkSession) -> DataFrame:
        """The stream, which is one of that session."""
        return self.dataframe

    @property
    def rows_taken(self) -> None:
        """Spark counts them."""


def stream_input(operator: str, dataframe: Any) -> DataFrameInput:
    """``dataframe`` as an input, when it is a stream of a session that runs, with a limit."""
    if not callable(getattr(dataframe, "toArrow", None)):
        raise TypeError(f"{operator} needs a DataFrame of Spark, not {shorten(dataframe)}")
    require_running(dataframe.sparkSession)
    if not dataframe.isStreaming:
        raise ValueError(
            f"{operator} needs a stream, such as spark.readStream makes, and this DataFrame ends; "
            "use Flow.from_dataframe"
        )
    sources = tuple(sources_of(dataframe))
    for each in sources:
        require_limit(operator, each)
    return DataFrameInput(sources, dataframe)


def require_limit(operator: str, source: StreamSource) -> None:
    """Refuse a source that is known to give all it has in one batch; warn where nobody knows."""
    if source.limited:
        return
    if source.limited is None:
        why = "whether it has a limit cannot be seen over Spark Connect"
    elif source.limit:
        raise ValueError(
            f"{operator} needs a limit for the source {source.description}: without one, a single "
            f"batch has all that is there; give it .option({source.limit!r}, ...)"
        )
    else:
        why = "no limit of its batches is known"
    logger.warning(
        "%s: of the source %s %s: a batch may have all that came since the last one",
        operator,
        source.description,
        why,
    )


def sources_of(dataframe: DataFrame) -> Iterator[StreamSource]:
    """The sources at the beginnings of a stream, in the order in which Spark numbers them."""
    plan = analyzed_plan(dataframe)
    if plan is None:
        yield from map(source_in_words, RELATION.finditer(shown_plan(dataframe)))
        return
    for node in plan_nodes(plan):
        kind = node.getClass().getSimpleName()
        if kind == "StreamingRelationV2":
            name, options = node.sourceName(), dict(node.extraOptions())
            yield known_source(name, options, NEEDED.get(name, ""))
        elif kind == "StreamingRelation":
            given = node.dataSource()
            name = FILES if node.sourceName().startswith(FILE_SOURCE) else given.className()
            options = dict(entries_of(given.options()))
            yield known_source(given.className(), options, NEEDED.get(name, ""))


def source_in_words(found: re.Match[str]) -> StreamSource:
    """A source as a server shows it."""
    return StreamSource(found["name"] or FILES, shown_place(found["path"] or ""))


def known_source(name: str, options: Mapping[str, str], limit: str = "") -> StreamSource:
    """A source of which the options are known; these are not kept, since they may be secret."""
    lower = {option.lower(): value for option, value in options.items()}
    place = next((lower[option] for option in PLACES if option in lower), "")
    return StreamSource(name, shown_place(place), any(map(LIMITS.fullmatch, lower)), limit)


def shown_place(place: str) -> str:
    """What is read: the name of a topic, a path, or an address without what nobody may see."""
    return shown_address(place) if "://" in place else printable(place)


def entries_of(mapping: Any) -> Iterator[tuple[str, str]]:
    """Those of a map of Scala."""
    names = mapping.keysIterator()
    while names.hasNext():
        name = names.next()
        yield name, mapping.apply(name)
