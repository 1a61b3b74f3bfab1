"""What each page of a site is made of, as a key: a page whose key stands is as it would be made.

A page shows its run and those of the suite before it, so its key chains their fingerprints; a run
that comes later changes the link of one page and no numbers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.lake.overlay import DECIDING, RAW_TABLES
from analyze.query.as_of import TEXTS
from analyze.query.run_ref import run_folder
from analyze.report.file import NAME
from analyze.site.folder import asset_names
from schemas.config.known_issues import KnownFile
from schemas.lake import ALIASES, RECORDED, lake_columns

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.output.comparison import ThresholdsUsed

FINGERPRINTED = tuple(
    table
    for table in RAW_TABLES
    if table not in TEXTS | {RECORDED, DECIDING}
    and any(column.name == "run_id" for column in lake_columns()[table])
)
"""Raw tables whose rows say whether a run has changed. Texts are written with the rows that they
belong to and never again; the other two follow from these."""

FINGERPRINT = """
select run_id, count(*), bit_xor(hash(found))
from raw_{table} as found
group by run_id
order by run_id
"""

ORDER = "select run_id, suite_id from stg_runs order by suite_id, started_at_ms nulls first, run_id"

DERIVED = frozenset({NAME, "summary.json"})
"""Files of a run's folder that are made of the others."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What pages depend on beside the runs; picklable, for processes that make pages."""

    runs_dir: Path
    limits: ThresholdsUsed
    transcript_bytes: int
    known: KnownFile | None
    evaluation_profile: str | None
    kept_in: Path | None = None
    """Where the pages say that the runs are; None: where they are."""

    def known_at(self, later: Sequence[str]) -> KnownFile | None:
        """Return what is known without the shifts that begin in runs that come later."""
        if self.known is None:
            return None
        after = set(later)
        kept = tuple(one for one in self.known.acknowledged if one.first_run not in after)
        return self.known.model_copy(update={"acknowledged": kept})


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """One page that a site is to have."""

    run_id: str
    suite_id: str
    key: str
    previous: str | None
    """run_id of the run before of its suite."""
    next: str | None
    later: tuple[str, ...]
    """run_ids of its suite that began after it and are named by acknowledged shifts."""


def planned_pages(session: Session, settings: PageSettings) -> list[PlannedPage]:
    """Return the pages of all runs, by suite, in each the oldest first.

    Raises:
        ViewError: the lake cannot be read.
    """
    by_suite: dict[str, list[str]] = {}
    for run_id, suite_id in session.rows(ORDER):
        by_suite.setdefault(suite_id, []).append(run_id)
    prints = _fingerprints(session)
    common = _common(session, settings)
    acknowledged = settings.known.acknowledged if settings.known else ()
    named = {one.first_run for one in acknowledged}
    pages = []
    for suite_id, run_ids in by_suite.items():
        chain = common
        for place, run_id in enumerate(run_ids):
            chain = _hashed(chain, run_id, prints.get(run_id, ""), _files_of(session, run_id))
            previous = run_ids[place - 1] if place else None
            following = run_ids[place + 1] if place + 1 < len(run_ids) else None
            later = tuple(one for one in run_ids[place + 1 :] if one in named) if named else ()
            known = settings.known_at(later)
            key = _hashed(
                chain,
                previous or "",
                following or "",
                known.model_dump_json() if known else "",
            )
            pages.append(PlannedPage(run_id, suite_id, key, previous, following, later))
    return pages


def _common(session: Session, settings: PageSettings) -> str:
    """Return what every page depends on."""
    assets = asset_names()
    aliases = session.rows(f"select count(*), bit_xor(hash(found)) from raw_{ALIASES} as found")  # noqa: S608
    return _hashed(
        version("benchlake"),
        repr((assets.style, assets.script, assets.library)),
        settings.limits.model_dump_json(),
        str(settings.transcript_bytes),
        settings.evaluation_profile or "",
        str(settings.kept_in or settings.runs_dir),
        repr(aliases),
    )


def _fingerprints(session: Session) -> Mapping[str, str]:
    """Return what tells whether the rows of a run are the same, by run_id."""
    found: dict[str, str] = {}
    for table in FINGERPRINTED:
        for run_id, n_rows, folded in session.rows(FINGERPRINT.format(table=table)):
            found[run_id] = f"{found.get(run_id, '')}{table} {n_rows} {folded:x};"
    return found


def _files_of(session: Session, run_id: str) -> str:
    """Return size and time of the files in the folder of a run, which a page quotes."""
    folder = run_folder(session, run_id)
    if folder is None:
        return ""
    with os.scandir(folder) as entries:
        facts = sorted(
            (entry.name, stat.st_size, stat.st_mtime_ns)
            for entry in entries
            if entry.name not in DERIVED and not entry.name.startswith(".") and entry.is_file()
            for stat in [entry.stat()]
        )
    return repr(facts)


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
