"""The money of all shards together: each is granted what it needs next, never more than is left.

A grant is what a shard may spend in all, so what it has promised and not spent comes back when it
ends. Of a process that is lost, all that it was granted counts as spent: nobody knows better.
Whole nano-dollars. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from collect.execute.budget import BudgetNeed

TRIALS_AHEAD = 2
"""Of what is in flight, how much is granted ahead, so that no trial waits for an answer."""


class Funds:
    """What is left of `--max-cost`, and who may spend how much.

    Args:
        cap: of all shards; None: there is no limit, and nobody needs a grant.
        spent: by shard, what its log holds.
        unaccounted: what lost processes may have spent, beside what logs hold.
    """

    def __init__(self, cap: int | None, spent: Mapping[int, int], unaccounted: int = 0) -> None:
        self._cap = cap
        self._granted = dict(spent)
        self._unaccounted = unaccounted

    @property
    def is_limited(self) -> bool:
        """Return whether there is a limit at all."""
        return self._cap is not None

    @property
    def left(self) -> int:
        """Return what nobody has spent and nobody may spend."""
        gone = sum(self._granted.values()) + self._unaccounted
        return max((self._cap or 0) - gone, 0)

    def grant(self, shard: int, need: BudgetNeed, at_once: int, n_shards: int) -> int | None:
        """Return what a shard may now spend in all; None: it has enough, or there is too little.

        Args:
            shard: its number.
            need: as it said last.
            at_once: trials that it may have in flight.
            n_shards: that are being made, each of which gets its turn at what is left.
        """
        granted = self._granted[shard]
        required = need.required - granted
        ahead = need.spent + need.reserved + need.widest * at_once * TRIALS_AHEAD - granted
        fair = max(self.left // max(n_shards, 1), required)
        more = min(max(ahead, required), fair)
        if more <= 0 or more > self.left or (required <= 0 and ahead < need.widest * at_once):
            return None
        self._granted[shard] = granted + more
        return self._granted[shard]

    def is_starved(self, shard: int, need: BudgetNeed) -> bool:
        """Return whether a shard waits for more than is left, with nothing in flight to spare."""
        lacks = need.required - self._granted[shard]
        return lacks > self.left and not need.reserved

    def settle(self, shard: int, spent: int) -> None:
        """Take back what a shard that has ended was granted and has not spent."""
        self._granted[shard] = spent

    def lose(self, shard: int, logged: int) -> int:
        """Count what a lost process was granted as spent; return what its log does not hold."""
        unaccounted = max(self._granted[shard] - logged, 0)
        self._unaccounted += unaccounted
        self._granted[shard] = logged
        return unaccounted
