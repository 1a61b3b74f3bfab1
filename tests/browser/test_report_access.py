"""The report for everybody: by a checker of accessibility, on paper, on a phone, dark and light."""

import shutil
import subprocess

import pytest

from tests.support.paths import TOOLS
from tests.support.watched_page import Watched, draw_all, missing

pytestmark = pytest.mark.peers

AXE = TOOLS / "node_modules/axe-core/axe.min.js"

OPEN_SOME = """() => {
  [...document.querySelectorAll("details.trial")].slice(-3).forEach((one) => { one.open = true; });
  return new Promise((done) => setTimeout(() => {
    document.querySelectorAll("details:not([open]) > :not(summary)").forEach((one) => one.remove());
    const rows = [...document.querySelectorAll("details.trial:not([open])")];
    rows.slice(5).forEach((one) => one.remove());
    done();
  }, 100));
}"""
"""What stays folded is like what is open: without it the checker needs a quarter of the time."""

COLOURS = {"runOnly": ["color-contrast"]}

LOOKS = {
    "light-1280": {},
    "dark-1280": COLOURS,
    "light-768": {"rules": {"color-contrast": {"enabled": False}}},
    "dark-768": COLOURS,
    "light-390": {"rules": {"color-contrast": {"enabled": False}}},
    "dark-390": COLOURS,
}
"""What the checker looks at: other colours change no structure, and another width no colour."""

BROWSERS = ("firefox-esr", "firefox")

OVERFLOWING = """() => [...document.querySelectorAll("main *, nav *")].filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && box.right > document.documentElement.clientWidth + 1
    && !one.closest(".scroll, pre, svg, nav ul, .vh, .skip");
}).map((one) => one.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def axe():
    """The checker as a script; in CI it must be there."""
    if not AXE.is_file():
        missing("axe-core is not installed: make axe")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=LOOKS)
def look(request, browser, report_file):
    """The page as somebody sees it, with every chart drawn and some trials open."""
    scheme, width = request.param.split("-")
    watched = Watched(browser, report_file, width=int(width), scheme=scheme)
    page = watched.open()
    draw_all(page)
    page.evaluate(OPEN_SOME)
    page.evaluate("scrollTo(0, 0)")
    yield watched
    watched.was_quiet()
    watched.context.close()


def test_no_serious_violation_is_found(look, axe, request):
    options = LOOKS[request.node.callspec.params["look"]] | {"resultTypes": ["violations"]}
    look.page.evaluate(axe)
    found = look.page.evaluate("options => axe.run(options)", options)
    serious = [
        (one["id"], one["impact"], [node["html"][:300] for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    assert len(found["violations"]) <= 2
    assert len(found["passes"]) > 20 or options.get("runOnly") == [
        one["id"] for one in found["passes"]
    ]


def test_the_page_never_scrolls_sideways(look):
    size = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scroll, client = look.page.evaluate(size)
    assert look.page.evaluate(OVERFLOWING) == []
    assert scroll <= client


def test_colours_follow_the_scheme(look):
    paper, ink, bar = look.page.evaluate(
        "['backgroundColor', 'color'].map((name) => getComputedStyle(document.body)[name])"
        ".concat(getComputedStyle(document.querySelector('.plot svg text')).fill)"
    )
    is_dark = look.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (brightness(paper) < 80) is is_dark
    assert (brightness(ink) > 160) is is_dark
    assert (brightness(bar) > 120) is is_dark


def brightness(colour):
    """Return the mean of red, green and blue of `rgb(1, 2, 3)`."""
    channels = colour[colour.index("(") + 1 : -1].replace(",", " ").split()[:3]
    return sum(map(float, channels)) / 3


def test_every_chart_and_table_has_a_name_for_those_who_do_not_see_it(look):
    page = look.page
    named = page.locator(".plot svg[aria-label], .plot [aria-label] svg, .plot svg [aria-label]")
    assert named.count() >= page.locator("figure.chart").count()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('th:not([scope]), table:not([id]), input:not([id]):not("
        "label input), button:empty')].map((one) => one.outerHTML)"
    )
    assert unnamed == []


def test_on_paper_all_is_dark_on_light_and_nothing_is_cut(browser, report_file):
    watched = Watched(browser, report_file, scheme="dark")
    page = watched.open()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    draw_all(page)
    page.set_viewport_size({"width": 720, "height": 1000})
    assert brightness(page.evaluate("getComputedStyle(document.body).color")) < 80
    assert page.locator("nav").is_hidden()
    for controls in ("button:not(th *)", "input"):
        visible = page.locator(f"main {controls}").evaluate_all(
            "all => all.filter((one) => one.checkVisibility()).length"
        )
        assert visible == 0
    wide = page.locator(".plot svg").evaluate_all(
        "all => all.filter((one) => one.getBoundingClientRect().right > innerWidth).length"
    )
    assert wide == 0
    watched.was_quiet()
    watched.context.close()


def test_firefox_draws_the_page(report_file, tmp_path):
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command is None:
        missing("there is no firefox on the PATH")
    picture = tmp_path / "report.png"
    subprocess.run(
        [
            command, "--headless", "--no-remote", "--profile", str(tmp_path), "--window-size=1280",
            f"--screenshot={picture}", report_file.as_uri(),
        ],
        check=True, capture_output=True, timeout=90, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    assert picture.stat().st_size > 100_000
