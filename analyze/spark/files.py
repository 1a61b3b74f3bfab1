"""Which files Spark reads a lake from: those that are live here, or one version of a shared lake.

A shared lake is read where it is. Of several pushes of a run the newest counts, as `analyze.share`
has it; hashes of rows are not looked at, which would mean to read them all here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from analyze.lake.raw_tables import connect, engine_errors, layouts_of
from analyze.lake.repair import on_stderr
from schemas.errors import ConfigError, Problem, UnknownVersion, counted, printable
from schemas.lake import ALIASES, LAYOUT, TABLE_NAMES, live_files

if TYPE_CHECKING:
    from analyze.share.delta import SharedLake

STORED = (*TABLE_NAMES, ALIASES)
"""Tables that have files."""

PUSH = "push"
"""Column of the tables of a shared lake that says which push a row came with."""

MAX_NAMED = 5
"""Runs that are left out and told of one by one."""

ACCOUNT = "AZURE_STORAGE_ACCOUNT_NAME"


@dataclass(frozen=True)
class StoredTable:
    """The files of one table, as Spark takes them."""

    files: Sequence[str] = ()
    older: Sequence[str] = ()
    """Files of results that do not say which record supersedes which."""


@dataclass(frozen=True)
class StoredLake:
    """What a lake consists of at one moment."""

    tables: Mapping[str, StoredTable]
    """By name; a table without files is left out."""
    pushes: Sequence[tuple[str, str]] | None = None
    """Of a shared lake: run_id and push of all rows that count."""
    listed: Sequence[Path] = ()
    """Files of this machine, which a compaction may move."""


def stored_lake(lake: Path, tables: Collection[str] = STORED) -> StoredLake:
    """Return the files of a lake of this machine that are live now.

    Raises:
        UnknownVersion: a newer benchlake wrote one of the files.
        DamagedFile: one of the files is not ours.
        ViewError: one of the files cannot be read.
    """
    found: dict[str, StoredTable] = {}
    listed: list[Path] = []
    with connect() as engine:
        for table in tables:
            files = live_files(lake, table)
            listed += files
            with engine_errors(f"raw_{table}"):
                layouts = layouts_of(engine, files)
            older = {one for one in files if table == "results" and layouts[one] < LAYOUT}
            if files:
                found[table] = StoredTable(
                    [str(one.absolute()) for one in files if one not in older],
                    [str(one.absolute()) for one in files if one in older],
                )
    return StoredLake(found, listed=listed)


def stored_shared_lake(shared: SharedLake) -> StoredLake:
    """Return the files of a shared lake, one version of each table, and the pushes that count.

    The pushes are listed first: their rows are in every later version of other tables. Runs of a
    newer benchlake are left out, which a warning says.

    Raises:
        ShareFailed: it cannot be read.
        ConfigError: Spark needs to know more of where it is.
    """
    pushes: list[tuple[str, str]] = []
    refused: list[str] = []
    for run_id, run in sorted(shared.runs().items()):
        try:
            run.require_known(shared.location)
        except UnknownVersion as exc:
            refused.append(f"{exc}; it is left out")
        else:
            pushes.append((run_id, run.push))
    found: dict[str, StoredTable] = {}
    for table in STORED:
        delta = shared.table(table)
        uris = [] if delta is None else shared.asking(delta.file_uris)
        if uris:
            found[table] = StoredTable([_for_spark(one) for one in uris])
    for one in refused[:MAX_NAMED]:
        on_stderr(f"warning: {printable(one)}")
    if more := len(refused[MAX_NAMED:]):
        on_stderr(f"warning: {counted(more, 'more run')} of a newer benchlake")
    return StoredLake(found, pushes)


def _for_spark(uri: str) -> str:
    """Return the address of a file as the file systems of Hadoop have it.

    Raises:
        ConfigError: the account of Azure is not known.
    """
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        return f"s3a://{uri.removeprefix('s3://')}"
    if parts.scheme != "az":
        return uri
    account = os.environ.get(ACCOUNT)
    if account is None:
        what = f"Spark finds a container of Azure by its account, which {ACCOUNT} names"
        raise ConfigError([Problem(None, what)])
    return f"abfss://{parts.netloc}@{account}.dfs.core.windows.net{parts.path}"
