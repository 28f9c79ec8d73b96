"""The query of a source: how it is asked for the rows after a key, and where a row stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from penstock.connectors.shared.table_shape import quoted, require_key
from penstock.runtime import shorten
from penstock.runtime.arguments import require_text

__all__ = ["CONNECTOR", "SqlQuery"]

CONNECTOR: Final = "read_postgres"
PLAIN: Final = (str, int, float)


class SqlQuery:
    """A query, the columns that order its rows if there are such, and its parameters."""

    def __init__(
        self, text: str, key: tuple[str, ...], parameters: Sequence[Any] | Mapping[str, Any] | None
    ) -> None:
        self.key = key
        self._key_of: Callable[[Any], Any] = itemgetter(*key) if key else lambda row: None
        self._text = text
        self._parameters = parameters

    @classmethod
    def checked(cls, query: Any, key: Any, parameters: Any) -> SqlQuery:
        """What the user gave, if it can be asked."""
        text = require_text(CONNECTOR, "query", query).strip().rstrip(";").rstrip()
        names = require_key(CONNECTOR, () if key is None else key)
        if key is not None and (not names or len(set(names)) != len(names)):
            raise ValueError(f"{CONNECTOR}: key must be different names, not {shorten(key)}")
        if parameters is not None and (
            isinstance(parameters, str) or not isinstance(parameters, Sequence | Mapping)
        ):
            raise TypeError(
                f"{CONNECTOR}: parameters must be a list or a dict, not an object of the class "
                f"{type(parameters).__name__}"
            )
        return cls(text, names, parameters)

    def after(self, position: Any) -> tuple[str, Any]:
        """The statement for the rows after a position, or for all, and its parameters."""
        if not self.key:
            return self._text, self._parameters
        keys = ", ".join(f"q.{quoted(name)}".replace("%", "%%") for name in self.key)
        # On a line of its own, since the query may end with a comment.
        text = self._text if self._parameters is not None else self._text.replace("%", "%%")
        wrapped = f"SELECT * FROM (\n{text}\n) AS q"
        order = f" ORDER BY {keys}"
        if position is None:
            return wrapped + order, self._parameters or ()
        values = [position] if len(self.key) == 1 else list(position)
        if isinstance(self._parameters, Mapping):
            named = {f"penstock_after_{number}": value for number, value in enumerate(values)}
            marks = ", ".join(f"%({name})s" for name in named)
            return f"{wrapped} WHERE ({keys}) > ({marks}){order}", {**self._parameters, **named}
        marks = ", ".join("%s" for _ in values)
        given = [*(self._parameters or ()), *values]
        return f"{wrapped} WHERE ({keys}) > ({marks}){order}", given

    def position_of(self, row: Mapping[str, Any]) -> Any:
        """The key of a row, as it can be written down."""
        values = [as_position(name, row[name]) for name in self.key]
        return values[0] if len(values) == 1 else values

    def require_position(self, after: Any) -> Any:
        """What the user gave to go on after, if it can be."""
        if after is None:
            return None
        if not self.key:
            raise ValueError(f"{CONNECTOR}: after is the key of a row, so it needs key=")
        values = [after] if len(self.key) == 1 else after
        if not isinstance(values, list | tuple) or len(values) != len(self.key):
            raise ValueError(
                f"{CONNECTOR}: after must have a value for each of {', '.join(self.key)}, not "
                f"{shorten(after)}"
            )
        made = [as_position(name, value) for name, value in zip(self.key, values, strict=True)]
        return made[0] if len(made) == 1 else made

    def require_order(self, rows: Sequence[Mapping[str, Any]], before: Any) -> None:
        """Refuse keys that two rows have, since no row could be told after which to go on."""
        keys = [self._key_of(row) for row in rows]
        if None in keys or (len(self.key) > 1 and any(None in key for key in keys)):
            raise ValueError(
                f"{CONNECTOR}: the key {', '.join(self.key)} of a row is NULL, after which nothing "
                "comes; leave such rows out, or name another key"
            )
        if self.position_of(rows[0]) == before or len(set(keys)) != len(keys):
            pairs = zip((before, *keys), keys, strict=False)
            twice = next((key for last, key in pairs if key == last), keys[0])
            raise ValueError(
                f"{CONNECTOR}: more than one row has {', '.join(self.key)} = {shorten(twice)}, so "
                "it is not known after which one to go on; name more columns in key="
            )


def as_position(name: str, value: Any) -> Any:
    """A value as a checkpoint can hold it and the server understands it again."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    raise ValueError(
        f"{CONNECTOR}: {name} is {shorten(value)}, and a key is a number, a text, a time, a "
        "decimal or a UUID"
    )
