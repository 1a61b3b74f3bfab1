"""Namespaces that the helper makes or enters: folders that are shown, sockets that listen inside.

A Python that is installed below /root can be read by everybody, but for /root itself, into which
nobody may look. In a mount namespace of this process, and of no other, such a folder shows what is
named of it alone, read-only.

The one way out of a sandbox is a socket that listens inside and is served outside: a child of the
helper enters the namespaces of a command that bubblewrap has not begun yet, listens there on
loopback, hands the socket over, and is gone. So nothing of ours runs inside, and nothing inside can
end what is listened on. Standard library only: the helper loads this.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import stat
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
SAFE = MS_NOSUID | MS_NODEV

LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
NS_GET_USERNS = 0xB701
"""Of ioctl_ns(2): the user namespace that owns another one."""

IP_FREEBIND = 15
"""The address may come after the socket: loopback is brought up meanwhile."""

BACKLOG = 128
TIMEOUT_S = 5


def closed_above(path: Path) -> Path | None:
    """Return the outermost folder above a path into which others may not look; None: there is none.

    Raises:
        OSError: the path is not there.
    """
    real = path.resolve(strict=True)
    parents = reversed((real if real.is_dir() else real.parent).parents)
    folders = [*parents, *((real,) if real.is_dir() else (real.parent,))]
    return next((one for one in folders if not one.stat().st_mode & stat.S_IXOTH), None)


def show(paths: Iterable[str]) -> None:
    """As root: let closed folders show some of what is below them, to this process and its own.

    Args:
        paths: of files and folders that everybody may read; those in no closed folder are passed
            over.

    Raises:
        OSError: this process may not mount, or a path is not there.
    """
    closed: dict[Path, list[str]] = {}
    for path in paths:
        if (folder := closed_above(Path(path))) is not None:
            closed.setdefault(folder, []).append(path)
    if not closed:
        return
    libc = LIBC
    if libc.unshare(CLONE_NEWNS):
        raise _fault(Path("/"))
    mount = _Mounts(libc)
    mount(None, Path("/"), MS_REC | MS_PRIVATE)
    for folder, inner in closed.items():
        places = {
            place: os.open(place, os.O_PATH | os.O_CLOEXEC) for place in _names(inner, folder)
        }
        try:
            mount("tmpfs", folder, SAFE, "tmpfs")
            for place, handle in places.items():
                mount.bind(Path(place), handle)
            mount(None, folder, MS_REMOUNT | MS_BIND | MS_RDONLY | SAFE)
        finally:
            for handle in places.values():
                os.close(handle)


def _names(paths: Iterable[str], folder: Path) -> list[str]:
    """Return paths below a folder, as they are named and as they are, but for those in others."""
    found: list[str] = []
    for path in sorted({name for one in paths for name in (one, os.path.realpath(one))}):
        is_below = path.startswith(f"{folder}/")
        if is_below and not (found and path.startswith(f"{found[-1]}/")):
            found.append(path)
    return found


class _Mounts:
    """Mounts, in the namespace of this process."""

    def __init__(self, libc: ctypes.CDLL) -> None:
        self._libc = libc

    def __call__(
        self, source: str | None, target: Path, flags: int, kind: str | None = None
    ) -> None:
        """Mount one thing; raises OSError."""
        words = [None if one is None else os.fsencode(one) for one in (source, target, kind)]
        data = b"mode=0755,size=1m" if kind == "tmpfs" else None
        if self._libc.mount(*words, ctypes.c_ulong(flags), data):
            raise _fault(target)

    def bind(self, place: Path, handle: int) -> None:
        """Show what a handle leads to at a place of an empty folder; raises OSError."""
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            place.mkdir(0o755, parents=True, exist_ok=True)
        else:
            place.parent.mkdir(0o755, parents=True, exist_ok=True)
            place.touch(0o644)
        self(f"/proc/self/fd/{handle}", place, MS_BIND | MS_REC)
        self(None, place, MS_REMOUNT | MS_BIND | MS_RDONLY | SAFE)


def _fault(path: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(path))


def hand_over_listener(pid: int, port: int, channel: socket.socket, number: int) -> str:
    """Listen on 127.0.0.1 in the network of a process, and send the socket through a channel.

    Args:
        pid: of a process that bubblewrap has started.
        port: to listen on.
        channel: of whole messages; each is a number, and a socket with it.
        number: of the command.

    Returns:
        What went wrong; empty: nothing.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        why = "the kernel refused"
        try:
            signal.alarm(TIMEOUT_S)
            with _listener_inside(pid, port) as listener:
                socket.send_fds(channel, [b"%d" % number], [listener.fileno()])
            why = ""
        except OSError as exc:
            why = str(exc)
        finally:
            with contextlib.suppress(OSError):
                os.write(write_end, why.encode())
            os._exit(bool(why))
    os.close(write_end)
    with os.fdopen(read_end, "rb") as said:
        text = said.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return text or ("" if status == 0 else f"its child ended with status {status}")


def _listener_inside(pid: int, port: int) -> socket.socket:
    """Enter the network of a process, for good, and listen there; raises OSError."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(network, NS_GET_USERNS)
    for handle, kind in ((owner, CLONE_NEWUSER), (network, CLONE_NEWNET)):
        if LIBC.setns(handle, kind):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    return listener
