"""A site on disk: what is ours in it, its shared files, and writing only what has changed.

    site.json           says that the folder is ours; written first
    index.html          all suites and runs
    runs/RUN_ID.html    a page a run
    assets/             style, script and the library of the charts, each named by its content

A page says by a key in its head what it was made of, so nothing else has to be kept in step with
it: a build that was stopped anywhere goes on with the next one.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Callable, Collection
from importlib.metadata import version
from pathlib import Path

from analyze.report.html.page import SCRIPTS, SITE_STYLE, STYLE, Assets, read_asset
from schemas.errors import AnalyzeError, ConfigError, Problem, display_path
from schemas.io.files import write_whole
from schemas.run.layout import is_run_id

MARK = "site.json"
INDEX = "index.html"
RUNS = "runs"
ASSETS = "assets"

MADE_BY = "benchlake"

OWN_RUNS, LOOK = "runs", "another tool's results"
"""What the pages of a site are of."""

KEY = re.compile(rb'<meta name="benchlake-key" content="([0-9a-f]{64})">')
HEADLINE = re.compile(rb'<meta name="description" content="([^"]*)">')
MAX_HEAD_BYTES = 16_384
"""From the beginning of a page, in which both stand."""

END = b"</html>"
MAX_END_BYTES = 16
"""At the end of a page, in which END stands; a page that somebody cut is made again."""

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MAX_NAME_CHARS = 60

OUR_PAGE = re.compile(r"[A-Za-z0-9._()-]+\.html")
OUR_ASSET = re.compile(r"(style|page|charts)-[0-9a-f]{12}\.(css|js)")

HASH_CHARS = 12


def page_name(run_id: str) -> str:
    """Return the file of a run's page, below `runs/`: safe on every disk and in every URL."""
    if is_run_id(run_id):
        return f"{run_id}.html"
    return f"run-{UNSAFE.sub('_', run_id)[:MAX_NAME_CHARS]}-{_short_hash(run_id)}.html"


def _in_the_way(path: Path, holds: str) -> Problem:
    """Return that a folder holds something else, and what to do about it."""
    what = f"{display_path(path)} is not empty and holds no site of {holds}"
    allowed = "a new or empty folder, or --force, which puts the site beside what is there"
    return Problem(None, what, "--output", allowed=allowed)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARS]


class SiteFolder:
    """The folder of a site."""

    def __init__(self, path: Path, *, force: bool = False, holds: str = OWN_RUNS) -> None:
        """Check that a site may be written there.

        Args:
            path: the folder; it need not exist.
            force: write into a folder that holds something else; that stays.
            holds: what its pages are of; a site of other things is none that may be brought up to
                date, since that removes their pages.

        Raises:
            ConfigError: a file is there, or it holds something, and no site of ours.
        """
        self.path = path
        self._holds = holds
        if path.is_dir():
            if not force and any(path.iterdir()) and not self._is_ours():
                raise ConfigError([_in_the_way(path, holds)])
        elif path.exists() or path.is_symlink():
            raise ConfigError([Problem(None, f"{display_path(path)} is no folder", "--output")])

    def _is_ours(self) -> bool:
        try:
            mark = json.loads((self.path / MARK).read_bytes())
            return bool(mark["made_by"] == MADE_BY and mark.get("holds", OWN_RUNS) == self._holds)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return False

    @property
    def has_pages(self) -> bool:
        """Whether it holds a page of any run."""
        return bool(self._ours(RUNS, OUR_PAGE, ()))

    def prepare(self, bundle: Callable[[], str]) -> Assets:
        """Write what says that the folder is ours, and what all pages share; return their names.

        Args:
            bundle: gives the library of the charts; not asked where it is there.

        Raises:
            AnalyzeError: the disk refuses.
        """
        mark = {
            "made_by": MADE_BY,
            "benchlake_version": version(MADE_BY),
            "holds": self._holds,
        }
        self.write(MARK, json.dumps(mark, indent=2) + "\n")
        style, script = shared_texts()
        assets = asset_names()
        self.write(f"{ASSETS}/{assets.style}", style)
        self.write(f"{ASSETS}/{assets.script}", script)
        if not (self.path / ASSETS / assets.library).is_file():
            self.write(f"{ASSETS}/{assets.library}", bundle())
        return assets

    def write(self, name: str, text: str) -> bool:
        """Write a file whole unless it is there as it is; return whether it was written.

        Raises:
            AnalyzeError: the disk refuses; what was there stays.
        """
        path, data = self.path / name, text.encode("utf-8")
        try:
            if path.is_file() and path.read_bytes() == data:
                return False
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        except OSError as exc:
            message = f"{display_path(path)}: cannot be written ({exc.strerror})"
            raise AnalyzeError(message) from exc
        return True

    def key_of(self, run_id: str) -> str | None:
        """Return the key of the page of a run; None where there is none that says it."""
        try:
            with (self.path / RUNS / page_name(run_id)).open("rb") as file:
                found = KEY.search(file.read(MAX_HEAD_BYTES))
                file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_END_BYTES))
                is_whole = END in file.read()
        except OSError:
            return None
        return found[1].decode() if found and is_whole else None

    def headline_of(self, run_id: str) -> str:
        """Return what the page of a run says first; empty without a page."""
        try:
            with (self.path / RUNS / page_name(run_id)).open("rb") as file:
                found = HEADLINE.search(file.read(MAX_HEAD_BYTES))
        except OSError:
            return ""
        return html.unescape(found[1].decode(errors="replace")) if found else ""

    def remove_others(self, run_ids: Collection[str], assets: Assets) -> int:
        """Remove pages of runs that are gone, and shared files of before; return how many pages.

        Raises:
            AnalyzeError: the disk refuses.
        """
        pages = {page_name(run_id) for run_id in run_ids}
        shared = {assets.style, assets.script, assets.library}
        gone = self._ours(RUNS, OUR_PAGE, pages)
        try:
            for path in [*gone, *self._ours(ASSETS, OUR_ASSET, shared)]:
                path.unlink(missing_ok=True)
        except OSError as exc:
            message = f"{display_path(Path(exc.filename))}: cannot be removed ({exc.strerror})"
            raise AnalyzeError(message) from exc
        return len(gone)

    def _ours(self, folder: str, names: re.Pattern[str], kept: Collection[str]) -> list[Path]:
        """Return our files of a folder of the site that are none of those that are kept."""
        if not (self.path / folder).is_dir():
            return []
        return [
            path
            for path in sorted((self.path / folder).iterdir())
            if path.name not in kept and names.fullmatch(path.name) and _is_made_by_us(path)
        ]


def _is_made_by_us(path: Path) -> bool:
    """Return whether a file is ours: of pages those with a key."""
    if path.suffix != ".html":
        return True
    with path.open("rb") as file:
        return KEY.search(file.read(MAX_HEAD_BYTES)) is not None


def shared_texts() -> tuple[str, str]:
    """Return the style and the script of all pages."""
    style = read_asset(STYLE) + read_asset(SITE_STYLE)
    return style, "\n".join(map(read_asset, SCRIPTS))


def asset_names() -> Assets:
    """Return the names of the shared files: new content has a new name, whatever a cache holds."""
    style, script = shared_texts()
    return Assets(
        style=f"style-{_short_hash(style)}.css",
        script=f"page-{_short_hash(script)}.js",
        library=f"charts-{_short_hash(version('vl-convert-python'))}.js",
    )


def assets_from(base: str) -> Assets:
    """Return the shared files as URLs from a page.

    Args:
        base: from the page to the site: empty, or `../`.
    """
    names = asset_names()
    return Assets(
        *(f"{base}{ASSETS}/{name}" for name in (names.style, names.script, names.library))
    )
