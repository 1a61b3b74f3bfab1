"""Numbers of decisions, budgets and statistics lead to a place in the repository's own pages."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGES = {
    "D-": ROOT / "docs" / "dev" / "decisions.md",
    "P-": ROOT / "docs" / "dev" / "budgets.md",
    "S": ROOT / "docs" / "statistics.md",
}
"""Beginning of a number to the page that says what it means."""

FOLDERS = ("analyze", "benchmarks", "collect", "configs", "data", "docs", "notebooks", "schemas")
TESTS = "tests"
SUFFIXES = {".css", ".ipynb", ".j2", ".js", ".md", ".py", ".sh", ".sql", ".toml", ".yaml", ".yml"}
OTHERS_TEXTS = ("data/samples/runs/", "tests/golden/", "tests/fuzz/corpus/")
"""Written by models and other tools."""

ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
CITED = re.compile(
    r"[DPS](?:(?<=\bD)-[A-Z]\d{1,2}|(?<=\bP)-A?\d{1,2}b?|(?<=\bS)\d{1,2})\b"  # quick: a set first
)
LETTER_IS_MISSING = "a number without its letter in front (D-, P-, S)"
IS_ELSEWHERE = "a text outside the repository"
WRONG = {
    re.compile(r"ecisions? [A-Z]\d"): LETTER_IS_MISSING,
    re.compile(r"\([A-I]\d{1,2}(?:, [A-I]\d{1,2})*\)"): LETTER_IS_MISSING,
    re.compile(r"udgets? A?\d{1,2}\b(?! [a-z])"): LETTER_IS_MISSING,
    re.compile(r"tatistics S\d"): LETTER_IS_MISSING,
    re.compile(r"spec/(?<![\w/.-]spec/)"): IS_ELSEWHERE,
    re.compile(r"shared/(?<![\w/.-]shared/)"): IS_ELSEWHERE,
    re.compile(r"ssues? #?\d"): IS_ELSEWHERE,
    re.compile(r"\(#\d+\)"): IS_ELSEWHERE,
    re.compile(r"the document's (?!root\b)"): IS_ELSEWHERE,
}
"""As references were written before: `A7` was a decision and a budget."""

LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@cache
def texts():
    """Return every text of ours, by its path in the repository; this file is about bad ones."""
    paths = [path for path in ROOT.iterdir() if path.is_file() and path.name != "CHANGELOG.md"]
    for name in (*FOLDERS, TESTS):
        paths += (ROOT / name).rglob("*")
    found = {}
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        is_text = path.suffix in SUFFIXES or path.name == "Makefile"
        if is_text and path != Path(__file__) and not name.startswith(OTHERS_TEXTS):
            found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def anchors():
    """Return the numbers that have a passage, as they are cited."""
    known = set()
    for beginning, page in PAGES.items():
        names = {name.upper() for name in ANCHOR.findall(page.read_text(encoding="utf-8"))}
        names = {re.sub(r"(?<=\d)B$", "b", name) for name in names}
        known |= {name for name in names if CITED.fullmatch(name) and name.startswith(beginning)}
    return known


def problems(name, text, known):
    """Yield what of a text leads nowhere."""
    for pattern, what in WRONG.items():
        for match in pattern.finditer(text):
            yield f"{name}: `{match[0]}` is {what}"
    for number in sorted(set(CITED.findall(text)) - known):
        yield f"{name}: `{number}` has no anchor in docs/dev or docs/statistics.md"


def slug(heading):
    """Return the anchor that a heading gets where the pages are shown."""
    plain = re.sub(r"<[^>]+>|`|\*\*", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading))
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@cache
def targets(page):
    """Return what a link into a page may name."""
    text = page.read_text(encoding="utf-8")
    headings = HEADING.findall(FENCED.sub("", text))
    return {*ANCHOR.findall(text), *map(slug, headings)}


def test_every_number_leads_to_a_passage_of_our_own_pages():
    found = [line for name, text in texts().items() for line in problems(name, text, anchors())]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("as decision A7 says", "a number without"),
        ("(A5, A6)", "a number without"),
        ("(H4)", "a number without"),
        ("Budget 8: start-up", "a number without"),
        ("by statistics S9", "a number without"),
        ("see D-Z9", "no anchor"),
        ("P-A99 is kept", "no anchor"),
        ("the test of S99", "no anchor"),
        ("spec/decisions.md", "outside the repository"),
        ("as issue 9 asks", "outside the repository"),
        ("the document's fields", "outside the repository"),
    ],
)
def test_what_leads_nowhere_is_found(text, what):
    (problem,) = problems("x.py", text, anchors())

    assert what in problem


def test_what_leads_somewhere_is_not():
    text = "D-A7 and P-A7 differ (D-H5, S9); the document's root, a budget of 8, GPT-4"

    assert list(problems("x.py", text, anchors())) == []


def test_each_page_has_its_numbers():
    numbers = anchors()

    assert {"D-A1", "D-H5", "D-I2", "P-1", "P-A12", "P-A8b", "S1", "S26"} <= numbers
    for page in PAGES.values():
        ids = ANCHOR.findall(page.read_text(encoding="utf-8"))
        assert len(ids) == len(set(ids)), f"an anchor of {page.name} stands twice"


def test_every_fragment_of_a_link_is_an_anchor_of_its_page():
    missing = [
        f"{name}: {page}#{fragment}"
        for name, text in texts().items()
        if name.endswith(".md")
        for page, fragment in LINK.findall(text)
        if fragment not in targets(((ROOT / name).parent / page if page else ROOT / name).resolve())
    ]

    assert not missing, "\n".join(missing)


def test_every_page_is_in_the_list_of_pages():
    index = ROOT / "docs" / "index.md"
    listed = {
        (index.parent / page).resolve()
        for page in re.findall(r"\]\(([^)#:\s]+\.md)", index.read_text(encoding="utf-8"))
    }

    assert {*(ROOT / "docs").rglob("*.md")} - {index} == listed - {ROOT / "CONTRIBUTING.md"}
