"""A site in real browsers: from the disk and from a server of files, by mouse and by keyboard."""

import shutil
import subprocess

import pytest
from playwright.sync_api import expect

from tests.browser.test_report_access import AXE, BROWSERS, LOOKS, OVERFLOWING
from tests.support.analyze_cli import call
from tests.support.nights import Nights
from tests.support.reported_run import N_NIGHTS, write_night
from tests.support.served_folder import served
from tests.support.watched_page import Watched, draw_all, missing

pytestmark = pytest.mark.peers

HOSTILE = '<img src=x onerror="window.__pwned=1">\u202e</script>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two suites, one of whose models fell, and their site."""
    folder = tmp_path_factory.mktemp("site")
    for night in range(1, N_NIGHTS + 1):
        write_night(folder / "runs", night)
    more = Nights(folder / "runs", n_cases=10, repetitions=2)
    for rate in (1, 1, 1, 0, 0, 0):
        more.add(
            rates={"fallen": rate, "steady": 0.9},
            suite_id="other",
            suite_title=HOSTILE,
            labels=[HOSTILE],
        )
    assert call("report", folder / "runs", "-o", folder / "site").code == 0
    return folder


class Site(Watched):
    """A site, of which every page may ask for files of the site and for nothing else."""

    def __init__(self, browser, path, base, **options):
        super().__init__(browser, path, **options)
        self.context.set_offline(False)
        self.base = base

    def open(self, fragment=""):
        self.page.goto(f"{self.base}/index.html{fragment}")
        return self.ready()

    def ready(self):
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def was_quiet(self):
        assert not self.complaints, self.complaints
        others = [url for url in self.requests if not url.startswith(self.base)]
        assert not others, others
        assert self.page.evaluate("window.__pwned") is None


@pytest.fixture(params=["disk", "server"])
def site(request, browser, folder):
    path = folder / "site"
    with served(path) as (url, _):
        base = path.as_uri() if request.param == "disk" else url
        watched = Site(browser, path, base)
        yield watched
        watched.was_quiet()
        watched.context.close()


def test_one_goes_from_the_index_to_a_run_and_on(site):
    page = site.open()
    expect(page.locator("h1")).to_have_text("Benchmark runs")
    assert page.locator("#t-runs tbody tr").count() == N_NIGHTS + 6
    assert page.locator(".spark polyline").count() == 3 + 2
    page.locator("#t-runs a", has_text="night-4").click()
    site.ready()
    draw_all(page)
    assert page.locator("figure.chart[data-state=drawn]").count() >= 5
    assert page.locator("figure.chart[data-state=failed]").count() == 0
    assert page.locator("details.trial").count() > 20
    page.locator("nav a[rel=next]").click()
    site.ready()
    assert page.url.endswith("/runs/night-5.html")
    assert page.locator("nav a[rel=next]").count() == 0
    page.locator("nav a", has_text="All runs").click()
    site.ready()
    assert page.url.endswith("/index.html")


def test_an_open_shift_leads_to_the_run_that_it_began_with(site):
    page = site.open()
    page.locator(".verdicts a").first.click()
    site.ready()
    assert page.url.endswith("/runs/night-004.html")


def test_the_table_of_runs_sorts_and_filters_and_the_address_says_so(site):
    page = site.open()
    page.locator('#t-runs th[data-column="started_at_ms"] button').click()
    page.locator("#runs input[type=search]").fill("night-00")
    expect(page.locator("#t-runs tbody tr:visible")).to_have_count(6)
    assert "sort=started_at_ms" in page.url
    again = Site(site.context.browser, site.path, site.base)
    page = again.open("#" + page.url.partition("#")[2])
    expect(page.locator("#t-runs tbody tr:visible")).to_have_count(6)
    again.context.close()


def test_the_keyboard_reaches_a_run(site):
    page = site.open()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href') ?? ''").startswith("runs/"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*.html")
    site.ready()
    assert page.locator(".headline").inner_text()


@pytest.mark.parametrize("look", LOOKS)
def test_the_index_has_no_serious_violation(browser, folder, look):
    if not AXE.is_file():
        missing("axe-core is not installed: make axe")
    scheme, width = look.split("-")
    path = folder / "site"
    watched = Site(browser, path, path.as_uri(), width=int(width), scheme=scheme)
    page = watched.open()
    assert page.evaluate(OVERFLOWING) == []
    page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], "preload": False} | LOOKS[look]
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == []
    watched.was_quiet()
    watched.context.close()


DRIVE = """<!doctype html><meta charset="utf-8">
<iframe id="page" width="1200" height="900"></iframe>
<script type="module">
const frame = document.getElementById("page");
const until = async (test, what) => {
  for (let n = 0; n < 600; n += 1) {
    try { const found = test(frame.contentDocument); if (found) return found; } catch (error) {}
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not within 30 s: ${what}`);
};
const all = (selector) => [...frame.contentDocument.querySelectorAll(selector)];
const isReady = (page) => page.documentElement.dataset.ready;
const seen = (selector) => all(selector).filter((one) => one.getClientRects().length).length;
const report = (found) => fetch("/", { method: "POST", body: JSON.stringify(found) });
try {
  frame.src = "site/index.html";
  await until(isReady, "the index");
  const rows = all("#t-runs tbody tr").length;
  all("#t-runs a").find((one) => one.textContent === "night-5").click();
  await until((page) => page.URL.endsWith("night-5.html") && isReady(page), "the page");
  for (const figure of all("figure.chart")) {
    figure.scrollIntoView();
    await until(() => figure.dataset.state === "drawn" || figure.dataset.state === "failed", "it");
  }
  const states = all("figure.chart").map((one) => one.dataset.state);
  const trials = seen("details.trial");
  const select = all("select[data-name=verdict]")[0];
  select.value = "failed";
  select.dispatchEvent(new Event("change"));
  const failed = seen("details.trial");
  const sign = all("#t-matrix td a")[0];
  sign.click();
  await until((page) => page.querySelector("details.trial[open]"), "an opened trial");
  const parts = all("details.trial[open] > *").length;
  await report({ rows, states, trials, failed, parts });
} catch (error) {
  await report({ error: error.message });
}
</script>"""
"""Stands around the pages and does what a person does; Firefox alone has no driver here."""


def test_firefox_draws_filters_and_opens(folder, tmp_path):
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command is None:
        missing("there is no firefox on the PATH")
    (folder / "drive.html").write_text(DRIVE)
    with served(folder) as (url, posted):
        process = subprocess.Popen(
            [command, "--headless", "--no-remote", "--profile", tmp_path, f"{url}/drive.html"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"HOME": str(tmp_path)},
        )  # fmt: skip
        try:
            found = posted.get(timeout=90)
        finally:
            process.terminate()
            process.wait(30)
    assert "error" not in found, found
    assert found["rows"] == N_NIGHTS + 6
    assert set(found["states"]) == {"drawn"}
    assert len(found["states"]) >= 5
    assert 0 < found["failed"] < found["trials"]
    assert found["parts"] > 1
