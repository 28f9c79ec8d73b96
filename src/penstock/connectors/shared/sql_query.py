"""The query of a source: how it is asked for the rows after a key, and where a row stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, TypeVar
from uuid import UUID

from penstock.connectors.shared.table_shape import quoted, require_key
from penstock.runtime import shorten
from penstock.runtime.arguments import require_text
from penstock.runtime.secret_fields import is_secret
from penstock.runtime.shown_text import shown_value

__all__ = ["Dialect", "SqlQuery"]

PLAIN: Final = (str, int, float)

Query = TypeVar("Query", bound="SqlQuery")


@dataclass(frozen=True)
class Dialect:
    """How a database writes down what a query needs.

    ``connector``  what messages call the source
    ``place``      where a value goes; ``named``: one with the name ``{}``
    ``percent``    what a percent sign is where there are places
    ``collate``    what makes a key differ wherever its values do
    ``has_rows``   whether ``(a, b) > (c, d)`` takes values of types that have to be converted
    ``float_text`` whether a float is to come as a text, which becomes what the column is: as a
                   number of twice the digits, 0.1 is not what a column of single ones has
    """

    connector: str
    place: str = "?"
    named: str = ":{}"
    percent: str = "%"
    collate: str = ""
    has_rows: bool = True
    float_text: bool = False


class SqlQuery:
    """A query, the columns that order its rows if there are such, and its parameters."""

    def __init__(
        self,
        dialect: Dialect,
        text: str,
        key: tuple[str, ...],
        parameters: Sequence[Any] | Mapping[str, Any] | None,
    ) -> None:
        self.key = key
        self._dialect = dialect
        self._key_of: Callable[[Any], Any] = itemgetter(*key) if key else lambda row: None
        self._text = text
        self._parameters = parameters

    @classmethod
    def checked(cls: type[Query], dialect: Dialect, query: Any, key: Any, parameters: Any) -> Query:
        """What the user gave, if it can be asked."""
        connector = dialect.connector
        text = require_text(connector, "query", query).strip().rstrip(";").rstrip()
        names = require_key(connector, () if key is None else key)
        if key is not None and (not names or len(set(names)) != len(names)):
            raise ValueError(f"{connector}: key must be different names, not {shorten(key)}")
        if parameters is not None and (
            isinstance(parameters, str) or not isinstance(parameters, Sequence | Mapping)
        ):
            raise TypeError(
                f"{connector}: parameters must be a list or a dict, not an object of the class "
                f"{type(parameters).__name__}"
            )
        return cls(dialect, text, names, parameters)

    def after(self, position: Any) -> tuple[str, Any]:
        """The statement for the rows after a position, or for all, and its parameters."""
        if not self.key:
            return self._text, self._parameters
        percent = self._dialect.percent
        keys = [
            f"q.{quoted(name)}{self._dialect.collate}".replace("%", percent) for name in self.key
        ]
        text = self._text if self._parameters is not None else self._text.replace("%", percent)
        # On a line of its own, since the query may end with a comment.
        wrapped = f"SELECT * FROM (\n{text}\n) AS q"
        order = f" ORDER BY {', '.join(keys)}"
        if position is None:
            return wrapped + order, self._parameters or ()
        values = [position] if len(self.key) == 1 else list(position)
        if self._dialect.float_text:
            values = [repr(value) if isinstance(value, float) else value for value in values]
        places, given = self._placed(values)
        return f"{wrapped} WHERE {self._compared(keys, places)}{order}", given

    def _placed(self, values: list[Any]) -> tuple[list[str], Any]:
        """Where the values of a position go, and all parameters."""
        if isinstance(self._parameters, Mapping):
            named = {f"penstock_after_{number}": value for number, value in enumerate(values)}
            places = [self._dialect.named.format(name) for name in named]
            return places, {**self._parameters, **named}
        given = self._parameters or ()
        if self._dialect.has_rows:
            return [self._dialect.place] * len(values), [*given, *values]
        repeated = [value for number in range(len(values)) for value in values[: number + 1]]
        return [self._dialect.place] * len(values), [*given, *repeated]

    def _compared(self, keys: list[str], places: list[str]) -> str:
        if self._dialect.has_rows:
            return f"({', '.join(keys)}) > ({', '.join(places)})"
        pairs = [*zip(keys, places, strict=True)]
        return " OR ".join(
            " AND ".join(
                [f"{key} = {place}" for key, place in pairs[:number]]
                + ["{} > {}".format(*pairs[number])]
            )
            for number in range(len(pairs))
        )

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a query without its key, or in which two columns have one name."""
        connector = self._dialect.connector
        if missing := [name for name in self.key if name not in names]:
            raise LookupError(
                f"{connector}: the query has the columns {', '.join(names)}, and not {missing[0]}, "
                "which is its key"
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"{connector}: two columns of the query are called {twice}; rename one by AS"
            )

    def keys_of(self, elements: Sequence[Any]) -> list[Any]:
        """The keys of all rows in these elements, each of which is a row."""
        return [self._key_of(row) for row in elements]

    def position_of(self, element: Any) -> Any:
        """The key of a row, as it can be written down."""
        values = [self._as_position(name, element[name]) for name in self.key]
        return values[0] if len(values) == 1 else values

    def require_position(self, after: Any) -> Any:
        """What the user gave to go on after, if it can be."""
        if after is None:
            return None
        connector = self._dialect.connector
        if not self.key:
            raise ValueError(f"{connector}: after is the key of a row, so it needs key=")
        values = [after] if len(self.key) == 1 else after
        if not isinstance(values, list | tuple) or len(values) != len(self.key):
            raise ValueError(
                f"{connector}: after must have a value for each of {', '.join(self.key)}, not "
                f"{shorten(after)}"
            )
        named = zip(self.key, values, strict=True)
        made = [self._as_position(name, value) for name, value in named]
        return made[0] if len(made) == 1 else made

    def require_order(self, elements: Sequence[Any], before: Any) -> None:
        """Refuse keys that two rows have, since no row could be told after which to go on."""
        keys = self.keys_of(elements)
        columns = ", ".join(self.key)
        if None in keys or (len(self.key) > 1 and any(None in key for key in keys)):
            raise ValueError(
                f"{self._dialect.connector}: the key {columns} of a row is NULL, after which "
                "nothing comes; leave such rows out, or name another key"
            )
        if self._written(keys[0]) == before or len(set(keys)) != len(keys):
            pairs = zip((before, *keys), keys, strict=False)
            twice = next((key for last, key in pairs if key == last), keys[0])
            shown = shown_value(next(filter(is_secret, self.key), None), twice)
            raise ValueError(
                f"{self._dialect.connector}: more than one row has {columns} = {shown}, "
                "so it is not known after which one to go on; name more columns in key="
            )

    def _written(self, key: Any) -> Any:
        if len(self.key) == 1:
            return self._as_position(self.key[0], key)
        return [self._as_position(*named) for named in zip(self.key, key, strict=True)]

    def _as_position(self, name: str, value: Any) -> Any:
        """A value as a checkpoint can hold it and the database understands it again."""
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, date | datetime | time):
            return value.isoformat()
        if isinstance(value, Decimal | UUID):
            return str(value)
        raise ValueError(
            f"{self._dialect.connector}: {name} is {shown_value(name, value)}, and a key is a "
            "number, a text, a time, a decimal or a UUID"
        )
