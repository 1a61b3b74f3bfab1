"""What became of each field of a migrated report: the account that `analyze migrate` prints."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

from schemas.base import Finding, error, pointer
from schemas.errors import counted

Fate = Literal["mapped", "defaulted", "carried"]

KEPT = "/environment/migrated_from"
"""Where in a v2 report everything is kept that has no place of its own there."""


class Moved(NamedTuple):
    """One field of the older report and its place in the new one.

    A `*` stands for every instance: `/results/*/duration`.
    """

    pointer: str
    """In the older document; where a value was missing, where it was looked for."""

    target: str
    """In the new report."""

    note: str
    """What is to be known about it, and how many values there were; may be empty."""


class Ledger:
    """Collects moves; those that many instances have in common are one."""

    def __init__(self) -> None:
        self._moves: dict[Fate, Counter[tuple[str, str, str]]] = {
            "mapped": Counter(),
            "defaulted": Counter(),
            "carried": Counter(),
        }

    def add(self, fate: Fate, pointer: str, target: str, note: str = "") -> None:
        """Count one value."""
        self._moves[fate][pointer, target, note] += 1

    def moves(self, fate: Fate) -> tuple[Moved, ...]:
        """Return the moves of one fate in the order in which they were first met."""
        return tuple(_counted(Moved(*move), n) for move, n in self._moves[fate].items())


def _counted(move: Moved, n: int) -> Moved:
    if "*" not in move.target and "*" not in move.pointer:
        return move
    times = counted(n, "value")
    return move._replace(note=f"{move.note}; {times}" if move.note else times)


class Account:
    """Enters what becomes of the entries of one list, and what is wrong with them."""

    def __init__(self, base: str, ledger: Ledger, findings: list[Finding]) -> None:
        """Make an account.

        Args:
            base: JSON pointer of the list in the older document.
            ledger: where each move is entered.
            findings: where each mistake is added.
        """
        self._base, self._ledger, self._findings = base, ledger, findings
        self._pointers: dict[str, str] = {}
        self._places: dict[tuple[str, ...], str] = {}

    def mapped(self, key: str, target: str, note: str = "") -> None:
        """Enter a field of an entry that became one of an instance."""
        self._ledger.add("mapped", self._every(key), f"/instances/*/{target}", note)

    def defaulted(self, key: str, target: str, note: str) -> None:
        """Enter a field of an instance that the entry does not have."""
        self._ledger.add("defaulted", self._every(key), f"/instances/*/{target}", note)

    def carried(self, key: str, *place: str, note: str = "") -> None:
        """Enter a field that is kept beside the report, under its name or below `place`."""
        place = place or (key,)
        if place not in self._places:
            self._places[place] = f"{KEPT}/instances/*{pointer(*place)}"
        self._ledger.add("carried", self._every(key), self._places[place], note)

    def wrong(self, code: str, where: tuple[str | int, ...], message: str) -> None:
        """Add a mistake of an entry; the place starts with the entry's index."""
        self._findings.append(error(code, self._base + pointer(*where), message))

    def _every(self, key: str) -> str:
        if key not in self._pointers:
            self._pointers[key] = self._base + pointer("*", key)
        return self._pointers[key]
