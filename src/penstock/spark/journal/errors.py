"""What can be wrong with a journal, each with a sentence that says what to do."""

from __future__ import annotations

__all__ = [
    "JournalDamaged",
    "JournalError",
    "JournalFull",
    "JournalInUse",
    "JournalUnusable",
    "NoSpace",
    "RowsUnavailable",
    "SchemaChanged",
]


class JournalError(Exception):
    """Something is wrong with a journal; its subclasses say what."""


class JournalUnusable(JournalError):
    """The place cannot be read or written, or is no place at all."""


class JournalInUse(JournalError):
    """Another writer has the journal."""


class SchemaChanged(JournalError):
    """The rows have other columns than those that the journal was made for."""


class JournalFull(JournalError):
    """The journal is at its bound: rows have to be committed before more can be appended."""


class NoSpace(JournalError):
    """The disk is full, or a quota is used up. Nothing was appended, and it can be tried again."""


class RowsUnavailable(JournalError):
    """Rows were asked for that are not durable yet, or that were deleted as committed."""


class JournalDamaged(JournalError):
    """A file of the journal is not what the journal had written.

    ``file``      the file
    ``offset``    the byte in it from which on it cannot be trusted
    ``position``  the number of the first row that is concerned, where that is known
    """

    def __init__(self, file: str, offset: int, reason: str, position: int | None = None) -> None:
        row = "" if position is None else f" (row {position})"
        super().__init__(
            f"{file} is damaged at byte {offset}{row}: {reason}. Nothing was changed. Restore the"
            " file from a copy, or move the journal away together with the checkpoint of its query"
            " to begin again"
        )
        self.file = file
        self.offset = offset
        self.reason = reason
        self.position = position

    def __reduce__(self) -> tuple[type, tuple[str, int, str, int | None]]:
        return type(self), (self.file, self.offset, self.reason, self.position)
