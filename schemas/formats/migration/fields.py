"""Fields of an instance that schema v2 takes over as they are, by the names they had before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas.formats.migration.ledger import Account
from schemas.io.json_text import described


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
    account.wrong(code, (place, key), f"{described(value)} stands there; allowed: {kind.allowed}")
