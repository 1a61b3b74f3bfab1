"""What commands tell people, in every form: the same parts, and names from outside only as text."""

import json
import re
from html.parser import HTMLParser

import pytest

from analyze.render.document import Document, Facts, Item, Items, Lines, Section, Sentence, Table
from analyze.render.html import html_page
from analyze.render.markdown import markdown_page
from analyze.render.text import Column
from tests.support.analyze_cli import call, on_screen
from tests.support.hostile_strings import STRINGS
from tests.support.nights import Nights
from tests.support.run_builder import RunBuilder

pytestmark = pytest.mark.usefixtures("warm_engines")

NAME = "a|b <script>alert(1)</script>\n# c \x1b[31m`d`"

ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "ul", "li"),
    *("strong", "div", "table", "thead", "tbody", "tr", "th", "td", "pre", "code"),
}

ATTRIBUTES = {
    *(("lang", "en"), ("charset", "utf-8"), ("class", "n"), ("class", "wide")),
    *(("name", "viewport"), ("content", "width=device-width, initial-scale=1")),
}


class Seen(HTMLParser):
    """What a browser makes of a page: its elements, their attributes and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.texts = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {*attrs}

    def handle_data(self, data):
        self.texts.append(data)


def with_name(name):
    columns = (Column("model", least=9), Column("n", "right"))
    return Document(
        name,
        [
            Section([Sentence(name, "limits"), Facts([("base", name)]), Items([name])], name),
            Section([Items([Item(name, [name], [name], is_strong=True)])]),
            Section([Table(columns, [[name, name]])], f"{name}:"),
        ],
    )


@pytest.mark.parametrize("name", [NAME, *STRINGS])
def test_a_hostile_name_is_text_in_every_form(name):
    document = with_name(name)
    page = Seen(html_page(document))
    assert page.elements <= ELEMENTS
    assert page.attributes <= ATTRIBUTES
    markdown = markdown_page(document)
    assert not re.search(r"(?<!\\)[`\[~]|<", markdown)
    (row,) = [line for line in markdown.splitlines() if line.startswith("| ")][2:]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    for text in (markdown, html_page(document), on_screen(document, 80)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_a_name_is_shown_as_it_is():
    assert "a|b <script>alert(1)</script> # c" in on_screen(with_name(NAME))
    texts = Seen(html_page(with_name(NAME))).texts
    assert any("a|b <script>alert(1)</script> # c" in text for text in texts)


def test_a_section_without_anything_in_it_has_no_title_in_any_form():
    document = Document("Title", [Section([Items([]), Table((Column("a"),), [])], "nothing:")])
    assert on_screen(document) == ""
    assert markdown_page(document) == "# Title\n"
    page = Seen(html_page(document)).elements
    assert page == {"html", "head", "meta", "title", "style", "body", "h1"}


def test_code_to_paste_is_the_same_lines_in_every_form():
    lines = ["[[acknowledged]]", 'model_id = "<b>"']
    document = Document("Title", [Section([Lines(lines, "toml", "To silence it:")])])
    assert on_screen(document).splitlines() == [f"  {line}" for line in lines]
    assert "\n\nTo silence it:\n\n```toml\n" + "\n".join(lines) + "\n```\n" in markdown_page(
        document
    )
    assert "\n".join(lines) in "".join(Seen(html_page(document)).texts)


def test_code_without_a_lead_has_no_empty_paragraph_above_it():
    document = Document("Title", [Section([Lines(["a"])])])
    assert markdown_page(document) == "# Title\n\n```\na\n```\n"
    assert "p" not in Seen(html_page(document)).elements


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory):
    """A history in which a model fell whose label is hostile, and a model whose name is."""
    nights = Nights(tmp_path_factory.mktemp("hostile") / "runs", n_cases=25)
    nights.add(8, rates={"m": 1.0}, suite_id="smoke")
    nights.add(8, rates={"m": 0.5}, suite_id="smoke")
    RunBuilder(nights.runs_dir, "asked").night(["c"], {"passed": None}, plan={"model": NAME})
    for path in nights.runs_dir.glob("*/config.json"):
        config = json.loads(path.read_text())
        for model in config["models"]:
            model["label"] = NAME
        path.write_text(json.dumps(config))
    return nights.runs_dir


COMMANDS = (
    ("compare", "night-008", "night-009"),
    ("gate", "night-016", "--baseline", "history"),
    ("regressions",),
    ("flaky", "--all"),
    ("runs",),
    ("power", "--suite", "smoke"),
    ("tiers",),
    ("route",),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_tells_the_same_in_every_form(hostile_runs, command):
    screen, markdown, html, record = (
        call(*command, "--runs", hostile_runs, *form)
        for form in ((), ("--format", "md"), ("--format", "html"), ("--json",))
    )
    assert screen.code == markdown.code == html.code == record.code
    assert re.match(r"#+ \w", markdown.out)
    assert r"a\|b &lt;script&gt;" in markdown.out
    page = Seen(html.out)
    assert page.elements <= ELEMENTS
    assert page.attributes <= ATTRIBUTES
    assert "h1" in page.elements
    assert any("a|b <script>alert(1)</script>" in text for text in page.texts)
    assert "\x1b" not in screen.out + markdown.out + html.out + record.out
    assert json.loads(record.out)
    assert call(*command, "--runs", hostile_runs, "--format", "json").out == record.out
    assert call(*command, "--runs", hostile_runs, "--format", "md", "--json").code == 2
