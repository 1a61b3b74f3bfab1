"""Loads modules while the engine works: it needs no Python for that, and there is a second core.

For commands whose records take as long to load as their rows to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread


@contextmanager
def imported_meanwhile(*modules: str) -> Iterator[None]:
    """Import modules in another thread; they are there when the block ends.

    Whoever imports one of them earlier waits for it. A module that fails to load fails there again.
    """

    def load() -> None:
        for module in modules:
            import_module(module)

    thread = Thread(target=load, name="imports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
