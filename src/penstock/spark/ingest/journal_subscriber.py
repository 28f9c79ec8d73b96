"""The subscriber that takes elements from upstream into a journal."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any, Final

from penstock.api import Subscription
from penstock.core import (
    COMPLETED,
    BaseSubscriber,
    Drain,
    require_element,
    require_error,
)
from penstock.core.drain import AGAIN
from penstock.observe.meters import RecentCounter
from penstock.runtime import (
    Clock,
    Executor,
    NewLock,
    SystemClock,
    Task,
    ThreadPool,
    Timer,
    report_undelivered,
)
from penstock.runtime.executor import ReentrantLock
from penstock.spark.ingest.conversion import ElementConverter, Portion, rows_of_each
from penstock.spark.ingest.room import ElementSizes, log_space
from penstock.spark.journal import Journal, JournalFull, NoSpace

__all__ = ["JournalSubscriber"]

PREFETCH: Final = 1 << 14
RETRY_SECONDS: Final = 0.5
"""After which a full disk is tried again."""


class JournalSubscriber(Drain):
    """Writes what it receives into a journal, on a thread of its own, and asks for what fits there.

    Whatever has come while one batch was written makes the next one, so a single element does not
    wait for others. The rows in the journal that are not committed and the elements on their way
    are together never more than the journal's bound: in rows if an element is a row, and in bytes
    if those that come are not larger than the average so far.

    With each batch the journal gets ``{"elements": count, "position": position}``: how many
    elements were taken since the journal was made, and what ``position_of`` says of the last one.
    If the next element is an Arrow batch that did not fit in one go, ``"rows"`` says how much of it
    is there already. ``taken_before`` and ``rows_before`` are the elements and the rows that
    earlier ones have taken; ``dead_letters`` counts those that it has put aside itself.

    on_failure   is told at once how the stream failed: upstream's error, an element that does not
                 fit, a journal that cannot be written. What has come before is still written
    on_dead_letter  gets each element that does not fit; without it, such an element is an error
    on_appended  is told up to which position rows are in the journal, whenever some were added
    on_recorded  is told up to which position of upstream they are there
    on_completed is told that upstream has completed, and that all of it is in the journal
    on_space     is told when the disk is full, and with ``None`` when it no longer is; until then
                 nothing is asked for, and nothing that has come is lost
    replays      whether upstream gives an element again of which the journal has only a part: then
                 that part is left out
    seals        whether nothing follows once upstream has completed; else the next one goes on
    """

    def __init__(
        self,
        journal: Journal,
        converter: ElementConverter,
        *,
        on_failure: Callable[[Exception], object],
        on_dead_letter: Callable[[Any], object] | None = None,
        on_appended: Callable[[int], object] | None = None,
        on_recorded: Callable[[Any], object] | None = None,
        on_completed: Callable[[], object] = lambda: None,
        on_space: Callable[[NoSpace | None], object] | None = None,
        position_of: Callable[[Any], object] | None = None,
        replays: bool = False,
        seals: bool = True,
        prefetch: int = PREFETCH,
        executor: Executor | None = None,
        clock: Clock | None = None,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._pool = ThreadPool(name="penstock-journal") if executor is None else None
        super().__init__(executor or self._pool, new_lock)
        self._journal = journal
        self._converter = converter
        self._on_failure = on_failure
        self._on_dead_letter = on_dead_letter
        self._on_appended = on_appended
        self._on_recorded = on_recorded
        self._on_completed = on_completed
        self._seals = seals
        self._on_space = on_space or log_space
        self._position_of = position_of
        self._clock = clock or SystemClock()
        self._inlet = BaseSubscriber(prefetch, new_lock)
        self._inbox: deque[Any] = deque()  # bounded by what was asked for
        self._portion: Portion | None = None
        self._taken = 0
        last = journal.last_source_position or {"elements": 0, "position": None}
        self.taken_before = int(last["elements"])
        self.rows_before = journal.end
        self.dead_letters = RecentCounter()
        self._position: object = last["position"]
        self._rows_begun = int(last.get("rows", 0)) if replays else 0
        self._sizes = ElementSizes()
        self._late = 0
        self._refused = 0
        self._committed = journal.start
        self._waits_for_room = False
        self._full: NoSpace | None = None
        self._timer: Timer | None = None
        self._failure: Exception | None = None
        self._told: Exception | None = None
        self._stopped = self._draining = False
        self._holds_nothing = self._has_all = False
        self._finished = False
        self._over = threading.Event()
        self._worker: int | None = None

    @property
    def taken(self) -> int:
        """How many elements are done with since the journal was made."""
        return self.taken_before + self._taken

    @property
    def requested(self) -> int:
        """How many elements it has asked for."""
        return self._inlet.asked

    @property
    def admitted(self) -> int:
        """How many of them have come."""
        return self._inlet.admitted + self._late

    @property
    def unrecorded(self) -> int:
        """How many elements have come and will never be in the journal."""
        return (self.admitted - self._taken if self._finished else 0) + self._refused

    @property
    def is_over(self) -> bool:
        """Whether it has written all that has come, and wants no more."""
        # In this sequence: the worker says that it holds something before it takes that out.
        return self._over.is_set() or self._has_all or (not self._inbox and self._holds_nothing)

    @property
    def waits_for_room(self) -> bool:
        """Whether rows have to be committed, or space has to be made, before it can go on."""
        return self._waits_for_room

    def committed(self, position: int) -> None:
        """Spark no longer needs the rows before ``position``. From any thread."""
        with self._progress_lock:
            self._committed = max(self._committed, position)
        self.wake()

    def drain(self) -> None:
        """Cancel the stream, and write all that has come, as soon as there is room for it.

        Returns at once. An element that was on its way is still taken, as long as nobody stops it.
        """
        self._draining = True
        self.wake()

    def cancel(self) -> None:
        """Cancel the stream, write what fits of what has come, and give up. Returns at once."""
        self._stopped = True
        self.wake()

    def stop(self) -> None:
        """Cancel the stream, write what fits of what has come, and wait until that is done."""
        self.cancel()
        if self._pool is not None and self._worker != threading.get_ident():
            self._over.wait()
            self._pool.close()

    # The publisher's signals only leave something for the drain (2.2).

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for the first elements, on the worker."""
        if self._inlet.accept(subscription):
            self.wake()

    def on_next(self, element: Any) -> None:
        """Leave the element for the worker."""
        if element is None:  # asked here, so that no element costs a call
            require_element(element)  # 2.13
        if self._inlet.admit() or self._takes_late():
            self._inbox.append(element)
        if self._progress != AGAIN:  # it will look again anyway
            self.wake()

    def on_error(self, error: Exception) -> None:
        """Tell the error at once; what has come before is written nevertheless."""
        require_error(error)
        self._inlet.end(error)
        if self._inlet.ending is not None:
            self._tell_failure(self._inlet.ending)
        self.wake()

    def on_complete(self) -> None:
        """There is no more, once all is written."""
        self._inlet.end(COMPLETED)
        self.wake()

    def _takes_late(self) -> bool:
        """Whether an element counts that came after our cancel: a drain takes it nevertheless."""
        was_asked_for = self.admitted + self._refused < self._inlet.asked
        if self._inlet.ending is not None or not was_asked_for:
            return False
        if self._finished or not self._draining:
            self._refused += 1
            return False
        self._late += 1  # should it be too late nevertheless, it counts as unrecorded
        return True

    # On the worker.

    def _work(self) -> None:
        if self._finished:
            return
        self._worker = threading.get_ident()
        self._holds_nothing = False
        stopped = self._stopped  # looked at once: what has come before it is still written
        draining = self._draining
        if stopped or draining:
            self._inlet.cancel()
        ending = self._inlet.ending  # asked first: then the inbox holds all elements before it
        try:
            self._commit()
            self._write()
            self._end(ending)
        except NoSpace as full:
            self._wait_for_space(full)
        except Exception as error:
            self._portion = None
            self._fail(error)
        self._holds_nothing = draining and (self._portion is None or self._portion.is_done)
        if stopped:
            self._finish()
        elif self._inlet.ending is not ending:
            self.wake()  # it has ended meanwhile

    def _commit(self) -> None:
        if self._committed > self._journal.start:
            self._journal.commit(self._committed)
            self._waits_for_room = False

    def _write(self) -> None:
        while self._has_rows() and not self._waits_for_room:
            self._append()
            self._ask()
        self._ask()  # last: a disk that is still full has stopped it by now

    def _ask(self) -> None:
        """Ask for what fits into the journal, beside what is on its way already."""
        if self._waits_for_room or self._failure is not None or self._stopped or self._draining:
            return
        most = min(self._sizes.fitting(self._journal), self._inlet.capacity)
        # Nothing will come that could find the journal full: somebody has to know that it is.
        self._waits_for_room = not most and self._inlet.asked == self._taken
        self._inlet.refill(wanted=self._taken + most, taken=self._taken)

    def _has_rows(self) -> bool:
        """Whether there is a row to append; elements that make none are done with."""
        while self._portion is None or self._portion.is_done:
            ready = min(len(self._inbox), self._sizes.at_once(self._journal))
            if not ready or self._failure is not None:
                return False
            self._portion = self._convert([self._inbox.popleft() for _ in range(ready)])
            self._taken = self._portion.taken(self._portion.appended)
        return True

    def _convert(self, elements: list[Any]) -> Portion:
        rows, dead_letters = self._converter.convert(elements)
        sizes = rows_of_each(elements)
        self._sizes.note(sizes, rows.nbytes, len(elements) - len(dead_letters))
        for dead_letter in dead_letters:
            sizes[dead_letter.position] = 0
        row_ends = list(accumulate(sizes))
        if dead_letters and self._on_dead_letter is None:
            first = min(dead_letters, key=lambda dead_letter: dead_letter.position)
            rows = rows.slice(0, row_ends[first.position])
            row_ends = row_ends[: first.position]
            self._fail(first.error())
        elif self._on_dead_letter is not None:
            for dead_letter in dead_letters:
                self.dead_letters.add(str(dead_letter.error()))
                self._on_dead_letter(dead_letter)
        begun, self._rows_begun = self._rows_begun, 0
        kept = elements if self._position_of is not None else []
        return Portion(rows, row_ends, kept, self._taken, begun)

    def _append(self) -> None:
        assert self._portion is not None
        portion, journal = self._portion, self._journal
        if not journal.room:
            self._waits_for_room = True
            return
        rows = portion.next(journal.room, journal.segment_bytes)
        appended = portion.appended + rows.num_rows
        taken = portion.taken(appended)
        if taken > self._taken and self._position_of is not None:
            self._position = self._position_of(portion.element(taken - 1))
        progress = {"elements": self.taken_before + taken, "position": self._position}
        if begun := portion.begun(appended):
            progress["rows"] = begun
        try:
            journal.append(rows, progress)
        except JournalFull:
            self._waits_for_room = True
            return
        portion.appended, self._taken = appended, taken
        self._waits_for_room = not journal.room
        if self._on_appended is not None:
            self._tell(partial(self._on_appended, journal.end))
        if self._on_recorded is not None and self._position is not None:
            self._tell(partial(self._on_recorded, self._position))
        if self._full is not None:
            self._full = None
            self._tell(partial(self._on_space, None))

    def _end(self, ending: Exception | None) -> None:
        if ending is not None and ending is not COMPLETED:
            self._inlet.cancel()
            self._tell_failure(ending)
        if ending is COMPLETED and not self._has_all and not self._has_rows():
            self._complete()

    def _complete(self) -> None:
        if self._failure is None:
            if self._seals:
                self._journal.seal()
            self._has_all = True
            self._tell(self._on_completed)

    def _wait_for_space(self, full: NoSpace) -> None:
        self._waits_for_room = True
        if self._timer is None:
            self._timer = self._clock.call_later(RETRY_SECONDS, self._try_again)
        if self._full is None:
            self._full = full
            self._tell(partial(self._on_space, full))

    def _try_again(self) -> None:
        self._timer = None
        self._waits_for_room = False
        self.wake()

    def _fail(self, error: Exception) -> None:
        """Nothing more can be written."""
        if self._failure is None:
            self._failure = error
        self._inlet.cancel()
        self._inbox.clear()
        self._tell_failure(error)

    def _tell_failure(self, error: Exception) -> None:
        with self._progress_lock:
            told = self._told
            if told is None:
                self._told = error
        if told is None:
            self._tell(partial(self._on_failure, error))
        elif told is not error:
            report_undelivered(error, "a stream into a journal had failed before")

    def _tell(self, listener: Task) -> None:
        # 2.13: the signals return normally, whatever the user's code does.
        try:
            listener()
        except Exception as error:
            report_undelivered(error, "a listener of a stream into a journal raised")

    def _rejected(self, error: Exception) -> None:
        if not self._finished:
            self._fail(error)
            self._finish()

    def _finish(self) -> None:
        self._finished = True
        if self._timer is not None:
            self._timer.cancel()
        lost = self.unrecorded
        if lost and self._failure is None:
            problem = self._full or JournalFull("the journal is at its bound")
            report_undelivered(problem, f"{lost} elements had come and are not in the journal")
        self._inbox.clear()
        self._portion = None
        if self._pool is not None:
            self._pool.close(wait=False)
        self._over.set()
