"""Runs the console blocks of a page as a newcomer would type them, and holds the page to them.

A block is fenced as `console`. A line that starts with `$ ` is a command, and lines that start with
`> ` go on with it; what follows is what it prints, and `…` stands for lines that are left out. All
commands of a page are typed into one shell. Numbers, times and widths of columns differ from run to
run; words do not.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "walks"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
LEFT_OUT = "…"
MOST_LINES = 14
"""Of one command's output that a page shows."""

PROGRESS = re.compile(r"^\d+/\d+ · ")
"""A line of a run that goes on: how many there are is a matter of seconds."""

TIMEOUT_S = 600
MARK = "\x1e"


@dataclass(frozen=True)
class Step:
    """A command of a page.

    Attributes:
        command: as it is typed, of several lines where it says more (`<<END`).
        shown: the lines that the page shows of what it prints.
    """

    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Typed:
    """What a command did: its exit code, and the lines of standard output and error together."""

    code: int
    lines: tuple[str, ...]


def steps_of(page: str) -> list[Step]:
    """Return the commands of a page in order."""
    found: list[Step] = []
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *lines = part.rstrip("\n").split("\n")
            n_more = next((n for n, line in enumerate(lines) if line[:1] != ">"), len(lines))
            more = [line.removeprefix(">").removeprefix(" ") for line in lines[:n_more]]
            found.append(Step("\n".join([first, *more]), tuple(lines[n_more:])))
    return found


def typed(steps: list[Step], bin_dir: Path, cwd: Path, **env: str) -> list[Typed]:
    """Type commands into one shell.

    Args:
        steps: the commands.
        bin_dir: where `collect` and `analyze` are; nothing else of ours is on PATH.
        cwd: where the shell begins; its home as well.
        env: further variables.
    """
    script = "".join(f"{step.command}\nprintf '\\n{MARK}%d\\n' $?\n" for step in steps)
    path = f"{bin_dir}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=cwd,
        env={"PATH": path, "HOME": str(cwd), "LANG": "C.UTF-8", "COLUMNS": "100", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    parts = re.split(rf"\n{MARK}(\d+)\n", done.stdout)
    return [
        Typed(int(code), tuple(text.strip("\n").split("\n") if text.strip() else ()))
        for text, code in zip(parts[::2], parts[1::2], strict=False)
    ]


def plain(line: str) -> str:
    """Return a line without what differs from run to run: numbers, rules, widths of columns."""
    line = re.sub(r"[│┃|]", " ", line)
    line = re.sub(r"[-+]?\d[\d,._:-]*", "0", line)
    line = re.sub(r"[─━┏┓┗┛┡┩┳┻╇╈└┘┴┬┌┐├┤┼═-]{2,}", "-", line)
    return " ".join(line.split())


def missing(step: Step, done: Typed) -> list[str]:
    """Return the lines that a page shows and a command did not print, or not in this order."""
    printed = [plain(line) for line in done.lines]
    lacking = []
    for line in step.shown:
        if line.strip() in {"", LEFT_OUT}:
            continue
        if plain(line) in printed:
            printed = printed[printed.index(plain(line)) + 1 :]
        else:
            lacking.append(line)
    return lacking


def rewritten(page: str, results: list[Typed]) -> str:
    """Return a page with what its commands printed, shortened."""
    done = iter(results)

    def block(match: re.Match[str]) -> str:
        parts = [step.command for step in steps_of(f"```console\n{match[0]}```")]
        return "\n".join(line for part in parts for line in _shown(part, next(done))) + "\n"

    return BLOCK.sub(block, page)


def _shown(command: str, done: Typed) -> Iterator[str]:
    first, *more = command.split("\n")
    yield f"$ {first}"
    yield from (f"> {line}".rstrip() for line in more)
    lines = [line.rstrip() for line in done.lines if not PROGRESS.match(line)]
    if len(lines) <= MOST_LINES:
        yield from lines
    else:
        yield from lines[: MOST_LINES - 4]
        yield LEFT_OUT
        yield from lines[-3:]


def walk(page: Path, bin_dir: Path, **env: str) -> tuple[list[Step], list[Typed]]:
    """Type the commands of a page in an empty folder; returns them and what they did."""
    steps = steps_of(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        return steps, typed(steps, bin_dir, Path(folder), **env)
