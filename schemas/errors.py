"""Every error that is raised on purpose, and the exit code a command ends with.

What a model, a provider or the network does wrong is a row of results.jsonl, never an exception.
Imports nothing, so that catching errors costs a command no start-up time.
"""

from __future__ import annotations

import difflib
import errno
import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schemas.redact import spelled

DEFAULT_RUNS = "runs"
"""Where every command looks unless it is told otherwise."""

EXIT_OK = 0
EXIT_BAD_NEWS = 1
EXIT_USAGE = 2
EXIT_CANNOT_JUDGE = 3
EXIT_INTERRUPTED = 130


class BenchError(Exception):
    """Raised on purpose; its text is for the user, its exit code for the shell."""

    exit_code = EXIT_BAD_NEWS


MAX_SHOWN_PROBLEMS = 200
"""Problems that an error prints; nobody reads more, and all are kept."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one place of one file, or with a flag of the command line.

    What it says holds no secret, wherever it is printed: a key is often pasted into a wrong place.
    """

    path: Path | None
    what: str
    key: str = ""
    line: int | None = None
    found: str | None = None
    allowed: str | None = None
    nearest: str | None = None
    advice: str | None = None

    def __post_init__(self) -> None:
        """Take secrets out of every text."""
        from schemas.redact import redact  # noqa: PLC0415 - see above

        for name in ("what", "key", "found", "allowed", "nearest", "advice"):
            if (text := getattr(self, name)) is not None:
                object.__setattr__(self, name, redact(text))

    def __str__(self) -> str:
        """Return `file:line: key: what; found …; allowed …; did you mean …?`."""
        line = "" if self.line is None else f":{self.line}"
        where = "" if self.path is None else f"{display_path(self.path)}{line}: "
        parts = [where + (f"`{self.key}`: " if self.key else "") + self.what]
        if self.found is not None:
            parts.append(f"found {self.found}")
        if self.allowed is not None:
            parts.append(f"allowed: {self.allowed}")
        if self.nearest is not None:
            parts.append(f"did you mean `{self.nearest}`?")
        if self.advice is not None:
            parts.append(self.advice)
        return printable("; ".join(parts))


class ConfigError(BenchError):
    """Something a user wrote is wrong; carries every problem found, not only the first."""

    exit_code = EXIT_USAGE

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:MAX_SHOWN_PROBLEMS]]
        if more := len(self.problems) - MAX_SHOWN_PROBLEMS:
            lines += [f"and {counted(more, 'more problem')}"] * (more > 0)
        super().__init__("\n".join(lines))


class UnusablePath(BenchError):
    """A path that a user wrote cannot be followed."""

    exit_code = EXIT_USAGE


class SchemaError(BenchError):
    """A record or a table does not fit its declaration."""

    exit_code = EXIT_USAGE


class UnmappedType(SchemaError):
    """A model annotation has no Arrow type; add it to `schemas.io.arrow`."""


class UnknownVersion(SchemaError):
    """A file carries a version that this program cannot read."""


class DamagedFile(SchemaError):
    """A file of the lake cannot be read, or is not ours; its rows can be made again."""

    exit_code = EXIT_BAD_NEWS

    def __init__(self, path: Path, found: str) -> None:
        self.path = path
        self.found = found
        super().__init__(
            f"{display_path(path)}: {found}; `analyze sync` sets it aside and makes its rows again"
        )

    def __reduce__(self) -> tuple[type[DamagedFile], tuple[Path, str]]:
        """Let another process have it."""
        return DamagedFile, (self.path, self.found)


class NotOwnFile(SchemaError):
    """Something in a run's folder, or in the lake, is no file of its own; nothing was touched."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{printable(display_path(path))}: {what}")


class LogLost(SchemaError):
    """A run's log does not hold what the lake took from it: answers that were paid for."""

    def __init__(self, log: Path, held: str, found: str) -> None:
        """Say what the lake holds, what was found instead, and how the rest comes back."""
        super().__init__(
            f"{printable(display_path(log))}: {found}, but the lake holds {held} of run "
            f"`{log.parent.name}`; `{restore_command(log.parent)}` writes them back"
        )


class NotMigratable(SchemaError):
    """A document is no report of an earlier schema, or one with mistakes; carries each of them."""

    exit_code = EXIT_BAD_NEWS

    def __init__(self, message: str, findings: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)
        """`schemas.base.Finding`s; this module imports nothing."""


class CollectError(BenchError):
    """The collector cannot go on."""


class RunExists(CollectError):
    """The run folder is there already; nothing is ever overwritten."""

    exit_code = EXIT_USAGE

    def __init__(self, run_dir: Path) -> None:
        super().__init__(
            f"{run_dir} exists already; choose another --run-id or leave it out; "
            f"--resume {run_dir.name} completes a run that was cut short"
        )


class RunInLake(CollectError):
    """The lake holds a run by this name; a second one would be mixed with it."""

    exit_code = EXIT_USAGE

    def __init__(self, runs_dir: Path, run_id: str) -> None:
        super().__init__(
            f"{runs_dir / 'lake'} holds rows of a run `{run_id}` whose folder is gone; "
            "choose another --run-id or leave it out"
        )


class RunBusy(CollectError):
    """Another collector works on this run; two would ask every trial twice."""

    exit_code = EXIT_USAGE

    def __init__(self, run_dir: Path, pid: int | None) -> None:
        who = "" if pid is None else f" (process {pid})"
        super().__init__(
            f"another collector works on {run_dir}{who}; wait until it has ended, "
            "or start another run with another --run-id"
        )


class NotResumable(CollectError):
    """A run cannot be completed as it was planned; says why, and what can be done instead."""

    exit_code = EXIT_USAGE

    def __init__(self, run_dir: Path, why: str) -> None:
        super().__init__(f"{run_dir} cannot be resumed: {why}")


class Interrupted(CollectError):
    """Ctrl-C before the first request, or where none is made."""

    exit_code = EXIT_INTERRUPTED

    def __init__(self, again: str | None = None, when: str = " before the first request") -> None:
        end = "there is nothing to go on with" if again is None else f"`{again}` goes on"
        super().__init__(f"interrupted{when}: {end}")


class LocalModelError(CollectError):
    """The embedded model cannot be fetched, started or reached."""


class ImageError(CollectError):
    """The image of an agent cannot be built, or does not hold what it should."""


class AnalyzeError(BenchError):
    """The analysis cannot go on."""


class RunNotFound(AnalyzeError):
    """No run by that name."""

    exit_code = EXIT_USAGE

    def __init__(
        self, run: str, runs_dir: Path, known: Iterable[str], words: Iterable[str] = ()
    ) -> None:
        """Say what was looked for, what is near, and what else a run can be called.

        Args:
            run: what was looked for.
            runs_dir: where.
            known: the runs that there are.
            words: what a run can be called there beside its id, such as `latest`; `last:N` and
                `label:NAME` stand for others and are never near.
        """
        names, allowed = sorted(known), list(words)
        near = nearest(
            run, [*names, *(word for word in allowed if not word.endswith((":N", ":NAME")))]
        )
        text = f"no run `{run}` in {runs_place(runs_dir)}"
        if not names:
            text += "; there are no runs: make one with `collect demo` or `collect run`"
            super().__init__(text)
            return
        text += f"; did you mean `{near}`?" if near else ""
        if allowed:
            text += f"{'' if near else ';'} allowed: a run id, a path"
            text += "".join(f", `{word}`" for word in allowed)
        if not near:
            text += f"; there are {len(names)}: `analyze runs` lists them"
        super().__init__(text)


class ViewError(AnalyzeError):
    """A SQL view could not be created or read."""

    def __init__(self, view: str, reason: str) -> None:
        super().__init__(f"view `{view}`: {reason}")


class ViewNotFound(AnalyzeError):
    """No view or table of the lake by that name."""

    exit_code = EXIT_USAGE

    def __init__(self, view: str, known: Iterable[str]) -> None:
        near = nearest(view.lower(), known)
        hint = f"did you mean `{near}`?" if near else "`analyze views` lists what there is"
        super().__init__(f"there is no table or view `{printable(view)}`; {hint}")


class QueryRefused(AnalyzeError):
    """A user's query is not one statement that reads the lake; says what is in the way."""

    exit_code = EXIT_USAGE


class QueryFailed(AnalyzeError):
    """The engine found a mistake in a user's query; names what is near."""

    exit_code = EXIT_USAGE


class QueryTooLong(AnalyzeError):
    """A user's query was stopped at its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the query was stopped after {seconds:g} s; narrow it, for example by run_id, "
            "or give it longer with --timeout SECONDS"
        )


class NotOurFile(AnalyzeError):
    """A file is in the way that we did not write."""

    exit_code = EXIT_USAGE

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{display_path(path)} is there and is {what}; --force replaces it")


def display_path(path: Path) -> str:
    """Return a path as people would type it: from the working directory, when it is below."""
    here = Path.cwd()
    text = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return text.encode("utf-8", "backslashreplace").decode()  # a name may be no text


PATH_TROUBLES = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENOENT)
"""What is wrong with a path that a user wrote; all else is the machine's."""


def file_error(exc: OSError) -> BenchError | None:
    """Return the sentence for a file that stands in the way, or None where no file is named."""
    if exc.filename is None or exc.strerror is None:
        return None
    name = os.fsdecode(exc.filename) if isinstance(exc.filename, bytes) else str(exc.filename)
    kind = UnusablePath if exc.errno in PATH_TROUBLES else BenchError
    return kind(f"{display_path(Path(name))}: {exc.strerror}")


def restore_command(run_dir: Path) -> str:
    """Return the command that writes a run's log again from what the lake holds of it."""
    return shlex.join(("collect", "restore", run_dir.name, *runs_flag(run_dir.parent)))


SHARED_COPIES: dict[Path, str] = {}
"""Folders of runs that are copies of shared lakes, with their URLs, of the command that runs."""


def runs_place(runs_dir: Path) -> str:
    """Return a folder of runs as its user knows it: a copy of a shared lake by the URL of that."""
    return SHARED_COPIES.get(runs_dir.absolute()) or str(runs_dir)


def runs_flag(runs_dir: Path | None) -> tuple[str, ...]:
    """Return the `--runs` of a command that is typed here; nothing where it is the usual folder.

    Of a copy of a shared lake it is `--lake`.
    """
    if runs_dir is not None and (url := SHARED_COPIES.get(runs_dir.absolute())):
        return ("--lake", url)
    runs = DEFAULT_RUNS if runs_dir is None else display_path(runs_dir.absolute())
    return () if runs == DEFAULT_RUNS else ("--runs", runs)


def counted(number: int, what: str, many: str | None = None) -> str:
    """Return a number of things: `1 case`, `1,200 cases`, `2 are`; see `plural`."""
    return f"{number:,} {plural(number, what, many)}"


def plural(number: float, what: str, many: str | None = None) -> str:
    """Return the word for so many things: `what` for one, else `many` or `what` with an `s`."""
    return what if number == 1 else many or f"{what}s"


def printable(text: str) -> str:
    """Return one line without control and direction characters, which a terminal obeys."""
    return spelled(text, lambda _: " ")


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known word most like `word`, or None when none is near enough (0 to 1)."""
    return next(iter(nearest_few(word, known, 1, likeness)), None)


def nearest_few(word: str, known: Iterable[str], most: int, likeness: float = 0.6) -> list[str]:
    """Return at most so many known words that are like `word`, the nearest first."""
    return difflib.get_close_matches(word, list(known), n=most, cutoff=likeness)
