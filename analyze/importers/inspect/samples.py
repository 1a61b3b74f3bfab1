"""Samples of an `.eval` file, each as one object.

A sample is a member of its own, or a folder of them: a shell, and messages, events and attachments
in chunks that are named by the index of their first. Both kinds may stand in one log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from analyze.importers.inspect.archive import Archive, Member, MemberError
from analyze.importers.inspect.values import Json, items_in, loads, rows

SHELL = "sample.json"

MAX_EXPANDED = 1_000_000
"""Messages that ranges may name together: each may name the whole pool."""

Chunks = dict[str, dict[str, list[tuple[int, str]]]]
"""Members by folder and kind, with the index of their first item."""


class Entry(NamedTuple):
    """A sample of a log."""

    sample_id: str
    epoch: int
    place: str | int
    """Of its content in the log."""


class SampleError(ValueError):
    """A sample cannot be read; the text says why."""


class Part(NamedTuple):
    """Where some samples of an `.eval` file lie, for whoever reads these alone."""

    path: Path
    members: dict[str, Member]
    chunks: Chunks


class Samples:
    """Reads samples of an archive.

    Args:
        archive: with their members.
        chunks: of those that are folders.
    """

    def __init__(self, archive: Archive, chunks: Chunks) -> None:
        self._archive = archive
        self._chunks = chunks

    def sample(self, entry: Entry) -> Json:
        """Return a sample.

        Raises:
            SampleError: it cannot be read.
            OSError: the file cannot be read.
        """
        name = str(entry.place)
        found = self.loaded(name)
        if not isinstance(found, dict):
            message = f"`{name:.200}` is no JSON object"
            raise SampleError(message)
        if name.endswith(f"/{SHELL}"):
            return self._whole(name.removesuffix(SHELL), found)
        return found

    def _whole(self, folder: str, shell: Json) -> Json:
        """Return a sample of chunks as one object, in the shape of one that is a member."""
        metadata = f"{folder}metadata.json"
        if metadata in self._archive.members:
            shell["metadata"] = self.loaded(metadata)
        pool = self._sequence(folder, "messages")
        shell["messages"] = expanded(shell.get("message_refs"), pool)
        shell["events"] = self._sequence(folder, "events")
        shell["events_data"] = {"messages": pool}
        texts = self._sequence(folder, "attachments")
        shell["attachments"] = {str(index): text for index, text in enumerate(texts)}
        return shell

    def _sequence(self, folder: str, kind: str) -> list[Any]:
        chunks = self._chunks.get(folder, {}).get(kind, [])
        items: list[Any] = []
        for start, name in sorted(chunks):
            if start != len(items):
                message = (
                    f"`{name:.200}` begins at {start:,}, and {len(items):,} items are before it"
                )
                raise SampleError(message)
            items += rows(self.loaded(name))
        return items

    def items(self, name: str) -> Iterator[Any]:
        """Yield the items of a list of objects that a member holds.

        Raises:
            SampleError: it is damaged, or no JSON from some item on.
            OSError: the file cannot be read.
        """
        try:
            yield from items_in(self._archive.pieces(name))
        except MemberError as exc:
            raise SampleError(str(exc)) from None
        except ValueError as exc:
            message = f"`{name:.200}` is no JSON: {exc}"
            raise SampleError(message) from None

    def loaded(self, name: str) -> Any:
        """Return what a member holds.

        Raises:
            SampleError: it is damaged, or no JSON.
            OSError: the file cannot be read.
        """
        try:
            return loads(self._archive.read(name))
        except MemberError as exc:
            raise SampleError(str(exc)) from None
        except ValueError as exc:
            message = f"`{name:.200}` is no JSON: {exc}"
            raise SampleError(message) from None


def expanded(refs: Any, pool: list[Any]) -> list[Any]:
    """Return the items of a pool that ranges `[start, end)` name; what is no range is none."""
    found: list[Any] = []
    for one in rows(refs):
        if isinstance(one, list) and len(one) == 2 and all(type(end) is int for end in one):
            begin, end = max(one[0], 0), max(one[1], 0)
            found += pool[begin:end]
        if len(found) > MAX_EXPANDED:
            message = f"names more than {MAX_EXPANDED:,} messages of its pool"
            raise SampleError(message)
    return found
