"""What a coordinator and the process of a shard say to each other: one line of JSON each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from collect.execute.budget import BudgetNeed

NO_NEED = BudgetNeed(0, 0, 0, 0)
"""Of a run without a limit."""


@dataclass(frozen=True, slots=True)
class Begin:
    """To a shard, first: how its folder is gone on with."""

    allowed_hosts: tuple[str, ...] = ()
    unsafe_no_sandbox: bool = False
    assume_price: str | None = None
    max_cost_usd: float | None = None
    """Of all shards; None: none was given."""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Division:
    """To a shard: its part of every limit from now on."""

    number: int
    """Counted up; the shard says it back once nothing more is under way than it allows."""
    rank: int
    n_shares: int


@dataclass(frozen=True, slots=True)
class Grant:
    """To a shard: what it may spend in all, in nano-dollars."""

    nano: int
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """To a shard: what Ctrl-C does; the second one ends what is in flight."""


@dataclass(frozen=True, slots=True)
class Progress:
    """From a shard: how far it is; its first one says that it is ready."""

    present: int = 0
    passed: int = 0
    tokens: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """Of this attempt, by failure_type."""
    number: int = 0
    """The newest division that it keeps to."""
    need: BudgetNeed = NO_NEED

    def __post_init__(self) -> None:
        """Make of a line's list what it was."""
        object.__setattr__(self, "need", BudgetNeed(*self.need))


@dataclass(frozen=True, slots=True)
class Note:
    """From a shard: something that the user should know."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """From a shard, last: the fields of its `RunReport`."""

    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """From a shard, last: why it cannot be made there."""

    text: str
    exit_code: int


Message = Begin | Division | Grant | Stop | Progress | Note | Ended | Refused


KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind
    for kind in (Begin, Division, Grant, Stop, Progress, Note, Ended, Refused)
}
"""By the word that a line names them with."""


def line_of(message: Message) -> bytes:
    """Return a message as a line."""
    fields = {"kind": type(message).__name__.lower()} | asdict(message)
    return orjson.dumps(fields, default=list) + b"\n"  # of a named tuple


def message_of(line: bytes) -> Message:
    """Return the message of a line.

    Raises:
        ValueError: it is none.
    """
    try:
        fields = orjson.loads(line)
        return KINDS[fields.pop("kind")](**fields)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as exc:
        message = f"no message of a shard: {line[:200]!r}"
        raise ValueError(message) from exc


class Lines:
    """Puts what arrives in pieces together to lines."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, piece: bytes) -> list[bytes]:
        """Return the lines that are whole now."""
        *whole, self._rest = (self._rest + piece).split(b"\n")
        return whole
