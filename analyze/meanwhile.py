"""Loads modules while the engine works: it needs no Python for that, and there is a second core.

For commands whose records take as long to load as their rows to read.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread


@contextmanager
def imported_meanwhile(*modules: str) -> Iterator[None]:
    """Import modules in another thread; they are there when the block ends.

    Whoever imports one of them earlier waits for it. What fails to load is loaded again when the
    block ends, and raises there if it fails again: it may have met a module that the other thread
    was still loading, as altair does with the pandas that pyarrow looks for.
    Ctrl-C waits until they are loaded: within an import of the main thread it can leave Python's
    own lock taken, for which the other thread would wait for ever.
    """
    interrupt = _LateInterrupt()
    failed: list[str] = []

    def load() -> None:
        try:
            for module in modules:
                try:
                    import_module(module)
                except Exception:  # noqa: BLE001 - whatever it is, it is raised at the second try
                    failed.append(module)
        finally:
            interrupt.let_through()

    thread = Thread(target=load, name="imports", daemon=True)
    with interrupt:
        thread.start()
        try:
            yield
        finally:
            thread.join()
    for module in failed:
        import_module(module)


class _LateInterrupt:
    """Holds Ctrl-C back until it is let through; nothing where somebody else listens for it."""

    def __init__(self) -> None:
        self._is_held = True
        self._came = False
        self._listens = False
        self._tell_ignored = sys.unraisablehook

    def __enter__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._take)
            self._listens = True
            self._tell_ignored, sys.unraisablehook = sys.unraisablehook, self._ignored

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self._tell_ignored
            if self._came:
                raise KeyboardInterrupt

    def let_through(self) -> None:
        """Interrupt the main thread when somebody wanted that; called from another one."""
        self._is_held = False
        if self._came:
            _thread.interrupt_main()

    def _take(self, *_: object) -> None:
        self._came = True
        if not self._is_held:
            raise KeyboardInterrupt

    def _ignored(self, what: sys.UnraisableHookArgs) -> None:
        """Pass over a Ctrl-C that came where nothing can be raised: it is raised at the end."""
        if what.exc_type is not KeyboardInterrupt:
            self._tell_ignored(what)
