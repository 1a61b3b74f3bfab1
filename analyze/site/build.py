"""Builds a site: sees which pages have changed, makes those, and writes the index last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.site.folder import INDEX, SiteFolder, assets_from
from analyze.site.index import index_html
from analyze.site.keys import PageSettings, planned_pages
from analyze.site.pages import made_pages
from schemas.errors import RunNotFound

if TYPE_CHECKING:
    from analyze.query.session import Session
    from analyze.regressions.detect import ScanProgress
    from analyze.site.pages import MadePage


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """What a build did."""

    index: Path
    n_written: int
    n_unchanged: int
    n_removed: int
    problems: tuple[MadePage, ...]
    """Runs that have no page, and why."""


def build_site(
    session: Session,
    folder: SiteFolder,
    settings: PageSettings,
    bundle: Callable[[], str],
    progress: ScanProgress,
) -> BuiltSite:
    """Bring a site up to date with a lake.

    What is there is replaced file by file, each whole, so that a build that is stopped leaves a
    site that can be read, and the next one goes on with what is missing.

    Args:
        session: the open lake.
        folder: of the site.
        settings: of all pages.
        bundle: gives the library of the charts; not asked where the site has it.
        progress: is told how many pages are done.

    Raises:
        RunNotFound: there are no runs, where the site has pages of some; nothing is touched.
        AnalyzeError: the lake cannot be read, or the disk refuses.
    """
    pages = planned_pages(session, settings)
    if not pages and folder.has_pages:  # of another folder, more likely than of runs that are gone
        newest = "latest"
        raise RunNotFound(newest, session.runs_dir, ())
    assets = folder.prepare(bundle)
    changed = [page for page in pages if folder.key_of(page.run_id) != page.key]
    problems: list[MadePage] = []
    for n_done, made in enumerate(made_pages(changed, settings, folder.path), 1):
        if made.problem is not None:
            problems.append(made)
        progress("pages", n_done, len(changed))
    missing = {made.run_id for made in problems}
    index = index_html(
        session,
        settings,
        version("benchlake"),
        assets_from(""),
        headline_of=folder.headline_of,
        missing=missing,
    )
    folder.write(INDEX, index)
    kept = [page.run_id for page in pages if page.run_id not in missing]
    return BuiltSite(
        index=folder.path / INDEX,
        n_written=len(changed) - len(problems),
        n_unchanged=len(pages) - len(changed),
        n_removed=folder.remove_others(kept, assets),
        problems=tuple(sorted(problems, key=lambda made: made.run_id)),
    )
