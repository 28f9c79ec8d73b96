"""What somebody who connects to a server asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from penstock.connectors.remote_error import ClientMistake
from penstock.demand import shorten
from penstock.runtime import shown_address

__all__ = ["Request"]

MOST_FIELDS: Final = 100
"""No url has more parameters."""


@dataclass(frozen=True, repr=False)
class Request:
    """What somebody who connects asks for.

    ``path``     the path of the url
    ``query``    the parameters of the url
    ``after``    the position behind which to go on; ``None`` to begin with the first element
    ``headers``  what else was sent, by names in small letters
    ``peer``     the address of whoever it is, as the network has it

    Shown, it has no parameters and no headers, since there may be credentials among them.
    """

    path: str
    query: Mapping[str, str]
    after: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""

    @classmethod
    def of(
        cls,
        path: str,
        query: str,
        headers: Iterable[tuple[str, str]] = (),
        peer: str = "",
        after: str | None = None,
    ) -> Request:
        """From path and query of a url; ``ClientMistake`` if ``after`` is no JSON."""
        try:
            parameters = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:
            raise ClientMistake(f"there are more than {MOST_FIELDS} parameters") from None
        position = parameters.get("after") if after is None else after
        try:
            behind = None if position is None else json.loads(position)
        except (ValueError, RecursionError):
            raise ClientMistake(f"after must be JSON, not {shorten(position)}") from None
        return cls(path, parameters, behind, lower_case(headers), peer)

    def __repr__(self) -> str:
        names = "&".join(f"{name}=" for name in self.query)
        return f"<request of {self.peer or 'somebody'} for {shown_address(f'{self.path}?{names}')}>"


def lower_case(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers by names in small letters; of those that come twice, all, with commas between."""
    joined: dict[str, str] = {}
    for given, value in headers:
        name = given.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
