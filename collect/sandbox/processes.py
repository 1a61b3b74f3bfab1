"""What a tree of processes takes, read from /proc; and what the whole machine has left.

A process that ends while it is looked at counts nothing. Standard library only: the helper loads
this.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collect.sandbox.trees import BLOCK_BYTES

PR_SET_CHILD_SUBREAPER = 36
KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
"""The number of the system call, by the processor."""
KEYCTL_JOIN_SESSION_KEYRING = 1

KB = 1024

FIELDS = re.compile(rb"^(RssAnon|RssShmem|VmSwap|Threads):\s*(\d+)", re.MULTILINE)

MACHINE = re.compile(rb"^(MemTotal|MemAvailable):\s*(\d+)", re.MULTILINE)

MIN_FREE_BYTES = 256_000_000
MIN_FREE_SHARE = 0.03
"""Of the machine's memory, and of a disk: below the larger one the hungriest command is ended."""

PROC = "/proc"

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind; elsewhere than on Linux not.

    So the first process of a sandbox is waited for even where bwrap itself was killed.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leave_keyring() -> None:
    """Give this process a session keyring of its own: commands would inherit that of the login.

    Where the kernel has none, or another kind of processor numbers its calls otherwise, nothing is
    done.
    """
    number = KEYCTL.get(os.uname().machine)
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None, use_errno=True).syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None)


@dataclass(slots=True)
class Taken:
    """What the processes of a command take together."""

    memory: int
    """Bytes: private memory, swap, and shared memory or unnamed files in it."""
    threads: int
    deleted: int
    """Bytes of files that are open and have no name any more."""
    cpu_s: float
    """Of those that live, and of children they waited for."""


def taken_by(root: int, device: int) -> Taken:
    """Return what a process and all below it take.

    Args:
        root: its number.
        device: of the disk on which files without a name are counted.
    """
    private = shared = threads = ticks = 0
    files: dict[tuple[int, int], int] = {}
    for pid in descendants(root):
        with contextlib.suppress(OSError):
            facts = _status(pid)
            private += (facts.get(b"RssAnon", 0) + facts.get(b"VmSwap", 0)) * KB
            shared += facts.get(b"RssShmem", 0) * KB
            threads += facts.get(b"Threads", 0)
            ticks += sum(map(int, _read(f"{PROC}/{pid}/stat").rpartition(b")")[2].split()[11:15]))
            files.update(_deleted(pid))
    on_disk = sum(size for (where, _), size in files.items() if where == device)
    in_memory = sum(files.values()) - on_disk
    return Taken(private + max(shared, in_memory), threads, on_disk, ticks / TICKS_A_SECOND)


def descendants(root: int) -> Iterator[int]:
    """Yield a process and all below it."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children(pid)


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none where the kernel does not list them."""
    found: list[int] = []
    with contextlib.suppress(OSError), os.scandir(f"{PROC}/{pid}/task") as threads:
        for thread in threads:
            with contextlib.suppress(OSError):
                found += map(int, _read(f"{thread.path}/children").split())
    return found


def _status(pid: int) -> dict[bytes, int]:
    return {name: int(number) for name, number in FIELDS.findall(_read(f"{PROC}/{pid}/status"))}


def _deleted(pid: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield device and number of each open file without a name, with its bytes."""
    with os.scandir(f"{PROC}/{pid}/fd") as handles:
        for handle in handles:
            with contextlib.suppress(OSError):
                facts = handle.stat()
                if facts.st_nlink == 0 and stat.S_ISREG(facts.st_mode):
                    yield (facts.st_dev, facts.st_ino), facts.st_blocks * BLOCK_BYTES


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 1 << 16)
    finally:
        os.close(handle)


def is_short_of_memory() -> bool:
    """Return whether the whole machine has too little left; False where that is not known.

    Memory that no process holds (of sockets, of the System V kind) is in no sum but this one.
    """
    try:
        facts = dict(MACHINE.findall(_read(f"{PROC}/meminfo")))
        total, left = int(facts[b"MemTotal"]) * KB, int(facts[b"MemAvailable"]) * KB
    except (OSError, KeyError):
        return False
    return left < max(MIN_FREE_BYTES, total * MIN_FREE_SHARE)


@dataclass(frozen=True, slots=True)
class Disk:
    """What the disk of a folder has left."""

    free: int
    """Bytes."""
    names: int
    """Files and folders that could be made; 0 where the file system does not say."""
    is_short: bool

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """Look at the disk of a folder; raises OSError when that is gone."""
        facts = os.statvfs(folder)
        free = facts.f_bavail * facts.f_frsize
        floor = min(max(MIN_FREE_BYTES, facts.f_blocks * facts.f_frsize * MIN_FREE_SHARE), 1 << 30)
        return cls(free, facts.f_favail, free < floor)
