"""The walks of the documentation, typed as they stand where pipx has installed the commands."""

import runpy

import pytest

from collect.local.weights import find_weights
from tests.support.paths import ROOT
from tests.support.watched_page import missing

pytestmark = pytest.mark.peers

walks = runpy.run_path(str(ROOT / "docs" / "walks.py"))
PAGES = sorted(walks["FOLDER"].glob("*.md"))
MOST_COMMANDS = 15
MOST_OTHER = 0.15
"""Share of the lines of a page that may say something else: what a model answers decides them."""


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
    n_shown, lacking = 0, []
    for step, done in zip(steps, results, strict=True):
        printed = "\n".join(done.lines)
        assert "Traceback" not in printed, f"{step.command}\n{printed}"
        judged = step.command.startswith(("analyze gate", "analyze compare"))
        assert done.code in ({0, 1, 3} if judged else {0}), f"{step.command}\n{printed}"
        n_shown += len(step.shown)
        lacking += [(step.command, line) for line in walks["missing"](step, done)]
    again = "python docs/make.py walks"
    assert len(lacking) <= MOST_OTHER * n_shown, f"{lacking}; {again}"
