"""Says on a terminal how far long work is, and nothing anywhere else."""

from __future__ import annotations

import sys
import time

MIN_PROGRESS_S = 1.0
"""Work that takes longer than this shows its progress."""


class Progress:
    """One line on standard error that is replaced as work goes on; a context manager."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, what: str, n_done: int, n_all: int) -> None:
        """Take note of how much is done.

        Args:
            what: is done, in words.
            n_done: of them so far.
            n_all: there are.
        """
        self.show(f"{what}: {n_done:,} of {n_all:,}")

    def show(self, text: str) -> None:
        """Put a text in the place of the line."""
        if sys.stderr.isatty() and time.monotonic() - self._began > MIN_PROGRESS_S:
            self._is_shown = True
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
