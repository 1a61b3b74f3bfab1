"""A local image of OpenClaw, without a registry of images: busybox, Node and the npm packages.

`python -m collect.runners.openclaw.image 2026.5.28` makes `localhost/openclaw:2026.5.28`. Node
brings the libraries that it is linked with on this machine, busybox must need none. The image gets
its name when `openclaw --version` has said the right version in a container of it, so what has the
name works. Files belong to root and have one date: the same packages and Node give the same layer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from collect.config.endpoints import without_secrets
from collect.inventory.image_look import look_inside
from collect.runners.openclaw import node
from collect.runners.openclaw.node import Say
from collect.sandbox.base import ENVIRONMENT, SandboxError
from collect.sandbox.engine import INSTALL, Engine
from collect.sandbox.engine_trouble import advice, last_line
from collect.workspace import HOME, WORKSPACE
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.errors import EXIT_INTERRUPTED, EXIT_OK, BenchError, ImageError

LABEL = "benchlake.openclaw"
"""Of an image that was made here: the version of openclaw."""

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
LOOK_SECONDS = 120.0
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Image:
    """An image that works."""

    image: str
    version: str
    """Of openclaw."""
    id: str
    digest: str
    size_bytes: int
    is_new: bool
    """It was built now."""
    seconds: float


def build(version: str, client: str, name: str | None, packages: Path | None, say: Say) -> Image:
    """Return the image of a version, built unless it is there.

    Args:
        version: exactly, or a tag of npm's such as `latest`.
        client: `podman` or `docker`.
        name: of the image; None: `localhost/openclaw:` and the version.
        packages: a `node_modules` that holds it, or the folder around; None: npm installs it.
        say: is told what takes time.

    Raises:
        ImageError: something is missing, or the image does not work.
    """
    began = time.perf_counter()
    _check_machine(client)
    release = None if packages is None else _in_folder(version, packages)
    if release is None and node.VERSION.fullmatch(version):
        release = node.Release(version, "")
    with tempfile.TemporaryDirectory(prefix="openclaw-image-", ignore_cleanup_errors=True) as made:
        scratch = Path(made)
        if release is None:
            release = node.published(version, scratch, say)
        tag = name or f"localhost/openclaw:{release.version}"
        if (there := _there(client, tag, release.version)) is not None:
            return _image(tag, release.version, there, began, is_new=False)
        if packages is None:
            release = node.published(release.version, scratch, say)
        tools = node.choose_tools(release, scratch, say)
        modules = _modules(packages) if packages else node.install(release, tools, scratch, say)
        say(f"packing the image by {client} …")
        number = _imported(client, release.version, tools.node, modules)
    try:
        _check(client, number, release.version)
        old = _inspected(client, tag)
        _ask(client, "tag", number, tag)
    except BaseException:
        _run(client, "rmi", number)
        raise
    if old is not None and old["Id"] != number and _label(old) and len(old["RepoTags"] or ()) == 1:
        _run(client, "rmi", old["Id"])  # a container may still use it
    found = _inspected(client, tag)
    assert found is not None
    return _image(tag, release.version, found, began, is_new=True)


def _check_machine(client: str) -> None:
    if not sys.platform.startswith("linux"):
        message = (
            "the image is made of this machine's Node and libraries, which must be those of Linux; "
            "elsewhere take a published image of openclaw, by its digest"
        )
        raise ImageError(message)
    if shutil.which(client) is None:
        message = f"{client} is not installed: {INSTALL[client]}"
        raise ImageError(message)
    if not BUSYBOX.is_file() or _libraries(BUSYBOX):
        what = "needs libraries" if BUSYBOX.is_file() else "is not there"
        message = f"{BUSYBOX}, the shell of the image, {what}: {NO_BUSYBOX}"
        raise ImageError(message)


def _modules(packages: Path) -> Path:
    inner = packages / "node_modules"
    return inner if inner.is_dir() else packages


def _in_folder(version: str, packages: Path) -> node.Release:
    release = node.installed(_modules(packages))
    if node.VERSION.fullmatch(version) and release.version != version:
        message = (
            f"{packages} holds openclaw {release.version}, not {version}: "
            f"npm install --prefix DIR openclaw@{version}"
        )
        raise ImageError(message)
    return release


def _image(tag: str, version: str, found: dict[str, Any], began: float, *, is_new: bool) -> Image:
    digests = found.get("RepoDigests") or [found["Id"]]
    seconds = round(time.perf_counter() - began, 1)
    return Image(tag, version, found["Id"], digests[0], found["Size"], is_new, seconds)


def _there(client: str, tag: str, version: str) -> dict[str, Any] | None:
    """Return what the client knows of an image by that name that holds the version."""
    found = _inspected(client, tag)
    if found is None:
        return None
    if _label(found) == version:
        return found
    try:
        return found if version_in(client, found["Id"]) == version else None
    except SandboxError:
        return None


def _inspected(client: str, name: str) -> dict[str, Any] | None:
    done = _run(client, "image", "inspect", name)
    if done.returncode != 0:
        return None
    (found,) = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def _label(found: dict[str, Any]) -> str | None:
    return ((found.get("Config") or {}).get("Labels") or {}).get(LABEL)


def version_in(client: str, image: str) -> str:
    """Return the version that `openclaw --version` says in a container; empty where it says none.

    Raises:
        SandboxError: no container of the image starts.
    """
    engine = Engine(client, image, DEFAULT_SANDBOX.limits)
    said = look_inside(engine, "openclaw", "--version", timeout_s=LOOK_SECONDS)
    found = node.VERSION.search(said.stdout)
    return found.group() if found else ""


def _check(client: str, image: str, version: str) -> None:
    try:
        said = version_in(client, image)
    except SandboxError as exc:
        message = f"no container of the image starts: {exc}; {exc.advice}".removesuffix("; ")
        raise ImageError(message) from exc
    if said != version:
        message = f"openclaw in the image says version {said or 'nothing'}, not {version}"
        raise ImageError(message)


def _imported(client: str, version: str, program: Path, packages: Path) -> str:
    """Hand the files of an image to the client and return the image's id."""
    changes = (
        f"LABEL {LABEL}={version}",
        f"ENV PATH={ENVIRONMENT['PATH']}",
        f"WORKDIR {WORKSPACE}",
    )
    command = [client, "import", *(f"--change={one}" for one in changes), "-"]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=without_secrets(),
        ) as started,
    ):
        assert started.stdin is not None
        assert started.stdout is not None
        try:
            with tarfile.open(fileobj=started.stdin, mode="w|", bufsize=CHUNK_BYTES) as tar:
                _pack(tar, program, packages)
            started.stdin.close()
            said = started.stdout.read().decode(errors="replace").split()
        except BrokenPipeError:  # it has gone, and says why
            with contextlib.suppress(BrokenPipeError):
                started.stdin.close()
            said = []
        except BaseException:
            started.kill()
            raise
        code = started.wait()
        errors.seek(0)
        told = errors.read().decode(errors="replace")
    if code != 0 or not said:
        message = f"{client} cannot import the image: {last_line(told)}; {advice(client, told)}"
        raise ImageError(message)
    return said[-1].removeprefix("sha256:")


def _pack(tar: tarfile.TarFile, program: Path, packages: Path) -> None:
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
    beside = [home / name for home in homes for name in NAME_LIBRARIES]
    libraries += [path for path in beside if path.exists() and path not in libraries]
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


def _ask(client: str, *words: str) -> None:
    done = _run(client, *words)
    if done.returncode != 0:
        said = done.stderr
        message = f"{client} {words[0]}: {last_line(said)}; {advice(client, said)}"
        raise ImageError(message)


def _run(client: str, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            (client, *words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=without_secrets(),
            timeout=QUERY_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        message = f"{client} does not answer within {QUERY_SECONDS} s; {advice(client, '')}"
        raise ImageError(message) from exc


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the image that the command line names, and print what it is."""
    parser = argparse.ArgumentParser(
        prog="python -m collect.runners.openclaw.image",
        description="Build a local image of OpenClaw from npm, without a registry of images.",
    )
    parser.add_argument("version", help="such as 2026.5.28; `latest`: the newest")
    parser.add_argument("--docker-cli", choices=tuple(INSTALL), default="podman")
    parser.add_argument("--name", help="default: localhost/openclaw:VERSION")
    parser.add_argument(
        "--packages", type=Path, metavar="FOLDER", help="a node_modules that is there already"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    asked = parser.parse_args(arguments)

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    try:
        made = build(asked.version, asked.docker_cli, asked.name, asked.packages, say)
    except BenchError as exc:
        say(f"error: {exc}")
        return exc.exit_code
    except KeyboardInterrupt:
        say("interrupted: nothing is left of the image")
        return EXIT_INTERRUPTED
    if asked.json:
        sys.stdout.write(json.dumps(asdict(made)) + "\n")
        return EXIT_OK
    state = f"built in {made.seconds:.0f} s" if made.is_new else "there already"
    sys.stdout.write(
        f"{made.image}: openclaw {made.version}, {made.size_bytes / 1e6:.0f} MB, {state}\n"
        f"id {made.id}\ndigest {made.digest}\n"
    )
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
