"""Makes the pages of a site: in this process when they are few, else in one a core.

Each process holds the lake for itself and stands at one run after another.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path

from analyze.charts.drawing import config_of_report, specs_of
from analyze.query.as_of import AsOfSession
from analyze.query.run_ref import read_names
from analyze.report.build import build_report
from analyze.report.html.page import SitePlace, render_html
from analyze.report.kept import kept_in
from analyze.site.folder import INDEX, RUNS, SiteFolder, assets_from, page_name
from analyze.site.keys import PageSettings, PlannedPage
from schemas.errors import AnalyzeError, BenchError
from schemas.run.model_names import with_names

FEW = 8
"""Pages that are made here: to start processes would take longer."""

MAX_PROCESSES = 4

CHUNK = 10
"""Pages that a process is given at once; few, so that what is done is told."""


@dataclass(frozen=True, slots=True)
class MadePage:
    """How the making of one page went."""

    run_id: str
    problem: str | None = None
    """Why there is none; None: it is there."""


class PageMaker:
    """Makes pages over one lake that it holds; a context manager."""

    def __init__(self, settings: PageSettings, site: Path, texts_of: Sequence[str]) -> None:
        """Open the lake.

        Args:
            settings: of all pages.
            site: the folder of the site.
            texts_of: runs that pages are made of, and those that these are compared with.
        """
        self._settings = settings
        self._folder = SiteFolder(site, force=True)
        self._assets = assets_from("../")
        self._session = AsOfSession(
            settings.runs_dir,
            texts_of=texts_of,
            threads=1,
            evaluation_profile=settings.evaluation_profile,
        )

    def __enter__(self) -> PageMaker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the lake."""
        self._session.close()

    def make(self, page: PlannedPage) -> MadePage:
        """Write one page.

        A run that cannot be reported, such as one whose config is torn, is told and keeps no other
        from its page.

        Raises:
            AnalyzeError: the disk refuses.
        """
        try:
            text = self._text(page)
        except BenchError as exc:
            return MadePage(page.run_id, str(exc))
        self._folder.write(f"{RUNS}/{page_name(page.run_id)}", text)
        return MadePage(page.run_id)

    def _text(self, page: PlannedPage) -> str:
        settings, session = self._settings, self._session
        session.stand_at(page.run_id)
        names = read_names(session)
        report = build_report(
            session,
            page.run_id,
            baseline=None,
            limits=settings.limits,
            transcript_bytes=settings.transcript_bytes,
            known=settings.known_at(page.later),
            names=names,
        )
        report = with_names(report, names)
        if settings.kept_in is not None:
            report = kept_in(report, settings.runs_dir, settings.kept_in)
        place = SitePlace(
            page.key,
            self._assets,
            f"../{INDEX}",
            page_name(page.previous) if page.previous else "",
            page_name(page.next) if page.next else "",
        )
        charts = {"config": config_of_report(), "specs": specs_of(report)}
        return render_html(report, charts, site=place)


def made_pages(
    pages: Sequence[PlannedPage], settings: PageSettings, site: Path
) -> Iterator[MadePage]:
    """Write pages, and yield how each went, as they are done.

    Args:
        pages: that are to be written.
        settings: of all pages.
        site: the folder of the site.

    Raises:
        AnalyzeError: the disk refuses, or a process was killed.
    """
    texts_of = sorted({one for page in pages for one in (page.run_id, page.previous) if one})
    n_processes = min(os.cpu_count() or 1, MAX_PROCESSES)
    if len(pages) <= FEW or n_processes == 1:
        with PageMaker(settings, site, texts_of) as maker:
            for page in pages:
                yield maker.make(page)
        return
    chunks = [pages[at : at + CHUNK] for at in range(0, len(pages), CHUNK)]
    pool = ProcessPoolExecutor(
        n_processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(settings, site, texts_of),
    )
    with pool:
        try:
            for done in as_completed([pool.submit(_make, chunk) for chunk in chunks]):
                yield from done.result()
        except BrokenProcessPool:
            message = (
                "a process that makes pages was killed, most often since memory ran out; the same "
                "command goes on with the pages that are missing"
            )
            raise AnalyzeError(message) from None
        finally:
            pool.shutdown(cancel_futures=True)


_maker: PageMaker | None = None
"""Of a process that makes pages."""


def _start(settings: PageSettings, site: Path, texts_of: Sequence[str]) -> None:
    """Open the lake in a process of its own, which ends with its parent."""
    global _maker  # noqa: PLW0603 - what a process is started for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _maker = PageMaker(settings, site, texts_of)
    Finalize(None, _end, exitpriority=0)


def _end() -> None:
    """End at once: the engine's own last words would be of no use to anybody."""
    assert _maker is not None
    _maker.close()
    os._exit(0)


def _end_with_parent() -> None:
    """End when the parent is gone, however it died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _make(pages: Sequence[PlannedPage]) -> list[MadePage]:
    assert _maker is not None
    return [_maker.make(page) for page in pages]
