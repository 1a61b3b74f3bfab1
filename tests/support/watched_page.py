"""A page in a real browser without a network, and everything it did that a report must not do."""

import os
import shutil

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});
"""


def missing(what):
    """Skip, or in CI fail, for want of a program that these tests need."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(what)


def chromium():
    """Return the path of Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        missing("no chromium on the PATH: apt-get install chromium")
    return found


class Watched:
    """A page of a context of its own, and what it complained of or asked for."""

    def __init__(self, browser, path, *, width=1280, scheme="light", **options):
        """Prepare a page for a file; it is opened by `open`."""
        self.path = path
        self.context = browser.new_context(
            offline=True,
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            reduced_motion="reduce",
            **options,
        )
        self.context.set_default_timeout(20_000)
        self.context.add_init_script(TELL_VIOLATIONS)
        self.complaints = []
        self.requests = []
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self._said(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", self._asked)
        self.page.on("popup", lambda page: self.complaints.append(f"popup: {page.url}"))
        self.page.on("download", lambda one: self.complaints.append(f"download: {one.url}"))

    def open(self, fragment=""):
        """Open the file anew, at a place of it."""
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(self.path.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def was_quiet(self):
        """Assert that the page complained of nothing and asked for nothing but its own file."""
        assert not self.complaints, self.complaints
        others = [url for url in self.requests if url.partition("#")[0] != self.path.as_uri()]
        assert not others, others

    def _said(self, kind, text):
        if kind in {"error", "warning", "assert"}:
            self.complaints.append(f"{kind}: {text}")

    def _asked(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def draw_all(page):
    """Scroll through a page until every chart has drawn itself, or says that it could not."""
    for figure in page.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.and_(page.locator("[data-state=drawn], [data-state=failed]")).wait_for()


MARKS = ".mark-symbol:not(.role-legend-symbol) path, .mark-rect path"


def tip_over(page, name):
    """Return the tooltip over the last mark of a chart, as text; None without one."""
    marks = page.locator(f"figure[data-chart={name}] .plot svg").locator(MARKS)
    if not marks.count():
        return None
    marks.last.scroll_into_view_if_needed()
    box = marks.last.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
    tip = page.locator("#vg-tooltip-element.visible")
    return tip.text_content() if tip.count() else None
