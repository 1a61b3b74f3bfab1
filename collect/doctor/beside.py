"""Runs what may hang (a name server, a dead network drive) where nobody has to wait for it.

The threads of `asyncio.to_thread` are waited for when the program ends; these are not.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


async def beside(function: Callable[[], Answer]) -> Answer:
    """Return what a function returns, or raise what it raises; it may be abandoned at any time."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def tell(answer: Answer | None, exc: Exception | None) -> None:
        if future.done():
            return
        if exc is None:
            future.set_result(answer)  # type: ignore[arg-type]  # None where Answer is None
        else:
            future.set_exception(exc)

    def work() -> None:
        answer, wrong = None, None
        try:
            answer = function()
        except Exception as exc:  # noqa: BLE001 - handed to the one who waits
            wrong = exc
        with contextlib.suppress(RuntimeError):  # the loop ended without waiting
            loop.call_soon_threadsafe(tell, answer, wrong)

    threading.Thread(target=work, daemon=True).start()
    return await future
