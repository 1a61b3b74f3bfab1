"""One browser for the tests of a file, and one real report that all of them read."""

import fcntl

import pytest
from playwright.sync_api import sync_playwright

from tests.support.reported_run import report_page
from tests.support.watched_page import FLAGS, Watched, chromium


@pytest.fixture(scope="module")
def browser():
    """Chromium; in CI it must be there, elsewhere its absence skips the tests.

    Its loop of events belongs to this thread, so that it ends with the tests of a file: others
    run loops of their own.
    """
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def report_file(tmp_path_factory, worker_id):
    """A report as `analyze report` writes it, of a run with a baseline and a history.

    The first worker that asks for it makes it; the others wait and read the same.
    """
    if worker_id == "master":
        return report_page(tmp_path_factory.mktemp("reported"))
    folder = tmp_path_factory.getbasetemp().parent / "reported"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = folder / "report.html"
        return page if page.exists() else report_page(folder)


@pytest.fixture(scope="module")
def shared(browser, report_file):
    """The page that most tests share, each of them opens it anew."""
    return Watched(browser, report_file)


@pytest.fixture
def page(shared):
    """The report, freshly opened; afterwards it must have been quiet."""
    yield shared.open()
    shared.was_quiet()
