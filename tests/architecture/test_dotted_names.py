"""Every module and file of ours that a text names is there: what moves is renamed everywhere.

A name in a string is met by no import: a module that is started by its name, forbidden in an import
contract, preloaded by a benchmark, patched or looked for by a test, or only mentioned in a comment.
Files are read as text, so that it does not matter where in them a name stands, and names are looked
up on the disk: nothing is imported.
"""

import ast
import itertools
import re
import tomllib
from functools import cache

import pytest

from tests.support.paths import ROOT, TESTS, as_glob

HEADS = ("collect", "analyze", "schemas", "tests", "benchmarks")
FOLDERS = (*HEADS, "docs", "notebooks", ".ci")
SUFFIXES = {
    ".py",
    ".md",
    ".ipynb",
    ".sql",
    ".toml",
    ".yaml",
    ".html",
    ".j2",
    ".js",
    ".css",
    ".sh",
    "",
}
LEFT_OUT = (
    "CHANGELOG.md",  # tells what was
    "docs/sample-report.html",  # made by a program, and most of it is the library of the charts
    "tests/fuzz/corpus/",  # thrown at what reads the bytes of others
    "tests/golden/claude_code_cli/",  # recorded, as the next are
    "tests/golden/openai_",
    "tests/golden/openrouter/",
    "tests/golden/swebench/",
    "tests/architecture/test_dotted_names.py",  # makes up names
)

DOTTED = re.compile(rf"(?<![\w./\\@-])({'|'.join(HEADS)})((?:\.[A-Za-z_]\w*)+)")
IMPORTED = re.compile(rf"\bfrom ((?:{'|'.join(HEADS)})\b[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))")
OF_TESTS = ("browser", "end_to_end", "hostile", "golden", "fuzz", "architecture", "support")
"""Folders of tests that are also written without `tests/`."""

PATH = re.compile(
    rf"(?<![\w./\\~@*-])((?:{'|'.join(map(re.escape, (*FOLDERS, *OF_TESTS)))})/"
    r"(?:[\w./*-]|\{[^}\n]*\}|<\w+>)*(?<![.]))"
)

TO_BE_MADE = re.compile(r"\*\*([\w/]+)\.py\*\*")
"""In bold, as pages name the files of a recipe that the reader is to make."""

DEFINED_BY_A_DIFF = re.compile(r"^\+(?:class|def) (\w+)", re.MULTILINE)
"""What a diff of such a page adds to a module that is there."""

FILE_ENDS = {"py", "md"}
"""Of a file beside the page that names it: `benchmarks.md`."""

METHODS = {name for kind in (dict, list) for name in dir(kind)}
"""Of a variable that is called as a package is: `tests.items()` of a dictionary."""


def test_dotted_names_are_modules_or_what_these_define():
    found = {(file, name) for file, text in texts() for name in dotted_in(text)}

    assert len(found) > 2_000, "they were looked for"
    assert sorted((file, name) for file, name in found if not is_defined(name)) == []


def test_names_that_are_imported_anywhere_are_defined():
    found = {(file, name) for file, text in texts() for name in imported_in(text)}

    assert len(found) > 2_000, "they were looked for"
    assert sorted((file, name) for file, name in found if not is_defined(name)) == []


def test_paths_are_those_of_files_that_are_there():
    found = {(file, path) for file, text in texts() for path in PATH.findall(text)}

    assert len(found) > 200, "they were looked for"
    assert sorted((file, path) for file, path in found if not is_there(path)) == []


def test_layers_of_import_contracts_are_modules():
    """One in parentheses may be missing, and is then missed by nobody."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = [
        f"{container}.{layer}"
        for contract in project["tool"]["importlinter"]["contracts"]
        for container in contract.get("containers", [])
        for line in contract["layers"]
        for layer in re.findall(r"\w+", line)
    ]

    assert "collect.cli" in names
    assert [name for name in names if not is_defined(name)] == []


def test_rooms_of_mutants_name_files_that_are_there(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from mutant_rooms import ROOMS

    patterns = [pattern for room in ROOMS for pattern in (*room.files, *room.tests)]
    assert [pattern for pattern in patterns if not is_there(pattern)] == []


def test_more_than_python_is_read():
    read = {"Makefile", "pyproject.toml", ".ci/run", "docs/lake.md", "notebooks/first_look.ipynb"}
    assert read <= dict(texts()).keys()


@pytest.mark.parametrize(
    "text",
    [
        '"-m", "collect.no_mirror"',
        'patch("collect.execute.mirror_process.NO_CONSTANT", 1)',
        "import x\\nanalyze.no_such.Module",
        "see `schemas.nothing`.",
        "analyze.views",
        "collect.no_module -> analyze.cli",
    ],
)
def test_a_made_up_name_is_found(text):
    assert [name for name in dotted_in(text) if not is_defined(name)] != []


@pytest.mark.parametrize(
    "text",
    [
        "from analyze import no_module",
        '"from collect.execute.mirror_process import MIRROR_MODULE as one, NO_CONSTANT\\nmain()"',
        "from schemas.errors import (\n    BenchError,\n    NoSuchError,\n)",
        "from tests.no_file import call",
    ],
)
def test_an_import_of_what_is_not_there_is_found(text):
    assert [name for name in imported_in(text) if not is_defined(name)] != []


@pytest.mark.parametrize(
    "path",
    [
        "analyze/views/marts/no_view.sql",
        "schemas/json/{name}.no_schema.json",
        "tests/no_folder/*.py",
        "collect/test_no_such_test",
        "end_to_end/test_no_such_test",
        "docs/no-page.md",
    ],
)
def test_a_made_up_path_is_found(path):
    assert PATH.findall(f'"{path}"') == [path]
    assert not is_there(path)


# ---- what is looked through


@cache
def texts():
    """Return each file of ours, by its path, as text; an escaped line break is one."""
    found = {}
    for path in itertools.chain(
        files_in(ROOT),
        (ROOT / "data").rglob("*.py"),
        *(files_in(ROOT / name, "**/") for name in FOLDERS),
    ):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in SUFFIXES and not name.startswith(LEFT_OUT):
            found[name] = path.read_text(encoding="utf-8", errors="replace")
            found[name] = found[name].replace("\\n", "\n")
    return found.items()


def files_in(folder, below=""):
    return (path for path in folder.glob(f"{below}*") if path.is_file() and not path.is_symlink())


def dotted_in(text):
    """Yield the dotted names that begin with a package of ours; a file's name is none."""
    new = made_in(text)
    for head, rest in DOTTED.findall(text.replace("\\n", "\n")):
        parts = rest.split(".")[1:]
        if parts[-1] in FILE_ENDS or (len(parts) == 1 and parts[0] in METHODS):
            continue
        if not f"{head}{rest}.".startswith(new):
            yield f"{head}{rest}"


def made_in(text):
    """Return the modules that a recipe makes, each with a dot behind it."""
    return tuple(f"{path.replace('/', '.')}." for path in TO_BE_MADE.findall(text))


def imported_in(text):
    """Yield the full name of each thing that a `from … import …` takes."""
    new, added = made_in(text), set(DEFINED_BY_A_DIFF.findall(text))
    for module, several, one in IMPORTED.findall(text.replace("\\n", "\n")):
        if f"{module}.".startswith(new):
            continue
        for name in (several or one).split(","):
            words = name.split("#")[0].split()
            if words and words[0] not in added:
                yield f"{module}.{words[0]}"


# ---- what is there


@cache
def is_defined(name):
    """Tell whether a dotted name is a module's, or begins with one that defines what comes next."""
    place, parts = ROOT, name.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if not parts:
        return has_modules(place)
    if (module := place / f"{parts[0]}.py").is_file():
        return len(parts) == 1 or is_in(module, parts[1])
    return (place / "__init__.py").is_file() and is_in(place / "__init__.py", parts[0])


def has_modules(folder):
    return any(folder.glob("*.py"))


def is_in(module, name):
    return name in names_of(module) or (name.startswith("__") and name.endswith("__"))


@cache
def names_of(module):
    """Return what a file defines or imports at its top level."""
    found = set()
    todo = [ast.parse(module.read_text(encoding="utf-8"))]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name):
                    found.add(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found |= {one.asname or one.name.partition(".")[0] for one in names}
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.stmt() | ast.ExceptHandler() | ast.Tuple() | ast.match_case():
                    todo.append(node)
    return found


@cache
def is_there(path):
    """Tell whether a path, or one of its pattern, is there: from the root, or of a test."""
    pattern = as_glob(path).rstrip("/")
    ends = ("",) if pattern.endswith("*") else ("", ".py")
    if pattern.endswith(("_", "-")):  # the beginning of names
        ends = ("*",)
    return any(
        next(folder.glob(f"{pattern}{end}"), None) is not None
        for folder in (ROOT, TESTS)
        for end in ends
    )
