"""One log, `.eval` or `.json`: its head, and which samples it has.

A log that crashed or still runs has no header.json; what it began with and its summaries are in
`_journal`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from analyze.importers.inspect.archive import Archive
from analyze.importers.inspect.json_document import JsonDocument
from analyze.importers.inspect.samples import (
    SHELL,
    Chunks,
    Entry,
    Part,
    SampleError,
    Samples,
)
from analyze.importers.inspect.values import Json, loads, mapping
from schemas.errors import ConfigError, Problem

HEADER, START, SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
JOURNAL = re.compile(r"_journal/summaries/(\d{1,9})\.json")
SAMPLE = re.compile(
    r"samples/(.*)_epoch_(\d{1,9})(\.json|/sample\.json|/skeleton\.json)", re.DOTALL
)
CHUNK = re.compile(r"(.*/)(messages|events|attachments)/(\d{1,12})\.json", re.DOTALL)


class Log(Protocol):
    """What is asked of a log of either kind."""

    header: Json
    """All but its samples."""
    entries: tuple[Entry, ...]

    def sample(self, entry: Entry) -> Json:
        """Return a sample.

        Raises:
            SampleError: it cannot be read.
        """

    def summaries(self) -> Iterator[Json]:
        """Yield what the log says of its samples in short; nothing where it does not."""

    def close(self) -> None:
        """Close the file."""


def open_log(path: Path) -> Log:
    """Return a log, which the caller closes.

    Raises:
        ConfigError: it is none.
        OSError: it cannot be read.
    """
    return EvalFile(path) if path.suffix == ".eval" else JsonFile(path)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Log]:
    """Yield a log; as `open_log`."""
    log = open_log(path)
    try:
        yield log
    finally:
        log.close()


class EvalFile:
    """A log that is a zip.

    Args:
        path: of the file.

    Raises:
        ConfigError: it is none, or has no head.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._archive = Archive(path)
        try:
            names = self._archive.members
            if HEADER not in names and START not in names:
                what = f"is no log of Inspect: it has neither {HEADER} nor {START}"
                raise ConfigError([Problem(path, what)])
            self.header = self._header(path)
            self.entries, self._chunks = _entries_of(names)
            self._samples = Samples(self._archive, self._chunks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def _header(self, path: Path) -> Json:
        name = HEADER if HEADER in self._archive.members else START
        try:
            found = loads(self._archive.read(name))
        except ValueError as exc:
            raise ConfigError([Problem(path, f"{name} cannot be read: {exc}")]) from None
        if name == START:
            found = {"status": "started"} | mapping(found)
        return checked_head(path, found)

    def sample(self, entry: Entry) -> Json:
        """Return a sample; as `Log`."""
        return self._samples.sample(entry)

    def n_bytes(self, entry: Entry) -> int:
        """Return the size of a sample, unpacked."""
        there = self._archive.members
        return sum(there[name].n_bytes for name in self._names(entry) if name in there)

    def part(self, entries: Sequence[Entry]) -> Part:
        """Return where some samples lie."""
        there = self._archive.members
        names = [name for entry in entries for name in self._names(entry)]
        folders = [str(entry.place).removesuffix(SHELL) for entry in entries]
        return Part(
            self._archive.path,
            {name: there[name] for name in names if name in there},
            {folder: self._chunks[folder] for folder in folders if folder in self._chunks},
        )

    def _names(self, entry: Entry) -> Iterator[str]:
        """Yield the members that a sample is made of."""
        name = str(entry.place)
        yield name
        if name.endswith(f"/{SHELL}"):
            folder = name.removesuffix(SHELL)
            yield f"{folder}metadata.json"
            for kind in self._chunks.get(folder, {}).values():
                yield from (chunk for _, chunk in kind)

    def summaries(self) -> Iterator[Json]:
        """Yield what the log says of its samples in short; as `Log`."""
        names = self._archive.members
        journal = {int(match[1]): name for name in names if (match := JOURNAL.fullmatch(name))}
        for name in [SUMMARIES] if SUMMARIES in names else [journal[n] for n in sorted(journal)]:
            with contextlib.suppress(SampleError):
                yield from (one for one in self._samples.items(name) if isinstance(one, dict))


class JsonFile:
    """A log that is one JSON document.

    Args:
        path: of the file.

    Raises:
        ConfigError: it is none.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._document = JsonDocument(path, "samples")
        self.header = checked_head(path, self._document.rest)
        places: dict[tuple[str, int], int] = {}
        for place, sample in enumerate(self._document.items()):
            sample_id, epoch = mapping(sample).get("id"), mapping(sample).get("epoch")
            if isinstance(sample_id, str | int) and isinstance(epoch, int):
                places[str(sample_id), epoch] = place
        self.entries = tuple(Entry(*key, place) for key, place in places.items())

    def close(self) -> None:
        """Nothing is open."""

    def sample(self, entry: Entry) -> Json:
        """Return a sample; as `Log`."""
        return mapping(self._document.item(int(entry.place)))

    def summaries(self) -> Iterator[Json]:
        """Yield nothing: such a log has no short form."""
        return iter(())


def checked_head(path: Path, found: Any) -> Json:
    """Return the head of a log.

    Raises:
        ConfigError: it is none.
    """
    spec = mapping(mapping(found).get("eval"))
    task = spec.get("task")
    if not isinstance(task, str) or not task:
        shown = f"{task!r:.60}" if "task" in spec else "nothing"
        what = "is no log of Inspect: `eval.task` has no name"
        raise ConfigError([Problem(path, what, found=shown, allowed="the name of a task")])
    version = found.get("version")
    if isinstance(version, int) and version > NEWEST_VERSION:
        what = "is a log of a newer version of Inspect's format"
        raise ConfigError(
            [Problem(path, what, "version", found=str(version), allowed=f"up to {NEWEST_VERSION}")]
        )
    return mapping(found)


NEWEST_VERSION = 2
"""Of the format, that the tool writes; it tells other changes by what is there."""


def _entries_of(names: dict[str, Any]) -> tuple[tuple[Entry, ...], Chunks]:
    """Return the samples among the members of a log, and the chunks of those that have any."""
    found: dict[tuple[str, int], str] = {}
    chunks: Chunks = {}
    for name in names:
        if not name.startswith("samples/"):
            continue
        if match := SAMPLE.fullmatch(name):
            key = match[1], int(match[2])
            if match[3] == ".json":
                found[key] = name
            else:  # a folder without its shell is torn, and a whole sample beside it counts
                found.setdefault(key, f"samples/{match[1]}_epoch_{match[2]}/sample.json")
        elif match := CHUNK.fullmatch(name):
            kinds = chunks.setdefault(match[1], {})
            kinds.setdefault(match[2], []).append((int(match[3]), name))
    return tuple(Entry(*key, name) for key, name in found.items()), chunks
