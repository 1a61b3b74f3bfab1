"""The value of a run as its cases make it up, whichever of them were there.

Cases differ far more than runs do, so a mean over the cases of a run moves whenever a hard case
enters or leaves, or has no value that night. Each case is therefore held against its own level:

    x[t] = mean over the cases of run t of (y[t, i] - level[i]) + mean of all levels

which is the plain mean over cases where every run has every case. It is the first step of fitting
runs + cases by least squares, so a case that is only ever on one side of a break says nothing of
it. Levels are those of the prefix that is looked at: at every length the values are other ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyze.stats.changepoints.scan import Bools
from analyze.stats.split_scan import Floats


@dataclass(frozen=True, slots=True)
class RunValues:
    """The values of a series at each of its lengths.

    Attributes:
        means: of each run, the mean over the cases that it has.
        shares: runs x cases: 1 over the number of cases of the run, 0 for a case that it has not;
            None when every run has every case, and levels play no part.
        levels: lengths x cases: level of a case over so many runs, less the mean of all levels;
            0 for a case that no run has yet.
    """

    means: Floats
    shares: Floats | None
    levels: Floats

    @classmethod
    def of(cls, values: Floats, present: Bools, totals: Floats, weights: Floats) -> RunValues:
        """Return them for runs x cases; each run has a case.

        Args:
            values: of a case in a run; 0 where it has none.
            present: whether it has one.
            totals: what the level of a case is pooled from: sum of `totals` over sum of `weights`.
            weights: of a case in a run; 0 where it has no value.
        """
        n_cases = present.sum(axis=1)
        means = values.sum(axis=1) / n_cases
        if present.all():
            return cls(means, None, np.zeros((0, 0)))
        amounts = weights.cumsum(axis=0)
        known = amounts > 0
        levels = totals.cumsum(axis=0) / np.where(known, amounts, 1)
        overall = levels.sum(axis=1) / known.sum(axis=1)
        levels = np.where(known, levels - overall[:, None], 0.0)
        return cls(means, present / n_cases[:, None], levels)

    def at(self, length: int) -> Floats:
        """Return the values of the first `length` runs, when these are all there is."""
        means = self.means[:length]
        if self.shares is None:
            return means
        found: Floats = means - self.shares[:length] @ self.levels[length - 1]
        return found

    def sums(self, low: int, high: int, first: int) -> tuple[Floats, Floats]:
        """Return the partial sums and the scatter of the lengths `low` to `high`.

        Args:
            low: first length.
            high: last length.
            first: fewest runs on either side of a split.

        Returns:
            For each length the sums of the first k values less their mean over the whole length,
            a column each k from `first` to `high` - `first`; and the sum of the squares of the
            values less that mean.
        """
        lengths = np.arange(low, high + 1)
        places = np.arange(first, high - first + 1)
        if self.shares is None:
            centred = self.means[:high] - self.means[0]
            sums, squares = centred.cumsum(), (centred * centred).cumsum()
            whole = sums[low - 1 : high]
            mean = whole / lengths
            return sums[places - 1] - mean[:, None] * places, squares[low - 1 : high] - mean * whole
        values = self.means[:high] - self.levels[low - 1 : high] @ self.shares[:high].T
        inside = np.arange(high) < lengths[:, None]
        values -= (values.sum(axis=1, where=inside) / lengths)[:, None]
        values *= inside
        return values.cumsum(axis=1)[:, places - 1], (values * values).sum(axis=1)
