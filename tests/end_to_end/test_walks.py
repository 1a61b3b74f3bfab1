"""The walks of the documentation, typed as they stand where pipx has installed the commands."""

import runpy
from pathlib import Path

import pytest

from collect.local.weights import find_weights
from tests.watched_page import missing

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
walks = runpy.run_path(str(ROOT / "docs" / "walks.py"))
PAGES = sorted(walks["FOLDER"].glob("*.md"))
MOST_COMMANDS = 15


@pytest.fixture(scope="session")
def bin_dir():
    """The folder of the commands as pipx installed them, with no environment of the tests."""
    found = ROOT / ".tools" / "pipx" / "bin"
    if not (found / "collect").exists():
        missing("benchlake is not installed by pipx: make pipx")
    return found


def test_there_are_four_walks():
    assert len(PAGES) == 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_walk_prints_what_its_page_shows(page, bin_dir):
    steps, results = walks["walk"](
        page, bin_dir, BENCHLAKE_CACHE=str(find_weights().parent), BENCHLAKE=str(ROOT)
    )

    assert len(steps) <= MOST_COMMANDS
    assert len(results) == len(steps), "the shell ended before the last command"
    for step, done in zip(steps, results, strict=True):
        shown = "\n".join(done.lines)
        assert "Traceback" not in shown, f"{step.command}\n{shown}"
        lacking = walks["missing"](step, done)
        assert lacking == [], (
            f"{step.command} (exit {done.code})\n{shown}\nagain: python docs/make.py walks"
        )
