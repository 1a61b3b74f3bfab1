"""A report whose every text tries to be more than text: nothing runs, all of it is shown."""

import re

import pytest

from analyze.charts.drawing import config_of_report, specs_of
from analyze.report.html.page import SCRIPTS, render_html, visible
from schemas.output.report import RunReport
from tests.support.hostile_strings import MEGABYTE, STRINGS
from tests.support.made_records import Maker
from tests.support.watched_page import Watched, draw_all, tip_over

pytestmark = pytest.mark.peers

OUR_ELEMENTS = set(
    re.findall(
        r"\w+",
        """
        a aside b bdi br button code dd del details div dl dt em figcaption figure footer
        h1 h2 h3 h4 header i input ins kbd label li mark noscript ol option p pre s section select
        small span strong sub
        summary sup table tbody td th thead time tr u ul
        svg circle desc g line path rect text textPath title tspan
        """,
    )
)

OUR_LINKS = re.compile(r"#[A-Za-z0-9_-]+(&case=[A-Za-z0-9_.!~*'()%-]+)?")

TEXTS = """() => Object.fromEntries(
  [...document.querySelectorAll("main section")].map((one) => [one.id, one.textContent])
)"""

EACH_CASE = """() => {
  const select = document.querySelector("#answers select");
  return [...select.options].map((option) => {
    select.value = option.value;
    select.dispatchEvent(new Event("change"));
    return document.getElementById("answers").textContent;
  }).join(" ");
}"""

ATTRIBUTES = """() => [...new Set([...document.querySelectorAll("*")].flatMap((one) =>
  [...one.attributes].map((attribute) => attribute.name)))]"""

LINKS = """() => [...document.querySelectorAll("[href], [src], [action], [formaction]")].map(
  (one) => one.getAttribute("href") ?? one.outerHTML.slice(0, 200))"""


def hostile_charts():
    """Return the charts of such a report; frames are UTF-8, as the lake is: no surrogates."""
    strings = [one.encode("utf-8", "backslashreplace").decode() for one in STRINGS]
    specs = specs_of(Maker(strings).record(RunReport))
    assert len(specs) > 5
    return {"config": config_of_report(), "specs": specs}


def hostile_report():
    """Return a report with the strings in every text, and with some that are a megabyte long."""
    report = Maker(STRINGS).record(RunReport)
    first, *others = report.transcripts.shown
    part, *parts = first.parts
    long = first.model_copy(update={"parts": (part.model_copy(update={"text": MEGABYTE}), *parts)})
    transcripts = report.transcripts.model_copy(update={"shown": (long, *others)})
    flip, *flips = report.flips
    diff = tuple(one.model_copy(update={"text": MEGABYTE}) for one in flip.diff[:1])
    doubt, *doubts = report.doubts
    return report.model_copy(
        update={
            "doubts": (doubt.model_copy(update={"sentence": MEGABYTE}), *doubts),
            "flips": (flip.model_copy(update={"diff": diff}), *flips),
            "transcripts": transcripts,
        }
    )


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def html():
    """The page as text; what cannot be written as UTF-8 is none."""
    return render_html(hostile_report(), hostile_charts())


@pytest.fixture(scope="module")
def hostile(browser, html, tmp_path_factory):
    """The page in a browser, with every chart drawn and everything unfolded."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.html"
    path.write_bytes(html.encode("utf-8", "strict"))
    watched = Watched(browser, path)
    page = watched.open()
    draw_all(page)
    for _ in range(2):  # a trial has what it holds once it was opened
        page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        page.evaluate("new Promise((done) => setTimeout(done, 100))")
    yield watched
    watched.context.close()


def test_nothing_runs_and_nothing_is_asked_for(hostile):
    page = hostile.page
    page.locator("main section").evaluate_all("all => all.forEach((one) => one.scrollIntoView())")
    states = page.locator("figure.chart").evaluate_all("all => all.map((one) => one.dataset.state)")
    assert set(states) == {"drawn"}
    hostile.was_quiet()
    assert page.evaluate("String(window.__pwned)") == "undefined"
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


def test_pointers_and_tips_run_nothing_either(hostile):
    page = hostile.page
    names = page.locator("figure.chart").evaluate_all("all => all.map((one) => one.dataset.chart)")
    tips = [tip for name in names if (tip := tip_over(page, name))]
    assert len(tips) >= 2
    inside = page.locator("#vg-tooltip-element *").evaluate_all(
        "all => all.map((one) => one.localName)"
    )
    assert set(inside) <= {"h2", "table", "tbody", "tr", "td"}
    hostile.was_quiet()
    assert page.evaluate("String(window.__pwned)") == "undefined"


def test_only_elements_and_attributes_of_ours_are_in_the_page(hostile):
    page = hostile.page
    names = page.evaluate(
        "[...new Set([...document.querySelectorAll('main :not(form.vega-bindings)')]"
        ".map((one) => one.localName))]"
    )
    assert set(names) - OUR_ELEMENTS == set()
    assert page.locator("script:not([type])").count() == len(SCRIPTS) + 1
    assert page.locator("html, head, body, head title, main, nav").count() == 6
    assert [one for one in page.evaluate(ATTRIBUTES) if one.startswith("on")] == []
    assert [one for one in page.evaluate(LINKS) if not OUR_LINKS.fullmatch(one)] == []


@pytest.mark.parametrize("string", STRINGS, ids=range(len(STRINGS)))
def test_each_string_is_shown_as_text_in_every_section(texts, string):
    wanted = flat(visible(string))
    lacking = [name for name, text in texts.items() if wanted[:200] not in text]
    assert lacking == []
    assert wanted in texts["transcripts"]


@pytest.fixture(scope="module")
def texts(hostile):
    """The text of each section."""
    found = {name: flat(text) for name, text in hostile.page.evaluate(TEXTS).items()}
    assert len(found) == 19
    return found | {"cases": flat(hostile.page.evaluate(EACH_CASE))}


def test_a_line_of_a_megabyte_is_there_and_the_page_stays_narrow(hostile, texts):
    assert MEGABYTE in texts["transcripts"]
    page = hostile.page
    page.set_viewport_size({"width": 390, "height": 800})
    scroll, client = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert scroll <= client


def test_no_character_that_acts_is_in_the_page(html):
    acting = re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
        "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
    )
    assert acting.findall(html) == []


@pytest.mark.parametrize("words", ["<script>", "\\", "[object"])
def test_a_search_for_a_hostile_text_marks_it_and_runs_nothing(hostile, words):
    page = hostile.page
    count = page.locator("#trials .count")
    page.locator("#find-trials").fill(words)
    count.and_(page.locator(":not(:empty)")).wait_for()
    marked = page.locator("mark.hit").evaluate_all("all => all.map((one) => one.textContent)")
    page.locator("#find-trials").fill("")
    count.and_(page.locator(":empty")).wait_for(state="attached")
    assert {one.lower() for one in marked} == ({words} if words != "[object" else set())
    hostile.was_quiet()


def test_sorting_and_filtering_hostile_names_runs_nothing(hostile):
    page = hostile.page
    page.locator("#t-leaderboard th button").first.click()
    box = page.locator("#leaderboard input[type=search]")
    box.fill("<script>")
    shown = page.locator("#leaderboard .count").text_content()
    assert re.fullmatch(rf"[1-9]\d* of {len(STRINGS)} rows", shown)
    assert page.evaluate("location.hash").startswith("#t-leaderboard&sort=")
    assert "find=%3Cscript%3E" in page.evaluate("location.hash")
    box.fill("")
    hostile.was_quiet()
    assert page.evaluate("String(window.__pwned)") == "undefined"
