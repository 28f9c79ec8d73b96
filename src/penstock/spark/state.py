"""A checkpoint remembers what the state in it means, so that no other meaning is put on it.

Spark keeps the state of a query by position: ``max`` that became ``min``, or a key that became
another of the same type, would go on with the old numbers without a word. So each stateful operator
is written down as Spark's analyzer has it. Its columns are traced through the projections upstream,
and what differs from run to run, such as the numbers of expressions, is left out. What stands
downstream of the state, and which rows a filter lets in, does not belong to it.

Two functions are the same if their code is, whatever line it stands on. Only a classic session
gives them back; over Spark Connect nobody here can see them.
"""

from __future__ import annotations

import io
import json
import logging
import pickle
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from hashlib import sha256
from itertools import takewhile, zip_longest
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.private_api import analyzed_plan, plan_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.plan import SparkPlan, Step

__all__ = [
    "StateChanged",
    "code_of_functions",
    "digest_of",
    "in_words",
    "require_same_state",
    "stateful_operators",
    "wake_of",
    "with_state_checked",
]

FILE: Final = "state.json"
SHOWN: Final = 60
"""How many characters of an operator are shown before what differs, and from there on."""
NONE: Final = "nothing"

logger = logging.getLogger("penstock")


class StateChanged(CheckpointError):
    """A query whose state would get another meaning."""


def with_state_checked(transform: Step, plan: SparkPlan, checkpoint: Checkpoint) -> Step:
    """``transform``, which refuses to make a query that would misread what an earlier one kept."""
    if plan.checkpoint is None:
        return transform

    def checked(frames: Sequence[DataFrame]) -> DataFrame:
        frame = transform(frames)
        mine = in_words(frame)
        if not plan.accept_state_change:
            require_same_state(mine, checkpoint, plan.name)
        if checkpoint.remembered(FILE) != mine:
            checkpoint.remember(FILE, mine)
        return frame

    return checked


def wake_of(plan: SparkPlan, checkpoint: Checkpoint) -> str:
    """What lets a query begin with a batch of its own, if what was kept may have to come out.

    The end of a batch moves the watermark, and the clock goes on by itself. Spark looks at both
    after a batch, and after a restart not before there is a row.
    """
    planned = checkpoint.planned_batch
    if planned is None or checkpoint.unfinished_batch is not None:
        return ""
    waits = plan.ticks or WATERMARK in (checkpoint.remembered(FILE) or "")
    return str(planned + 1) if waits else ""


def in_words(frame: DataFrame) -> str:
    """What the state of ``frame`` means, and to whom: other versions may say it otherwise."""
    operators = stateful_operators(frame)
    versions = f"Spark {frame.sparkSession.version}, Python {platform.python_version_tuple()[:2]}"
    return json.dumps({"versions": versions, "operators": operators}, indent=1)


def require_same_state(mine: str, checkpoint: Checkpoint, name: str) -> bool:
    """Refuse a query whose state differs from what is kept; whether any was known."""
    kept = checkpoint.remembered(FILE)
    if kept is None or not checkpoint.has_plans:
        return False
    try:
        before = json.loads(kept)
        versions, operators = before["versions"], before["operators"]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"{checkpoint.place}/{FILE} is damaged, so nobody knows whether the query still means "
            "the same; delete that file if it has not been changed, or start with a new checkpoint"
        ) from None
    now = json.loads(mine)
    if versions != now["versions"]:
        logger.warning("%s: its state was kept by %s, and is not compared", name, versions)
        return False
    for old, new in zip_longest(operators, now["operators"], fillvalue=NONE):
        if old != new:
            raise StateChanged(
                f"the checkpoint {checkpoint.place} keeps the state of {differing(old, new)}, and "
                f"the pipeline {name!r} now has {differing(new, old)}: the old numbers would get "
                "another meaning; name another checkpoint, or go on with --accept-state-change"
            )
    return True


def differing(text: str, other: str) -> str:
    """The part of an operator around the first difference from another one."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False))))
    operator, _, _ = text.partition(" ")
    start = max(same - SHOWN, 0)
    if start <= len(operator) + 1:
        operator, start = "", 0
    shown = text[start : same + SHOWN]
    before = f"{operator} …" if operator else ""
    return f"{before}{shown}{'…' if same + SHOWN < len(text) else ''}"


WITH_FUNCTION: Final = {"FlatMapGroupsInPandasWithState", "TransformWithStateInPySpark"}
OWN: Final = ("pyspark.", "builtins", "pandas.", "pyarrow.", "penstock.")


def code_of_functions(frame: DataFrame) -> list[str]:
    """A line for each function that keeps state."""
    plan = analyzed_plan(frame)
    if plan is None:
        return []
    return [
        f"the code of {node.nodeName()}: {digest_of(function_in(node))}"
        for node in plan_nodes(plan)
        if node.nodeName() in WITH_FUNCTION
    ]


def plan_nodes(node: Any) -> Iterator[Any]:
    """A plan in the JVM, each operator before those upstream of it."""
    yield node
    upstream = node.children()
    for number in range(upstream.size()):
        yield from plan_nodes(upstream.apply(number))


def function_in(node: Any) -> Any:
    """The function that a worker will get, as this program has just pickled it."""
    function, *_ = pickle.loads(bytes(node.functionExpr().func().command().unsafeArray()))
    return function


def digest_of(function: Any) -> str:
    """Tells functions that do something else from each other."""
    return sha256("\n".join(code_in(function, set())).encode()).hexdigest()[:16]


def code_in(thing: Any, seen: set[int]) -> Iterator[str]:
    """The code of the user that can be reached from ``thing``."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, MethodType):
        yield from code_in(thing.__func__, seen)
        yield from code_in(thing.__self__, seen)
    elif isinstance(thing, FunctionType):
        if not thing.__module__.startswith(OWN):
            yield from lines_of(thing.__code__)
        for cell in thing.__closure__ or ():
            yield from code_in(cell.cell_contents, seen)
    elif isinstance(thing, type):
        if not thing.__module__.startswith(OWN):
            for name, value in sorted(vars(thing).items(), key=lambda item: item[0]):
                yield from code_in(getattr(value, "__func__", value), seen)
                yield name if callable(value) else ""
    else:
        yield from code_in(type(thing), seen)
        for _, value in sorted(getattr(thing, "__dict__", {}).items()):
            yield from code_in(value, seen)


def lines_of(code: CodeType) -> Iterator[str]:
    """What a piece of code does, and the names and constants that it does it with."""
    yield code.co_code.hex()
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)
        elif isinstance(constant, frozenset):
            yield from sorted(map(repr, constant))
        else:
            yield repr(constant)


KEEP_STATE: Final = {
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState",
    "GlobalLimit",
    "TransformWithState",
    "TransformWithStateInPySpark",
}
WATERMARK: Final = "EventTimeWatermark"
MAX_FIELDS: Final = 1 << 20
FIELDS_SETTING: Final = "spark.sql.debug.maxToStringFields"
LINE: Final = re.compile(r"(?:[ :]  )*(?:[+:]- )?(?P<stream>~?)(?P<text>.*)")
ATTRIBUTE: Final = re.compile(r"(?P<name>[A-Za-z_][\w.]*)#(?P<id>\d+)L?(?:-T\d+ms)?")
ALIAS: Final = re.compile(
    r"(?P<expression>.*) AS (?P<name>.*)#(?P<id>\d+)L?(?:-T\d+ms)?", re.DOTALL
)
NUMBER: Final = re.compile(r"#\d+L?(?:-T\d+ms)?")
RANDOM: Final = re.compile(r"\b(randn?|uuid|shuffle)\((?:Some\()?-?\d+\)*")
UUID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}, ")
LONGEST: Final = 2_000
"""Of a traced column; a longer one is known by its digest."""


class PlanNode(NamedTuple):
    """A line of a plan."""

    depth: int
    is_stream: bool
    text: str

    @property
    def name(self) -> str:
        """What kind of operator it is."""
        return self.text.partition(" ")[0]


def stateful_operators(frame: DataFrame) -> list[str]:
    """The operators of a stream that keep state, from the last one up to the first."""
    nodes = list(nodes_in(shown_plan(frame)))
    trace = ColumnTrace(nodes)
    kept = [each for number, each in enumerate(nodes) if keeps_state(nodes, number)]
    if not kept:
        return []
    marks = [each for each in nodes if each.is_stream and each.name == WATERMARK]
    return [*map(trace.text_of, kept), *map(trace.text_of, marks), *code_of_functions(frame)]


def shown_plan(frame: DataFrame) -> str:
    """Spark's plan, one operator on each line, with all their columns."""
    java = analyzed_plan(frame)
    if java is not None:
        return plan_text(java, MAX_FIELDS)
    with all_fields(frame), redirect_stdout(io.StringIO()) as said:  # Connect has only this
        frame.explain(extended=True)
    _, _, rest = said.getvalue().partition("== Analyzed Logical Plan ==\n")
    _, _, plan = rest.partition("\n")  # the columns
    return plan.partition("\n== ")[0]


@contextmanager
def all_fields(frame: DataFrame) -> Iterator[None]:
    """Let plans show all columns, however many there are."""
    settings = frame.sparkSession.conf
    before = settings.get(FIELDS_SETTING, None)
    settings.set(FIELDS_SETTING, str(MAX_FIELDS))
    try:
        yield
    finally:
        if before is None:
            settings.unset(FIELDS_SETTING)
        else:
            settings.set(FIELDS_SETTING, before)


def nodes_in(plan: str) -> Iterator[PlanNode]:
    """The operators of a plan, each before those upstream of it."""
    for line in plan.splitlines():
        found = LINE.fullmatch(line)
        if found is not None and found["text"]:
            yield PlanNode(found.start("stream"), bool(found["stream"]), found["text"])


def keeps_state(nodes: list[PlanNode], number: int) -> bool:
    """Whether an operator keeps state: a join does if both sides are streams."""
    node = nodes[number]
    if not node.is_stream or node.name != "Join":
        return node.is_stream and node.name in KEEP_STATE
    return all(child.is_stream for child in children(nodes, number))


def children(nodes: list[PlanNode], number: int) -> Iterator[PlanNode]:
    """The operators right upstream of one."""
    depth = None
    for node in nodes[number + 1 :]:
        if node.depth <= nodes[number].depth:
            return
        depth = node.depth if depth is None else depth
        if node.depth == depth:
            yield node


class ColumnTrace:
    """Follows columns upstream, through whatever only computes them."""

    def __init__(self, nodes: list[PlanNode]) -> None:
        self._definitions: dict[str, str] = {}
        self._traced: dict[str, str] = {}
        for node in nodes:
            self._definitions.update(definitions_in(node))

    def text_of(self, node: PlanNode) -> str:
        """An operator with its columns traced, and without names that it gives."""
        parts = [
            f"[{', '.join(unnamed(each) for each in split(part[1:-1]))}]" if is_list(part) else part
            for part in split(UUID.sub("", node.text).removeprefix(node.name).strip())
        ]
        return f"{node.name} {self._resolved(', '.join(parts))}"

    def _resolved(self, text: str) -> str:
        text = ATTRIBUTE.sub(lambda found: self._column(found["name"], found["id"]), text)
        return RANDOM.sub(r"\1()", NUMBER.sub("", text))

    def _column(self, name: str, number: str) -> str:
        if number not in self._traced:
            self._traced[number] = name  # one that asks for itself gets its name
            if (definition := self._definitions.get(number)) is not None:
                text = self._resolved(definition)
                digest = sha256(text.encode()).hexdigest()[:12]
                self._traced[number] = text if len(text) <= LONGEST else f"{name}:{digest}"
        return self._traced[number]


def definitions_in(node: PlanNode) -> Mapping[str, str]:
    """The columns that an operator computes, by their numbers."""
    parts = split(node.text.removeprefix(node.name).strip())
    lists = [split(part[1:-1]) for part in parts if is_list(part)]
    if node.name == "Expand" and len(lists) == 2:  # a column has another value for each list
        rows = [split(row[1:-1]) for row in lists[0]]
        values = (" | ".join(dict.fromkeys(each)) for each in zip(*rows, strict=False))
        columns = zip(map(ATTRIBUTE.fullmatch, lists[1]), values, strict=False)
        return {found["id"]: value for found, value in columns if found and found[0] != value}
    if node.name == "Generate" and lists:
        found = map(ATTRIBUTE.fullmatch, lists[-1])
        return {each["id"]: parts[0] for each in found if each}
    items = (ALIAS.fullmatch(item) for items in lists for item in items)
    return {found["id"]: found["expression"] for found in items if found}


def unnamed(item: str) -> str:
    """A column without the name that it gets, which is none of the state's business."""
    found = ALIAS.fullmatch(item)
    return item if found is None else found["expression"]


def is_list(part: str) -> bool:
    """Whether a part of an operator is a list of columns."""
    return part.startswith("[") and part.endswith("]")


def split(text: str) -> list[str]:
    """The parts of a list, of which some are lists again."""
    parts, depth, begun = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0 and text[place + 1 : place + 2] == " ":
            parts.append(text[begun:place].strip())
            begun = place + 1
    return [*parts, text[begun:].strip()] if text.strip() else []
