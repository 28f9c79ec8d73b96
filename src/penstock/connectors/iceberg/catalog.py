"""Where an Iceberg table is, and how an error there is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table

from penstock.runtime import shorten
from penstock.runtime.arguments import require_text
from penstock.runtime.shown_text import HIDDEN

__all__ = ["CatalogGiven", "IcebergPlace", "words_of"]

CatalogGiven: TypeAlias = str | Mapping[str, str] | Catalog
NAME: Final = "default"
LONGEST: Final = 300
PASSWORD: Final = re.compile(r"[^\s'\"/:@]*:[^\s'\"/@]+@")


@dataclass(frozen=True)
class IcebergPlace:
    """A table, by its name in a catalog.

    ``catalog``  as it was given; it may hold passwords, and is never shown
    """

    table: str
    catalog: CatalogGiven = field(repr=False)

    @classmethod
    def checked(cls, connector: str, catalog: Any, table: str) -> IcebergPlace:
        """What the user gave, if it can be a table."""
        name = require_text(connector, "table", table)
        if "." not in name.strip("."):
            raise ValueError(
                f"{connector}: table must be the name of a namespace and of a table, such as "
                f"lake.flights, not {shorten(table)}"
            )
        is_mapping = isinstance(catalog, Mapping) and all(
            isinstance(each, str) for pair in catalog.items() for each in pair
        )
        if not is_mapping and not isinstance(catalog, str | Catalog):
            raise TypeError(
                f"{connector}: catalog must be the name of one, a dict of texts, or a Catalog of "
                f"pyiceberg, not an object of the class {type(catalog).__name__}"
            )
        return cls(name, catalog)

    def __str__(self) -> str:
        return self.table

    def opened(self) -> Catalog:
        """The catalog."""
        if isinstance(self.catalog, str):
            return load_catalog(self.catalog)
        if isinstance(self.catalog, Mapping):
            properties = dict(self.catalog)
            return load_catalog(properties.pop("name", NAME), **properties)
        return self.catalog

    def load(self, catalog: Catalog) -> Table | None:
        """The table as it is now; ``None`` if there is none."""
        try:
            return catalog.load_table(self.table)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None


def words_of(error: Exception) -> str:
    """What the library says, on one line, and without what may be a password in an address."""
    text = " ".join(str(error).split("\n")[0].split()) or type(error).__name__
    text = PASSWORD.sub(f"{HIDDEN}@", text)
    return text if len(text) <= LONGEST else shorten(text)
