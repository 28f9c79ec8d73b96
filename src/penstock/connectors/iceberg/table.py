"""An Iceberg table that has each row once, over kills and restarts of a checkpoint.

The mark is a property of the table, set in the commit that has the rows. Such a commit names the
snapshot upon which it was made, and the catalog refuses it if there is another one by then. The
library would make it again upon that one, whatever the mark is there: so it must not try again. We
do, after a look at the mark.
"""

from __future__ import annotations

from typing import Final

import pyarrow
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchNamespaceError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table, TableProperties, Transaction

from penstock.connectors.iceberg.catalog import IcebergPlace, words_of
from penstock.connectors.iceberg.types import iceberg_schema
from penstock.connectors.shared.lake_table import LakeTable, MarkChanged
from penstock.delivery import DeliveryRefused

__all__ = ["CONNECTOR", "IcebergSink"]

CONNECTOR: Final = "write_iceberg"
OURS: Final = (ValueError, TypeError)
ATTEMPTS: Final = 10
"""How often a commit is made upon snapshots of others that come at the same time."""


class IcebergSink(LakeTable):
    """Adds rows to an Iceberg table, made with the first ones if it is not there."""

    def __init__(
        self,
        place: IcebergPlace,
        schema: pyarrow.Schema | None,
        *,
        mark_name: str,
        commit_rows: int,
    ) -> None:
        self._place = place
        self._property = f"{mark_name}.mark"
        self._catalog: Catalog | None = None
        self._table: Table | None = None
        super().__init__(CONNECTOR, f"the Iceberg table {place}", schema, commit_rows=commit_rows)

    def load(self, *, check: bool = False) -> pyarrow.Schema | None:
        """The table as it is now."""
        try:
            if self._catalog is None:
                self._catalog = self._place.opened()
            self._table = self._place.load(self._catalog)
            self._require_namespace(self._catalog)
        except DeliveryRefused:
            raise
        except Exception as error:  # each kind of catalog has errors of its own
            raise DeliveryRefused(f"{self.name} cannot be loaded: {words_of(error)}") from None
        if self._table is None:
            return None
        # In our copy alone: the library asks it how often to try again.
        self._table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"
        return self.stored_schema(self._table.schema().as_arrow().remove_metadata())

    def unload(self) -> None:
        """Forget the table and, if it is ours, the catalog."""
        self._table = None
        catalog, self._catalog = self._catalog, None
        if catalog is not None and catalog is not self._place.catalog:
            catalog.close()

    def load_mark(self) -> str | None:
        """The property of our name."""
        return None if self._table is None else self._table.properties.get(self._property)

    def store(self, rows: pyarrow.Table, mark: str | None, known: str | None) -> None:
        """One commit, made again if somebody else was quicker and our mark is still the same."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._commit_rows_and(rows, mark)
            except (CommitFailedException, TableAlreadyExistsError) as error:
                self.load()
                if mark is not None and self.load_mark() != known:
                    raise MarkChanged from None
                if attempt == ATTEMPTS:
                    raise OSError(
                        f"{CONNECTOR}: {self._place}: others have committed {ATTEMPTS} times while "
                        f"a batch was to be: {words_of(error)}"
                    ) from None
            except CommitStateUnknownException as error:
                raise OSError(
                    f"{CONNECTOR}: {self._place}: whether the batch is there is not known before "
                    f"the next start: {words_of(error)}"
                ) from None
            except Exception as error:  # each kind of catalog and of store has errors of its own
                kind = next((each for each in OURS if isinstance(error, each)), OSError)
                raise kind(f"{CONNECTOR}: {self._place}: {words_of(error)}") from None
            else:
                return

    def stored_schema(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """Iceberg has fewer types than Arrow."""
        return iceberg_schema(CONNECTOR, schema)

    def _commit_rows_and(self, rows: pyarrow.Table, mark: str | None) -> None:
        assert self._catalog is not None
        properties = {} if mark is None else {self._property: mark}
        transaction: Transaction
        if self._table is None:
            transaction = self._catalog.create_table_transaction(self._place.table, rows.schema)
        else:
            transaction = self._table.transaction()
        transaction.append(rows, snapshot_properties=properties)
        if properties:
            transaction.set_properties(properties)
        transaction.commit_transaction()  # the table is loaded again before the next one

    def _require_namespace(self, catalog: Catalog) -> None:
        if self._table is not None:
            return
        namespace = self._place.table.rpartition(".")[0]
        try:
            catalog.load_namespace_properties(namespace)
        except NoSuchNamespaceError:
            raise DeliveryRefused(
                f"{CONNECTOR}: the catalog {catalog.name} has no namespace {namespace} for "
                f"{self._place}; make it first, by create_namespace"
            ) from None
