"""Makes what the documentation shows of `data/samples`: notebooks, a sample page, its pictures.

    python docs/make.py                 everything
    python docs/make.py notebooks page  these
    python docs/make.py walks           what the commands of docs/walks print (after `make pipx`)

The tests compare the notebooks' outputs and the page with what is made anew; a picture names the
page that it shows by its SHA-256 (`pictures/page.sha256`), since no two browsers draw alike.
"""

from __future__ import annotations

import hashlib
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
RUNS = ROOT / "data" / "samples" / "runs"
NOTEBOOKS = ROOT / "notebooks"
PAGE = DOCS / "sample-report.html"
PICTURES = DOCS / "pictures"

RUN = "night_10_setting"
"""The run of the sample page: one model was given another setting, and there are nights before."""

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SIZE: ViewportSize = {"width": 1240, "height": 690}
"""Of a picture, in pixels of the page: what a laptop shows before anyone scrolls."""

EXECUTE = r"""
import re
import sys
import tempfile
import nbformat
from nbclient import NotebookClient
source, folder, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=nbformat.NO_CONVERT)
where = {"metadata": {"path": folder}}
client = NotebookClient(notebook, timeout=100, record_timing=False, resources=where)
try:
    client.execute()
finally:
    notebook.metadata.language_info = {"name": "python"}
    temporary = re.escape(tempfile.gettempdir()) + r"/tmp\w+/"
    text = re.sub(temporary, "", nbformat.writes(notebook))
    with open(target, "w", encoding="utf-8") as file:
        file.write(text + "\n")
"""
"""A process of its own: what Jupyter leaves behind when a kernel ends stays there."""


def executed(source: Path, folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Execute a notebook, started in a folder, and write it with its outputs.

    Names of temporary folders, which differ each time, are left out.
    """
    command = [sys.executable, "-P", "-c", EXECUTE, *map(str, (source, folder, target))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def make_page(target: Path) -> None:
    """Write the page of the sample run, as `analyze report` makes it in the samples' project."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(RUNS, Path(folder) / "runs", ignore=shutil.ignore_patterns("lake"))
        command = [
            sys.executable,
            "-P",
            "-m",
            "analyze",
            "report",
            "--run",
            RUN,
            "--output",
            target,
        ]
        subprocess.run([*command, "--force"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def make_pictures(page: Path, folder: Path) -> None:
    """Photograph the top of a page in both colour schemes, and note which page it was."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - and a browser, for this alone

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport=SIZE, color_scheme=scheme, reduced_motion="reduce", offline=True
            )
            shown = context.new_page()
            shown.goto(page.as_uri())
            shown.wait_for_load_state("networkidle")
            shown.screenshot(path=folder / f"report-{scheme}.png")
        browser.close()
    (folder / "page.sha256").write_text(hashlib.sha256(page.read_bytes()).hexdigest() + "\n")


def make_walks() -> None:
    """Type the commands of each walk, and write what they print into its page."""
    from collect.local.weights import fetch_weights  # noqa: PLC0415 - and ours, for this alone

    walks = runpy.run_path(str(DOCS / "walks.py"))
    places = {"BENCHLAKE": str(ROOT), "BENCHLAKE_CACHE": str(fetch_weights().parent)}
    for page in sorted(walks["FOLDER"].glob("*.md")):
        _, results = walks["walk"](page, ROOT / ".tools" / "pipx" / "bin", **places)
        page.write_text(walks["rewritten"](page.read_text(encoding="utf-8"), results))


def main() -> None:
    """Make what the command line names, or everything."""
    asked = sys.argv[1:] or ["notebooks", "page", "pictures", "walks"]
    if "notebooks" in asked:
        for path in sorted(NOTEBOOKS.glob("*.ipynb")):
            executed(path, ROOT, path).check_returncode()
    if "page" in asked:
        make_page(PAGE)
    if "pictures" in asked:
        make_pictures(PAGE, PICTURES)
    if "walks" in asked:
        make_walks()


if __name__ == "__main__":
    main()
