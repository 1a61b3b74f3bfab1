"""CPU time as a multiple of a known loop, so that neither load nor a slow machine shows."""

import time


def _loop():
    total = 0
    for n in range(1_000_000):
        total += n
    return total


def _seconds(work):
    began = time.thread_time()
    work()
    return time.thread_time() - began


def loops(work) -> float:
    """CPU time of `work` in this thread, over that of a loop of a million additions.

    The loop runs before and after; a machine that slows down meanwhile divides by the slower.
    """
    before = _seconds(_loop)
    taken = _seconds(work)
    return taken / max(before, _seconds(_loop))
