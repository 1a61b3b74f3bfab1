"""Names are nouns of the field: none of them is a word that only a sentence gives a meaning.

`told` may hold findings, a line or a document; a reader learns which only by reading on. Names of
tests are sentences, so they may have such words.
"""

import ast
import re

import pytest

from tests.support.paths import ROOT

FOLDERS = ("analyze", "benchmarks", "collect", "docs", "schemas", "tests")
WORDS = frozenset({"beside", "told", "which", "whom", "whose"})

PUBLISHED = {
    ("benchmarks/judges.py", "p99_beside_ms"): "a figure of its --json",
    ("collect/run_folder/restore.py", "kept_beside"): "a field of `collect restore --json`",
}
"""Names that others read in what is printed, and where they do."""

PROSE = re.compile(
    r"""#[^\n]*|\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
"""Comments and texts, where such words may stand; what is left is quicker to look through."""

WORD = re.compile("|".join(WORDS), re.IGNORECASE)

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(name):
    return HUMP.sub("_", name).lower().split("_")


def given(node):
    """Yield the names that a node of a syntax tree gives to something."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if not name.startswith("test_"):
                yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.alias(asname=name) | ast.ExceptHandler(name=name) if name:
            yield name
        case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
            if name:
                yield name


def found_in(text):
    """Yield line and name of each name with a word that none may have."""
    if WORD.search(PROSE.sub("", text)) is None:
        return
    for node in ast.walk(ast.parse(text)):
        for name in given(node):
            if WORDS.intersection(words_of(name)):
                yield node.lineno, name


def found():
    """Yield file, line and name of each such name in the repository."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, name in found_in(path.read_text(encoding="utf-8")):
                yield path.relative_to(ROOT).as_posix(), line, name


def test_names_are_nouns():
    names = list(found())

    wrong = [
        f"{path}:{line}: `{name}` is a word of a sentence: name what the thing is"
        for path, line, name in names
        if (path, name) not in PUBLISHED
    ]
    assert not wrong, "\n".join(wrong)
    assert {(path, name) for path, _, name in names} == set(PUBLISHED), "one is there no more"


@pytest.mark.parametrize(
    "text",
    [
        "told = 1",
        "is_told: bool",
        "(a, *beside) = b",
        "self._told = 1",
        "for which in a: pass",
        "[0 for whose in a]",
        "if (told := a): pass",
        "def f(*beside): pass",
        "lambda *, told=1: 0",
        "def told_of(): pass",
        "async def _beside(): pass",
        "class KeptBeside: pass",
        "BESIDE = 1",
        "import a as told",
        "with a as told: pass",
        "try: pass\nexcept A as whom: pass",
        "match a:\n case [told, *_]: pass",
        "match a:\n case {'b': 1, **beside}: pass",
    ],
)
def test_such_a_name_is_found(text):
    assert len(list(found_in(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "findings = 1",
        "untold = 1",
        "def test_a_line_is_told(): pass",
        "a = shutil.which('git')",
        "a = {'told': 'which'}",
        "from a import told",
        "match a:\n case {'b': _}: pass",
    ],
)
def test_other_names_and_those_of_others_are_not(text):
    assert list(found_in(text)) == []
