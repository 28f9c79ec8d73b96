"""One line per operator: what it is applied to, and what must come out.

The tables in ``tests/flow/cases`` feed the tests of models, of demand, of cancelling at every
point, of memory, and the conformance kit, each of them with and without fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from penstock.flow import Flow

__all__ = ["Case"]

Model: TypeAlias = Callable[[list[int]], list[Any]]


@dataclass(frozen=True)
class Case:
    """An operator, applied to a flow of distinct whole numbers, and its obvious model on lists.

    ``ordered``   whether the model fixes the order, or only which elements come
    ``prefetch``  how many elements it may ask for ahead of demand, and hold
    ``keeps``     whether it keeps elements after the end of a run, as ``cache`` does
    ``claims``    what else the conformance kit has to know, see ``verify_operator``
    """

    name: str
    apply: Callable[[Flow[int]], Flow[Any]]
    model: Model
    ordered: bool = True
    prefetch: int = 0
    keeps: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)

    def agrees(self, received: Sequence[Any], given: list[int]) -> bool:
        """Whether ``received`` is what must come out for ``given``."""
        expected = self.model(given)
        if self.ordered:
            return list(received) == expected
        return sorted(map(repr, received)) == sorted(map(repr, expected))
