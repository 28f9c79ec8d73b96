"""Small pipelines for the command line to run: sound ones, and one for each way to fail."""

from __future__ import annotations

import json
import resource
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import Flow, Subscription
from penstock.pipeline import Pipeline, Secret


@dataclass(frozen=True)
class Settings:
    """What the tests set."""

    count: int = 5
    every: float = 0.01
    ledger: Path | None = None


def numbers(settings: Settings) -> Flow[int]:
    return Flow.range(settings.count)


def ticks(settings: Settings) -> Flow[int]:
    return Flow.interval(settings.every)


def say(element: Any) -> None:
    sys.stdout.write(f"{element}\n")
    sys.stdout.flush()


def terminal(settings: Settings) -> Callable[[Any], None]:
    return say


def failing_source(settings: Settings) -> Flow[float]:
    return Flow.range(settings.count).map(lambda number: 1 / (2 - number))


def failing_sink(settings: Settings) -> Callable[[Any], None]:
    def take(element: Any) -> None:
        if element == 2:
            raise OSError("no space left")

    return take


class Stubborn:
    """A subscriber that breaks rule 2.13."""

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(10)

    def on_next(self, element: int) -> None:
        raise OSError("the line is dead")

    def on_error(self, error: Exception) -> None: ...

    def on_complete(self) -> None: ...


class AsksOnce:
    """A subscriber that asks for two elements, and never again."""

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(2)

    def on_next(self, element: Any) -> None:
        say(element)

    def on_error(self, error: Exception) -> None: ...

    def on_complete(self) -> None: ...


def exiting_sink(settings: Settings) -> Callable[[Any], None]:
    def take(element: Any) -> None:
        say(element)
        sys.exit(4)

    return take


class Exits(AsksOnce):
    """A subscriber that wants to end the program."""

    def on_next(self, element: Any) -> None:
        raise KeyboardInterrupt


def never_done(settings: Settings) -> Callable[[Any], None]:
    def take(element: Any) -> None:
        say("taking for ever")
        threading.Event().wait()

    return take


def unmakeable(settings: Settings) -> Flow[int]:
    raise FileNotFoundError("flights.csv is not there")


def pipeline(name: str, source: Any, sink: Any, **options: Any) -> Pipeline:
    return Pipeline(
        name, sources={"numbers": source}, sinks={"terminal": sink}, settings=Settings, **options
    )


completes = pipeline("completes", numbers, terminal)
source_fails = pipeline("source-fails", failing_source, terminal)
sink_fails = pipeline("sink-fails", numbers, failing_sink)
subscriber_raises = pipeline("subscriber-raises", numbers, lambda settings: Stubborn())
ticking = pipeline("ticking", ticks, terminal)
blocked = pipeline("blocked", ticks, never_done)
function_exits = pipeline("function-exits", ticks, exiting_sink)
subscriber_exits = pipeline("subscriber-exits", ticks, lambda settings: Exits())
no_source = pipeline("no-source", unmakeable, terminal)


# On Spark.


def rows(settings: Settings) -> Flow[tuple[int]]:
    """More than there is time for, from the start after each restart."""
    return Flow.range(settings.count).map(lambda number: (number,))


def paced_rows(settings: Settings) -> Flow[tuple[int]]:
    return Flow.zip(rows(settings), Flow.interval(settings.every)).map(lambda pair: pair[0])


def on_spark(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="from_start", batch_rows=200).rows()


def streamed_numbers(settings: Settings) -> Any:
    from penstock.spark import SparkFlow, spark_session

    reader = spark_session().readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
    numbers = reader.option("numPartitions", 1).load()
    return SparkFlow.from_stream(numbers.selectExpr("value AS number"))


def live_on_spark(numbers: Any) -> Any:
    return numbers.map(lambda number: (number,)).on_spark("number long").rows()


def ledger(settings: Settings) -> Callable[[Any], None]:
    """Each number is in the file when the sink has finished it."""
    assert settings.ledger is not None
    file = settings.ledger.open("a", buffering=1)

    def take(row: Any) -> None:
        file.write(f"{row.number}\n")
        say(row.number)

    return take


def misspelt(numbers: Any) -> Any:
    return numbers.on_spark("number long").sql("SELECT nmber FROM {stream}")


def locked(numbers: Any) -> Any:
    lock = threading.Lock()
    return numbers.on_spark("number long").filter(lambda row: not lock.locked())


def stuck(numbers: Any) -> Any:
    """In a worker, for ever."""
    rows = numbers.on_spark("number long", resume="from_start")
    return rows.filter(lambda row: threading.Event().wait()).rows()


def flows_of_numbers(settings: Settings) -> Flow[int]:
    return Flow.range(settings.count).concat_map(lambda number: Flow.of(number, -number))


resumes = pipeline("resumes", paced_rows, ledger, transform=on_spark)
spark_ticks = pipeline("spark-ticks", ticks, terminal, transform=live_on_spark)
spark_flows = pipeline("spark-flows", flows_of_numbers, terminal, transform=live_on_spark)
stream_of_spark = pipeline("stream", streamed_numbers, terminal)
spark_rows = pipeline("spark-rows", rows, terminal, transform=on_spark)
other_rows = pipeline("other-rows", rows, terminal, transform=on_spark)
stuck_rows = pipeline("stuck-rows", rows, terminal, transform=stuck)
rows_asked_once = pipeline("rows-asked-once", rows, lambda settings: AsksOnce(), transform=on_spark)
rows_exit = pipeline("rows-exit", rows, exiting_sink, transform=on_spark)
wrong_column = pipeline("wrong-column", rows, terminal, transform=misspelt)
not_sendable = pipeline("not-sendable", rows, terminal, transform=locked)


# Dead letters, a filter, late rows, and a sink that stops within a batch until it is killed.

HOUR = 3_600
STALLS_AT = 1_000


def fits(number: int) -> bool:
    return number % 333 != 5


def is_wanted(number: int) -> bool:
    return number % 10 != 3


def may_be_late(number: int) -> bool:
    return number % 50 == 7


def timed(number: int) -> tuple[object, int]:
    """One element a second, of which some say that they are from long ago."""
    seconds = 10 * HOUR + number - may_be_late(number) * 5 * HOUR
    return number if fits(number) else "no number", seconds


def in_windows(frame: Any) -> Any:
    from pyspark.sql.functions import collect_list, timestamp_seconds, window

    timed = frame.withColumn("time", timestamp_seconds("seconds"))
    groups = timed.withWatermark("time", "10 seconds").groupBy(window("time", "10 seconds"))
    return groups.agg(collect_list("number").alias("numbers")).select("numbers")


def audited_through(numbers: Any) -> Any:
    flow = numbers.map(timed).on_spark(
        "number long, seconds long",
        resume="from_start",
        batch_rows=200,
        dead_letters=lambda letter: None,
    )
    return flow.filter(lambda row: is_wanted(row.number)).frame(in_windows).positioned()


def stalling(settings: Settings) -> Callable[[Any], None]:
    """Writes down which numbers have come, in which batch; it goes on if ``every`` is 0."""
    assert settings.ledger is not None
    file = settings.ledger.open("a", buffering=1)

    def take(row: Any) -> None:
        file.write(json.dumps([row.batch, sorted(row.value.numbers)]) + "\n")
        if settings.every and max(row.value.numbers) >= STALLS_AT:
            say("stalled")
            threading.Event().wait()

    return take


audited = pipeline("audited", numbers, stalling, transform=audited_through)


@dataclass(frozen=True)
class FileSettings:
    """Where files are written, and how many descriptors there are for all."""

    folder: Path
    descriptors: int = 1024


def few_descriptors(settings: FileSettings) -> Flow[int]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (settings.descriptors, most))
    return Flow.range(200)


def a_file_each(settings: FileSettings) -> Callable[[int], None]:
    pause = threading.Event()

    def take(number: int) -> None:
        while not (settings.folder / "go-on").exists():  # without a descriptor that could be freed
            pause.wait(0.02)
        (settings.folder / f"element-{number:03}").write_text(str(number))

    return take


files = Pipeline(
    "files",
    sources={"numbers": few_descriptors},
    sinks={"files": a_file_each},
    settings=FileSettings,
)


@dataclass(frozen=True)
class SecretSettings:
    """A password, and its length, from which a test sees that it has come."""

    password: Secret
    length: int = 7


def guarded_numbers(settings: SecretSettings) -> Flow[int]:
    if len(settings.password.reveal()) != settings.length:
        raise ValueError(f"these settings do not do: {settings}")
    return Flow.range(3).do_on_next(lambda number: say(f"{number} {settings.password}"))


guarded = Pipeline(
    "guarded",
    sources={"numbers": guarded_numbers},
    sinks={"terminal": lambda settings: lambda element: say(f"{element} with {settings}")},
    settings=SecretSettings,
)
