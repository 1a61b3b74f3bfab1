"""Where a report is written: in which form, over what, and whole or not at all."""

from __future__ import annotations

from os.path import lexists
from pathlib import Path

from schemas.errors import AnalyzeError, ConfigError, NotOurFile, Problem, display_path
from schemas.io.files import write_whole
from schemas.run.layout import is_planned

NAME = "report.html"
"""In the folder of the run: derived, and made again at any time."""

MARKER = b'<meta name="generator" content="benchlake'
MAX_MARKER_OFFSET = 2048
"""Bytes from the beginning of a page of ours in which MARKER stands."""

FORMS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
"""The end of a file's name to the form that it asks for."""


def form_of(form: str | None, output: Path | None) -> str:
    """Return the form of a report: as `--format` says, else by the file's name, else a page.

    Raises:
        ConfigError: the name says nothing.
    """
    if form is not None or output is None:
        return form or "html"
    by_name = FORMS.get(output.suffix.lower())
    if by_name is None:
        allowed = "a name that ends in .html, .md or .json, or --format beside it"
        raise ConfigError(
            [
                Problem(
                    None, "unknown kind of report", "--output", None, display_path(output), allowed
                )
            ]
        )
    return by_name


def is_site(form: str | None, output: Path) -> bool:
    """Whether a place is one for a site: a folder, or a name without an end that says a form."""
    says_form = form is not None or output.suffix.lower() in FORMS
    return not says_form and (output.is_dir() or not output.suffix)


def require_free(output: Path, form: str, *, force: bool) -> None:
    """Check that a report may be written to a place.

    A page of ours may be replaced; Markdown and JSON do not say whose they are.

    Raises:
        ConfigError: a link, a pipe, a device or a folder is there.
        NotOurFile: a file is there that may not be replaced.
    """
    if not lexists(output):
        return
    if output.is_symlink() or not output.is_file():
        raise ConfigError([Problem(None, f"{display_path(output)} is no regular file", "--output")])
    if not force and not (form == "html" and _is_ours(output)):
        raise NotOurFile(output, "no page of a report" if form == "html" else "left as it is")


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return MARKER in file.read(MAX_MARKER_OFFSET)
    except OSError:
        return False


def page_of(run_id: str, folder: Path | None) -> Path:
    """Return where the page of a run goes unless somebody says otherwise.

    Args:
        run_id: the run.
        folder: of the run; None when it is not here.

    Raises:
        ConfigError: it has no folder here, or one by another tool, which is left as it is.
    """
    if folder is not None and is_planned(folder):
        return folder / NAME
    why = "has no folder here" if folder is None else "is in a folder of another tool"
    what = f"run `{run_id}` {why}: name a file for its report"
    raise ConfigError([Problem(None, what, "--output", allowed="such as -o report.html")])


def write_page(output: Path, text: str) -> str:
    """Write a report whole, and return its path as people type it.

    Raises:
        AnalyzeError: the disk refuses; what was there stays.
    """
    try:
        write_whole(output, text.encode("utf-8"))
    except OSError as exc:
        message = (
            f"{display_path(output)}: cannot be written ({exc.strerror}); -o names another place"
        )
        raise AnalyzeError(message) from exc
    return display_path(output)
