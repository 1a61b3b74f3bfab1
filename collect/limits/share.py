"""The part of a run's limits that one process may use, which may change while it runs.

Parts of one limit add up to it. A member that leaves lowers nobody's part, and one that joins
raises nobody's, as long as members keep their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

WHOLE = (0, 1)
"""Of a run that one process makes."""

NOTHING = (0, 0)
"""Nothing new begins."""


def part_of(limit: int, rank: int, n_shares: int) -> int:
    """Return one of `n_shares` parts of a limit, as equal as whole numbers are; 0 of none."""
    if not n_shares:
        return 0
    return limit // n_shares + (rank < limit % n_shares)


class Shared(Protocol):
    """What keeps to a part of a limit."""

    def divide(self) -> None:
        """Keep to the part as it is now."""

    @property
    def is_within(self) -> bool:
        """Return whether no more is under way than the part allows."""


class Share:
    """What one process may use of each limit of a run."""

    def __init__(self, rank: int = 0, n_shares: int = 1) -> None:
        self._rank, self._n_shares = rank, n_shares
        self._members: list[Shared] = []
        self._on_less: Callable[[], None] = lambda: None

    @property
    def is_nothing(self) -> bool:
        """Return whether nothing new may begin."""
        return not self._n_shares

    @property
    def is_within(self) -> bool:
        """Return whether nothing more is under way than the share allows."""
        return all(member.is_within for member in self._members)

    def join(self, member: Shared) -> None:
        """Tell a limiter of every change."""
        self._members.append(member)

    def of(self, limit: int) -> int:
        """Return the part of a number of things at once."""
        return part_of(limit, self._rank, self._n_shares)

    def pace_of(self, per_minute: float) -> float:
        """Return the part of a number of requests a minute; 0: none."""
        return per_minute / self._n_shares if self._n_shares else 0.0

    def change(self, rank: int, n_shares: int) -> None:
        """Take another part; what is under way goes on."""
        self._rank, self._n_shares = rank, n_shares
        for member in self._members:
            member.divide()
