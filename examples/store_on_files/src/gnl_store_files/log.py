"""The durable truth: a folder with a log of JSON lines, and a lock file that is also the clock.

``log`` begins with a line that names the version; each other line is what one decision changed,
behind a checksum. ``lock`` is locked for every decision, and holds the latest instant that
anyone was told. All methods block; they belong on a thread.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

from gnl_core.spi import Instant, StoreRejected, StoreUnavailable
from gnl_store_files.lines import Json, pack, sync_folder, unpack, write
from gnl_store_files.tables import Tables

VERSION = 1
Clock: TypeAlias = Callable[[int], Instant]
"""What tells the time, given the descriptor of a file that it may touch."""
Answer = TypeVar("Answer")


def file_clock(descriptor: int) -> Instant:
    """The clock of the file system, in the moment in which it notes that a file was changed."""
    os.utime(descriptor)
    return os.fstat(descriptor).st_mtime_ns // 1_000


class Log:
    """One handle on a folder: descriptors of its own, tables of its own."""

    def __init__(self, folder: Path, *, timeout: float, compact_after: int, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._path = folder / "log"
        self._timeout = timeout
        self._compact_after = compact_after
        self._lock: int | None = None
        self._log: int | None = None
        self._version: int | None = None
        self._tables = Tables()
        self._offset = 0
        self._rows = 0

    def decide(self, decision: Callable[[Tables, Instant], Answer]) -> Answer:
        """Take one decision alone, on all that was decided before, and make it last.

        Raises `StoreRejected` where there are no tables of this version, `StoreUnavailable`
        when files cannot be read or written.
        """
        with self._locked():
            self._catch_up()
            now = self._tell_time()
            answer = decision(self._tables, now)
            line = self._tables.changes(now)
            if line:
                self._append(line)
                self._compact()
            return answer

    def version(self) -> int | None:
        """The version in the folder; None if nothing was created there yet."""
        if not self._path.exists():
            return None
        with self._locked():
            self._open_log()
            self._read()
            return self._version

    def create(self) -> int:
        """Make folder and log, unless they are there; the version found afterwards."""
        with _unavailable(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / "lock").touch()
            sync_folder(self._folder.parent)
        with self._locked():
            if not self._path.exists():
                self._replace_log([{"version": VERSION}])
            self._open_log()
            self._read()
            assert self._version is not None
            return self._version

    def close(self) -> None:
        """Give the descriptors back."""
        self._forget()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _unavailable(self._folder):
            if self._lock is None:
                try:
                    self._lock = os.open(self._folder / "lock", os.O_RDWR)
                except FileNotFoundError:
                    raise self._no_tables() from None
            self._wait_for_lock(self._lock)
            try:
                yield
            except BaseException:
                # What was decided may be half in memory: read it again from the file.
                self._forget()
                raise
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _wait_for_lock(self, lock: int) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreUnavailable(
                        f"{self._folder}: another process held the lock for {self._timeout:g} s"
                    ) from None
            time.sleep(0.001)

    def _tell_time(self) -> Instant:
        """The clock, or the latest instant told if that is ahead of it."""
        assert self._lock is not None
        told = int(os.pread(self._lock, 20, 0) or b"0")
        now = max(self._clock(self._lock), told, self._tables.at)
        os.pwrite(self._lock, b"%020d" % now, 0)
        return now

    def _catch_up(self) -> None:
        """Read what others have appended, or all of it if the log was replaced."""
        self._open_log()
        self._read()
        if self._version != VERSION:
            raise StoreRejected(
                f"{self._path} has version {self._version}, this library needs {VERSION}"
            )

    def _open_log(self) -> None:
        """Have the log open that is there now: compacting puts a new one in its place."""
        try:
            there = self._path.stat().st_ino
        except FileNotFoundError:
            raise self._no_tables() from None
        if self._log is None or os.fstat(self._log).st_ino != there:
            self._forget()
            self._log = os.open(self._path, os.O_RDWR | os.O_APPEND)

    def _read(self) -> None:
        """Read what stands behind the last line read."""
        assert self._log is not None
        size = os.fstat(self._log).st_size
        if size == self._offset or self._version not in (None, VERSION):
            return
        with open(self._log, "rb", closefd=False) as reader:
            reader.seek(self._offset)
            for line in reader:
                content = unpack(line)
                if content is None:
                    self._cut_off(self._offset + len(line), size)
                    break
                self._offset += len(line)
                self._take_in(content)
                if self._version != VERSION:
                    return
        # The writer may have been killed before it did so, and what we tell must last.
        os.fsync(self._log)

    def _cut_off(self, end: int, size: int) -> None:
        """Remove the last line, whose writer was killed while writing, and so never answered."""
        if end < size:
            raise StoreUnavailable(
                f"{self._path}: the line at byte {self._offset} is damaged, and others follow it: "
                "restore the file from a copy"
            )
        assert self._log is not None
        os.ftruncate(self._log, self._offset)

    def _take_in(self, content: dict[str, Json]) -> None:
        if self._version is None:
            self._version = cast("int", content["version"])
        else:
            self._tables.replay(content)
            self._rows += len(cast("list[Json]", content["jobs"]))

    def _append(self, content: dict[str, Json]) -> None:
        assert self._log is not None
        self._offset += write(self._log, pack(content))
        self._rows += len(cast("list[Json]", content["jobs"]))

    def _compact(self) -> None:
        """Replace the log by one line of all tables, once most of it is about the past."""
        if self._rows > self._compact_after + 2 * len(self._tables.jobs):
            # The decision stands whether this succeeds or not; the next one tries again.
            with suppress(OSError):
                self._replace_log([{"version": VERSION}, self._tables.everything()])

    def _replace_log(self, lines: list[dict[str, Json]]) -> None:
        """Put a new log in the place of the old one, in one step that lasts."""
        new = self._folder / "log.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            write(descriptor, b"".join(map(pack, lines)))
        finally:
            os.close(descriptor)
        new.replace(self._path)
        sync_folder(self._folder)

    def _forget(self) -> None:
        if self._log is not None:
            os.close(self._log)
        self._log = None
        self._version = None
        self._tables = Tables()
        self._offset = 0
        self._rows = 0

    def _no_tables(self) -> StoreRejected:
        return StoreRejected(f"{self._folder} has no tables yet: create them with `upgrade`")


@contextmanager
def _unavailable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error}") from error
