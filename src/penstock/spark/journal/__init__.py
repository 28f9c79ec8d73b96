"""A durable, bounded, append-only log of Arrow batches between a publisher and Spark.

A publisher and Spark's source live in different processes; this is the way from one to the other,
and what survives when either of them dies.

The files, in a local folder or in any file system that ``pyarrow.fs`` knows::

    schema                         never changes
    bounds                         changed after each append
    lock                           held by the writer
    00000000000000000000.segment   rows 0, 1, 2, ...
    00000000000000065536.segment   rows 65536, ...

Each byte of the rows is covered by a checksum, and nothing is ever unpickled.

``writer.py``         the writer's side of a journal
``reader.py``         the reader's side of a journal, for the processes of Spark
``record.py``         the form of a record: a header of 64 bytes, the source's position, and a batch
                      in Arrow's form
``segments.py``       the segments of a journal, files of records, and which of their rows it holds
                      for certain
``identity.py``       which journal this is: its identity and the columns of its rows, in a file
                      that never changes
``store.py``          what a journal needs of the place where its files are
``local_store.py``    a journal in a local folder: files that grow, a sync before anything counts, a
                      lock
``object_store.py``   a journal in a store whose files cannot grow: one object for each record
``s3_store.py``       a journal on S3: one object for each record, each of which is made once and by
                      one writer
``s3_folder.py``      a folder on S3, whose files are created and replaced only by who has seen what
                      is there
``private_files.py``  files and folders for their owner alone: nobody else can read one, lock one,
                      or plant one
``errors.py``         what can be wrong with a journal, each with a sentence that says what to do
"""

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
from penstock.spark.journal.segments import Bounds
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
