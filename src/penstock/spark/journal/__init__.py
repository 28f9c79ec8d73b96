"""A durable, bounded, append-only log of Arrow batches between a publisher and Spark.

A publisher and Spark's source live in different processes; this is the way from one to the other,
and what survives when either of them dies.

``writer.py``        ``Journal``, for the one writer
``reader.py``        ``JournalReader``, for the processes of Spark
``recovery.py``      what a writer finds when it opens a journal again
``segments.py``      the files with the rows
``record.py``        what is in such a file
``bounds.py``        the small file that says which rows are durable
``label.py``         the small file that says which journal this is, and its columns
``store.py``         what is needed of a place; ``local_store.py`` and ``object_store.py`` have it
``errors.py``        what can be wrong

The files, in a local folder or in any file system that ``pyarrow.fs`` knows::

    schema                         never changes
    bounds                         changed after each append
    lock                           held by the writer
    00000000000000000000.segment   rows 0, 1, 2, ...
    00000000000000065536.segment   rows 65536, ...

Each byte of the rows is covered by a checksum, and nothing is ever unpickled.
"""

from penstock.spark.journal.bounds import Bounds
from penstock.spark.journal.errors import (
    JournalDamaged,
    JournalError,
    JournalFull,
    JournalInUse,
    JournalUnusable,
    NoSpace,
    RowsUnavailable,
    SchemaChanged,
)
from penstock.spark.journal.reader import JournalReader, Range
from penstock.spark.journal.store import Place
from penstock.spark.journal.writer import Journal

__all__ = [
    "Bounds",
    "Journal",
    "JournalDamaged",
    "JournalError",
    "JournalFull",
    "JournalInUse",
    "JournalReader",
    "JournalUnusable",
    "NoSpace",
    "Place",
    "Range",
    "RowsUnavailable",
    "SchemaChanged",
]
