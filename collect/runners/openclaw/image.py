"""A local image of OpenClaw, without a registry of images: busybox, Node and the npm packages.

`python -m collect.runners.openclaw.image 2026.5.28` makes `localhost/openclaw:2026.5.28`. The image
gets its name when `openclaw --version` has said the right version in a container of it: what has
the name works, and what does not leaves nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from collect.config.endpoints import without_secrets
from collect.inventory.image_look import look_inside
from collect.runners.openclaw import node
from collect.runners.openclaw.file_system import check_busybox, pack
from collect.runners.openclaw.node import Say
from collect.sandbox.base import ENVIRONMENT, SandboxError
from collect.sandbox.engine import INSTALL, Engine
from collect.sandbox.engine_trouble import advice, last_line
from collect.workspace import WORKSPACE
from schemas.config.sandbox import DEFAULT_SANDBOX
from schemas.errors import EXIT_INTERRUPTED, EXIT_OK, BenchError, ImageError

LABEL = "benchlake.openclaw"
"""Of an image that was made here: the version of openclaw."""

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


def build(
    version: str,
    client: str,
    name: str | None,
    say: Say,
    *,
    packages: Path | None = None,
    keep: Path | None = None,
) -> Image:
    """Return the image of a version, built unless it is there.

    Args:
        version: exactly, or a tag of npm's such as `latest`.
        client: `podman` or `docker`.
        name: of the image; None: `localhost/openclaw:` and the version.
        say: is told what takes time.
        packages: a `node_modules` that holds it, or the folder around; None: npm installs it.
        keep: folder in which npm installs it, or has before; None: one that is then removed.

    Raises:
        ImageError: something is missing, or the image does not work.
    """
    began = time.perf_counter()
    _check_machine(client)
    with tempfile.TemporaryDirectory(prefix="openclaw-image-", ignore_cleanup_errors=True) as made:
        scratch = Path(made)
        parts = None if keep is None else node.kept(version, keep.absolute(), say)
        release = parts.release if parts else _release(version, packages, scratch, say)
        tag = name or f"localhost/openclaw:{release.version}"
        if (there := _there(client, tag, release.version)) is not None:
            return _image(tag, release.version, there, began, is_new=False)
        if packages is not None:
            tools = node.choose_tools(release, scratch, say)
            parts = node.Parts(release, tools.node, _modules(packages))
        elif parts is None:
            release = node.published(release.version, scratch, say)
            parts = node.fetched(release, scratch, say)
        say(f"packing the image by {client} …")
        number = _imported(client, parts)
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
    try:
        _ = Engine(client, "", DEFAULT_SANDBOX.limits).number
    except SandboxError as exc:
        raise ImageError("; ".join(filter(None, (str(exc), exc.advice)))) from exc
    check_busybox()


def _modules(packages: Path) -> Path:
    inner = packages / "node_modules"
    return inner if inner.is_dir() else packages


def _release(version: str, packages: Path | None, scratch: Path, say: Say) -> node.Release:
    is_exact = node.VERSION.fullmatch(version) is not None
    if packages is None:
        return node.Release(version, "") if is_exact else node.published(version, scratch, say)
    release = node.installed(_modules(packages))
    if is_exact and release.version != version:
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
        said = "; ".join(filter(None, (str(exc), exc.advice)))
        message = f"no container of the image starts: {said}"
        raise ImageError(message) from exc
    if said != version:
        message = f"openclaw in the image says version {said or 'nothing'}, not {version}"
        raise ImageError(message)


def _imported(client: str, parts: node.Parts) -> str:
    """Hand the files of an image to the client and return the image's id."""
    changes = (
        f"LABEL {LABEL}={parts.release.version}",
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
                pack(tar, parts.node, parts.modules)
            started.stdin.close()
            said = started.stdout.read().decode(errors="replace").split()
        except BrokenPipeError as exc:  # it has gone, and says why
            if isinstance(exc.__context__, KeyboardInterrupt):  # both were interrupted
                raise KeyboardInterrupt from exc
            with contextlib.suppress(BrokenPipeError):
                started.stdin.close()
            said = []
        except BaseException:
            started.kill()
            raise
        code = started.wait()
        errors.seek(0)
        error_text = errors.read().decode(errors="replace")
    if code != 0 or not said:
        why = last_line(error_text) or f"it ended with {code}"
        message = f"{client} cannot import the image: {why}; {advice(client, error_text)}"
        raise ImageError(message)
    return said[-1].removeprefix("sha256:")


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
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--packages", type=Path, metavar="FOLDER", help="a node_modules that is there already"
    )
    source.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="where npm installs it, once: FOLDER/bin then has openclaw and a node for it",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    asked = parser.parse_args(arguments)

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    try:
        made = build(
            asked.version,
            asked.docker_cli,
            asked.name,
            say,
            packages=asked.packages,
            keep=asked.keep,
        )
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
