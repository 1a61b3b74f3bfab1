"""What became of each field of a migrated report: the account that `analyze migrate` prints.

With it the fields of an instance that schema v2 takes over as they are, by the names they had
before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from schemas.base import Finding, error, pointer
from schemas.errors import counted
from schemas.io.json_text import described

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
        self._moves: defaultdict[Fate, Counter[tuple[str, str, str]]] = defaultdict(Counter)

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
        """Make an account of the list at a JSON pointer of the older document."""
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

    def add_error(self, code: str, where: tuple[str | int, ...], message: str) -> None:
        """Add a mistake of an entry; the place starts with the entry's index."""
        self._findings.append(error(code, self._base + pointer(*where), message))

    def _every(self, key: str) -> str:
        if key not in self._pointers:
            self._pointers[key] = self._base + pointer("*", key)
        return self._pointers[key]


def mismatch(value: object, allowed: str) -> str:
    """Return the sentence for a value that is none of what is allowed."""
    return f"{described(value)} stands there; allowed: {allowed}"


def fits(declaration: type[BaseModel], value: object) -> bool:
    """Return whether a value is an object that schema v2 declares."""
    if not isinstance(value, dict):
        return False
    try:
        declaration.model_validate(value)
    except ValidationError:
        return False
    return True


def is_text(value: object) -> bool:
    """Return whether a value is a text or null."""
    return value is None or isinstance(value, str)


def is_seconds(value: object) -> bool:
    """Return whether a value is a duration that v2 can hold, or null."""
    return value is None or (is_number(value) and 0 <= value <= 1e9)  # type: ignore[operator]


def is_score(value: object) -> bool:
    """Return whether a value is a score that v2 can hold, or null."""
    return value is None or (is_number(value) and -1e6 <= value <= 1e6)  # type: ignore[operator]


def is_number(value: object) -> bool:
    """Return whether a value is a number; true and false are none."""
    return type(value) in {int, float}


class Kind(NamedTuple):
    """What a field may hold."""

    fits: Callable[[object], bool]
    allowed: str


TEXT = Kind(is_text, "text or null")
SECONDS = Kind(is_seconds, "seconds from 0 to 1e9, or null")
SCORE = Kind(is_score, "a number from -1e6 to 1e6, or null")


class Field(NamedTuple):
    """One field of an instance."""

    target: str
    sources: tuple[str, ...]
    """Names it had; the first that has a value counts."""
    kind: Kind
    declared: bool = False
    """The older schema declares it, so another type is a mistake; else it is merely kept."""


FIELDS = (
    Field("model_name", ("model_name", "model"), TEXT),
    Field("duration_seconds", ("duration_seconds", "duration"), SECONDS, declared=True),
    Field("error_message", ("error_message",), TEXT, declared=True),
    Field("error_type", ("error_type",), TEXT),
    Field("start_time", ("start_time", "timestamp"), TEXT),
    Field("end_time", ("end_time",), TEXT),
    Field("log_path", ("log_path",), TEXT),
    Field("solution_patch", ("solution_patch",), TEXT),
    Field("scratch_org_username", ("scratch_org_username",), TEXT),
    Field("scratch_org_creation_time", ("scratch_org_creation_time",), SECONDS),
)


def take_fields(place: int, left: dict[str, Any], new: dict[str, Any], account: Account) -> None:
    """Move fields of an entry into an instance, unless it has them already."""
    for field in FIELDS:
        given = [key for key in field.sources if key in left]
        if not given:
            continue
        key = next((key for key in given if left[key] is not None), given[0])
        if not field.kind.fits(left[key]):
            if field.declared:
                not_allowed(place, key, left[key], field.kind, account)
        elif field.target not in new or left[key] is None:
            new.setdefault(field.target, left.pop(key))
            account.mapped(key, field.target)


def not_allowed(place: int, key: str, value: object, kind: Kind, account: Account) -> None:
    """Add that a declared field holds something else."""
    code = "bad_value" if is_number(value) else "wrong_type"
    account.add_error(code, (place, key), mismatch(value, kind.allowed))
