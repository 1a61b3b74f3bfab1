"""Too few files, too little memory: a sentence that names the limit and what raises it, and 1."""

import errno
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import collect.cli
from collect.run_folder.log import RunLog
from schemas.errors import ConfigError, LocalModelError, Problem, ViewError
from schemas.io.files import shortage_of, unwritable
from tests.support.paths import ROOT
from tests.support.run_builder import RunBuilder


def limited(limit, *words, cwd):
    """Return how a command ends under a limit of the shell."""
    command = f'ulimit {limit}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", command, "sh", sys.executable, "-m", *words],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(cwd)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


FILES = (
    "error: too many open files: this process may have 5 at once (`ulimit -n`); "
    "`ulimit -n 256` lets it have more, then the same command again\n"
)
MEMORY = (
    "error: not enough memory: this process may have 292 MiB (`ulimit -v`); "
    "`ulimit -v unlimited` lets it have more, then the same command again\n"
)


@pytest.mark.parametrize(
    ("limit", "words", "says"),
    [
        ("-n 5", ("analyze", "sync"), FILES),
        ("-v 300000", ("analyze", "runs"), MEMORY),
        ("-v 300000", ("analyze", "sql", "select 1"), MEMORY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_limit_of_the_shell_is_a_sentence(limit, words, says, tmp_path):
    run = RunBuilder(tmp_path / "runs")
    run.result(run.plan())
    run.write()

    done = limited(limit, *words, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (1, says)


@pytest.mark.parametrize("kind", [OSError, LocalModelError])
def test_the_collector_says_so_too(kind, monkeypatch, capsys):
    def lacking():
        error = OSError(errno.EMFILE, "Too many open files", "somewhere")
        raise error if kind is OSError else LocalModelError("cannot be fetched") from error

    monkeypatch.setattr(collect.cli, "app", lacking)
    with pytest.raises(SystemExit) as end:
        collect.cli.main()

    said = capsys.readouterr().err
    assert end.value.code == 1
    assert said.splitlines()[-1].startswith("error: too many open files: this process may have ")
    assert "Traceback" not in said


def test_help_needs_no_memory(tmp_path):
    done = limited("-v 300000", "analyze", "--help", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")


def test_too_many_open_files_are_no_full_disk():
    advice = "what was finished is kept; make room, then `collect run --resume r` completes it"
    full = unwritable(Path("a"), OSError(errno.ENOSPC, "No space left on device"), advice)
    many = unwritable(Path("a"), OSError(errno.EMFILE, "Too many open files"), advice)

    assert str(full) == f"a cannot be written: No space left on device; {advice}"
    assert "make room" not in str(many)
    assert "(`ulimit -n`)" in str(many)
    assert str(many).endswith("raise the limit, then `collect run --resume r` completes it")


def test_a_run_that_cannot_open_its_log_names_the_limit(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("schemas.io.files.os.open", refuse)
    with pytest.raises(Exception, match=r"too many open files: this process may have .*ulimit -n"):
        RunLog.create(tmp_path / "r")


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        (duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block"), "memory"),
        (duckdb.IOException("IO Error: Cannot open file: Too many open files"), "open files"),
        (MemoryError(), "memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (duckdb.BinderException("Binder Error: no column"), None),
    ],
)
def test_what_an_engine_lacks_is_told_from_its_error(cause, says):
    error = ViewError("runs", str(cause))
    error.__cause__ = cause

    shortage = shortage_of(error)

    assert shortage is None if says is None else says in shortage


def test_a_word_of_a_user_is_no_shortage():
    assert shortage_of(ConfigError([Problem(None, "no such case: out of memory")])) is None
