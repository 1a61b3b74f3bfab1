"""The files of an image of OpenClaw: busybox, Node with what it is linked with, and npm packages.

They belong to root, everybody can read them, and all have one date: the same packages and the same
Node give the same layer. `/tmp` is everybody's, and the folders of a trial are there.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

from collect.workspace import HOME, WORKSPACE
from schemas.errors import ImageError

BUSYBOX = Path("/bin/busybox")
NO_BUSYBOX = "apt-get install busybox-static"

PACKAGES = "opt/openclaw/node_modules"
FOLDERS = ("bin", "dev", "etc", "opt/openclaw", "proc", "root", "run", "sys", "usr/bin")
OWN_FOLDERS = ("usr/local/bin", HOME[1:], WORKSPACE[1:])
OPEN_FOLDERS = ("tmp", "var/tmp")
LINKS = {
    "usr/bin/env": "../../bin/busybox",
    "usr/local/bin/openclaw": f"/{PACKAGES}/.bin/openclaw",
}
TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    f"agent:x:1000:1000:agent:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/sh\n",
    "etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}

NAME_LIBRARIES = ("libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")
"""What the C library loads to look names up, beside itself."""

LIBRARY = re.compile(r"(/\S+) \(0x")
DATE_S = 499_162_500
"""Of every file: 26 October 1985, as npm has it."""

QUERY_SECONDS = 60


def check_busybox() -> None:
    """Raise an ImageError unless there is a busybox that needs no libraries."""
    if not BUSYBOX.is_file() or _libraries(BUSYBOX):
        what = "needs libraries" if BUSYBOX.is_file() else "is not there"
        message = f"{BUSYBOX}, the shell of the image, {what}: {NO_BUSYBOX}"
        raise ImageError(message)


def pack(tar: tarfile.TarFile, program: Path, packages: Path) -> None:
    """Write the file system of the image."""
    for folder in (*FOLDERS, *OWN_FOLDERS, *OPEN_FOLDERS):
        info = tarfile.TarInfo(folder)
        info.type, info.mtime = tarfile.DIRTYPE, DATE_S
        info.mode = 0o1777 if folder in OPEN_FOLDERS else 0o755
        tar.addfile(info)
    for name, text in TEXTS.items():
        info = tarfile.TarInfo(name)
        info.size, info.mtime = len(text), DATE_S
        tar.addfile(info, BytesIO(text.encode("ascii")))
    tools = [one for one in _lines([str(BUSYBOX), "--list"]) if one != "busybox"]
    for name, target in {f"bin/{one}": "busybox" for one in tools}.items() | LINKS.items():
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.mtime = tarfile.SYMTYPE, target, DATE_S
        tar.addfile(info)
    libraries = _libraries(program)
    homes = {path.parent for path in libraries if path.name.startswith("libc.")}
    name_libraries = [home / name for home in homes for name in NAME_LIBRARIES]
    libraries += [path for path in name_libraries if path.exists() and path not in libraries]
    for path, name in (
        (BUSYBOX, "bin/busybox"),
        (program, "usr/local/bin/node"),
        *((path, str(path)[1:]) for path in libraries),
    ):
        tar.add(path.resolve(), name, filter=_plain)
    tar.add(packages, PACKAGES, filter=_plain)


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a file as it is in the image: root's, readable by everybody, of one date."""
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mtime = DATE_S
    if not info.issym():
        info.mode = 0o755 if info.isdir() or info.mode & 0o111 else 0o644
    return info


def _libraries(program: Path) -> list[Path]:
    """Return the libraries that a program is linked with, the loader too; none where it is static.

    Raises:
        ImageError: one of them is not on this machine.
    """
    lines = _lines(["ldd", str(program)])
    if missing := [line.split()[0] for line in lines if line.endswith("not found")]:
        message = f"{program} needs {', '.join(missing)}, which this machine does not have"
        raise ImageError(message)
    return sorted({Path(path) for line in lines for path in LIBRARY.findall(line)})


def _lines(command: Sequence[str]) -> Iterable[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=QUERY_SECONDS, check=False
    )
    return [line.strip() for line in done.stdout.splitlines()]
