"""Reads a schema that is written as in SQL, such as ``flight long, origin string NOT NULL``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple, NoReturn

import pyarrow as pa

__all__ = ["SchemaError", "parse_schema", "write_fields", "write_type"]

LARGEST_PRECISION: Final = 38
DEEPEST: Final = 32

SIMPLE: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
SYNONYMS: Final = {
    "tinyint": "byte",
    "smallint": "short",
    "integer": "int",
    "bigint": "long",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
INTERVAL: Final = pa.duration("us")
COMPOUND: Final = ("decimal(p,s)", "array<t>", "map<k,v>", "struct<name:t>")
ALLOWED: Final = ", ".join((*SIMPLE, "interval day to second", *COMPOUND))

PIECES: Final = re.compile(
    r"""\s*(?:
        (?P<name>\w+) | `(?P<quoted>(?:[^`]|``)*)` | (?P<text>'[^']*'|"[^"]*") | (?P<sign>[<>(),:])
    )""",
    re.VERBOSE,
)


class SchemaError(ValueError):
    """A schema that cannot be used; the text says where it is wrong, and what is allowed."""


class DdlToken(NamedTuple):
    """A word, a name in backticks, a text in quotes or a sign, and where it stands."""

    kind: str
    text: str
    place: int

    def is_word(self, word: str) -> bool:
        """Whether this is ``word``, in any case."""
        return self.kind == "name" and self.text.lower() == word


def parse_schema(text: str) -> pa.Schema:
    """The schema that ``text`` describes."""
    return DdlParser(text).schema()


def write_fields(fields: pa.Schema | pa.StructType, between: str = " ") -> str:
    """The text that describes ``fields``."""
    return ", ".join(
        f"{_quoted(field.name)}{between}{write_type(field.type)}"
        + ("" if field.nullable else " NOT NULL")
        for field in fields
    )


def write_type(kind: pa.DataType) -> str:
    """The text that describes a type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"array<{write_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{write_type(kind.key_type)}, {write_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{write_fields(kind, between=': ')}>"
    if kind == INTERVAL:
        return "interval day to second"
    return next(name for name, known in SIMPLE.items() if known == kind)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"`{name.replace('`', '``')}`"


class DdlParser:
    """Reads one text, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces = list(self._split())
        self._next = 0
        self._depth = 0

    def schema(self) -> pa.Schema:
        """The whole text as a schema: its fields, or one struct that has them."""
        start = self._pieces[0]
        if start.is_word("struct") and self._pieces[1].text == "<":
            fields = list(self._type())
        else:
            fields = self._fields()
        if self._peek.kind != "end":
            self._refuse("expected ',' or the end")
        return pa.schema(fields)

    def _split(self) -> Iterator[DdlToken]:
        place = 0
        while self._text[place:].strip():
            found = PIECES.match(self._text, place)
            if found is None:
                place = len(self._text) - len(self._text[place:].lstrip())
                self._refuse_at(place, f"{self._text[place]!r} cannot stand here")
            kind = str(found.lastgroup)
            yield DdlToken(kind, found[kind].replace("``", "`"), found.start(kind))
            place = found.end()
        yield DdlToken("end", "", len(self._text))

    def _fields(self) -> list[pa.Field]:
        fields = [self._field()]
        while self._takes(","):
            place = self._peek.place
            field = self._field()
            # Spark does not tell names apart by their case.
            if field.name.lower() in {known.name.lower() for known in fields}:
                self._refuse_at(place, f"the name {field.name!r} stands here a second time")
            fields.append(field)
        return fields

    def _field(self) -> pa.Field:
        if self._peek.kind not in ("name", "quoted") or not self._peek.text:
            self._refuse("expected the name of a field")
        name = self._take().text
        self._takes(":")
        kind = self._type()
        nullable = not self._takes_words("not", "null")
        if self._takes_words("comment") and self._take().kind != "text":
            self._next -= 1
            self._refuse("expected a comment in quotes")
        return pa.field(name, kind, nullable=nullable)

    def _type(self) -> pa.DataType:
        piece = self._peek
        if piece.kind != "name":
            self._refuse(f"expected a type; allowed are {ALLOWED}")
        word = piece.text.lower()
        word = SYNONYMS.get(word, word)
        known = SIMPLE.get(word) or self._compound.get(word)
        if known is None:
            self._refuse(f"{piece.text!r} is not a type{_hint(word)}; allowed are {ALLOWED}")
        if self._depth == DEEPEST:
            self._refuse(f"the types are nested more than {DEEPEST} deep")
        self._take()
        self._depth += 1
        kind = known() if callable(known) else known
        self._depth -= 1
        return kind

    @property
    def _compound(self) -> dict[str, Callable[[], pa.DataType]]:
        return {
            "decimal": self._decimal,
            "array": self._array,
            "map": self._map,
            "struct": self._struct,
            "interval": self._interval,
        }

    def _decimal(self) -> pa.DataType:
        if not self._takes("("):
            return pa.decimal128(10, 0)
        precision = self._number("precision", 1, LARGEST_PRECISION)
        scale = self._number("scale", 0, precision) if self._takes(",") else 0
        self._expect(")")
        return pa.decimal128(precision, scale)

    def _number(self, what: str, least: int, most: int) -> int:
        text = self._peek.text
        if not (text.isdecimal() and least <= int(text) <= most):
            self._refuse(f"the {what} of a decimal must be a number from {least} to {most}")
        return int(self._take().text)

    def _array(self) -> pa.DataType:
        self._expect("<")
        element = self._type()
        self._expect(">")
        return pa.list_(pa.field("element", element))

    def _map(self) -> pa.DataType:
        self._expect("<")
        key = self._type()
        self._expect(",")
        value = self._type()
        self._expect(">")
        return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value))

    def _struct(self) -> pa.DataType:
        self._expect("<")
        fields = self._fields()
        self._expect(">")
        return pa.struct(fields)

    def _interval(self) -> pa.DataType:
        if not self._takes_words("day", "to", "second"):
            self._refuse("of the intervals only 'interval day to second' is allowed")
        return INTERVAL

    @property
    def _peek(self) -> DdlToken:
        return self._pieces[self._next]

    def _take(self) -> DdlToken:
        piece = self._peek
        self._next += piece.kind != "end"
        return piece

    def _takes(self, sign: str) -> bool:
        """Go past ``sign``, if it comes next."""
        found = self._peek.kind == "sign" and self._peek.text == sign
        self._next += found
        return found

    def _takes_words(self, *words: str) -> bool:
        """Go past ``words``, if all of them come next."""
        upcoming = self._pieces[self._next :]
        found = len(upcoming) > len(words) and all(map(DdlToken.is_word, upcoming, words))
        self._next += len(words) if found else 0
        return found

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            self._refuse(f"expected {sign!r}")

    def _refuse(self, reason: str) -> NoReturn:
        self._refuse_at(self._peek.place, reason)

    def _refuse_at(self, place: int, reason: str) -> NoReturn:
        before = self._text[:place]
        found = "its end" if not self._text[place:].strip() else f"character {place + 1}"
        raise SchemaError(
            f"the schema is wrong at {found}, marked by ^ in "
            f"{before + '^' + self._text[place:]!r}: {reason}"
        )


def _hint(word: str) -> str:
    close = get_close_matches(word, (*SIMPLE, *SYNONYMS, "array", "decimal", "map", "struct"), 1)
    return f", perhaps {close[0]!r} is meant" if close else ""
