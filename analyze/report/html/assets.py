"""Files of the page that are packaged: its style and its scripts."""

from __future__ import annotations

from importlib.resources import files

SCRIPTS = ("tables.js", "links.js", "trials.js", "boot.js")
"""In the order in which they stand in the page, each an element with a hash of its own."""

STYLE = "style.css"

TEMPLATES = "templates"


def read_asset(name: str) -> str:
    """Return the text of a packaged file of the page."""
    return (files("analyze.report.html") / name).read_text(encoding="utf-8")


def read_template(name: str) -> str:
    """Return the text of a template."""
    return read_asset(f"{TEMPLATES}/{name}")
