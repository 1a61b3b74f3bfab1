"""Engines that keep their views from one session to the next, for tests of what is asked of them.

The engine binds up to 46 views for every session, some 0.2 s of a core, over raw tables that are
declared anew each time; the views themselves are the same for every lake. What a session is, how it
opens and what it leaves behind is tested on sessions as they are (`analyze/views/test_session.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pytest

from analyze.lake.overlay import TABLE
from analyze.query.catalog import NAMES
from analyze.query.session import Session

IDLE: list[tuple[duckdb.DuckDBPyConnection, set[str]]] = []
"""Engines of sessions that were closed, each with the names of the views that it has."""

CLOSED = duckdb.connect(":memory:")
CLOSED.close()


@contextmanager
def kept_views() -> Iterator[None]:
    """Let each session take over the engine of a closed one, where it has the usual threads."""
    begin, opened = Session.__init__, Session._opened
    lent: dict[int, set[str]] = {}

    def __init__(self, *args, **words):
        begin(self, *args, **words)
        self._there |= lent.pop(id(self), set())

    def _opened(self):
        is_again = hasattr(self, "_there")  # after damage: an engine that never saw it
        if is_again or self._threads is not None or not IDLE:
            return opened(self)
        engine, lent[id(self)] = IDLE.pop()
        return engine

    def give_back(self):
        engine, self._engine = self._engine, CLOSED
        if engine is CLOSED:
            return
        if self._threads is None and is_emptied(engine):
            IDLE.append((engine, self._there & NAMES.keys()))
        else:
            engine.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "__init__", __init__)
        patch.setattr(Session, "_opened", _opened)
        patch.setattr(Session, "close", give_back)
        yield


def is_emptied(engine: duckdb.DuckDBPyConnection) -> bool:
    """Return whether an engine answers, and holds no table that the next session would find."""
    try:
        engine.execute(f"drop table if exists {TABLE}").fetchall()
        return engine.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]
    except duckdb.Error:
        return False
