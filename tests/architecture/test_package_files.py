"""Files of the packages are found wherever these are installed, and wherever a module moves.

A path that counts folders from its module's own file points elsewhere once the module has moved.
"""

import re

import pytest

from tests.support.paths import ROOT, as_glob

PACKAGES = ("collect", "analyze", "schemas")
OWN_FOLDER = re.compile(r"\b__file__\b\)?(?:\.resolve\(\))?\.parent\b")
ABOVE = re.compile(r"\b__file__\b\)?(?:\.resolve\(\))?\.parents\b")
RESOURCE = re.compile(r'\bfiles\("([\w.]+)"\)((?: / f?"[^"\n]+"|\.joinpath\("[^"\n]+"\))*)')
SIBLING = re.compile(r'\bPath\(__file__\)\.with_name\("([\w.]+)"\)')


def modules(*folders):
    """Yield each module's path and text."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")


def test_no_module_of_a_package_counts_folders():
    found = [path for path, text in modules(*PACKAGES) for _ in counted(text)]
    assert found == []


def test_one_file_of_the_tests_counts_the_folders_above_it():
    found = [path for path, text in modules("tests") for _ in ABOVE.findall(text)]
    assert found == [ROOT / "tests/support/paths.py"]


@pytest.mark.parametrize("path", ["{}.parent", "{}.resolve().parent", "{}.parents"])
def test_a_path_that_counts_folders_is_found(path):
    assert [*counted(f"HERE = Path({path})".format("__file__)"))] != []


def counted(text):
    for pattern in (OWN_FOLDER, ABOVE):
        yield from pattern.findall(text)


def test_files_that_a_module_reads_are_there():
    patterns = set()
    for path, text in modules(*PACKAGES):
        for package, below in RESOURCE.findall(text):
            patterns.add("/".join((*package.split("."), *re.findall(r'"([^"]+)"', below))))
        for name in SIBLING.findall(text):
            patterns.add(path.with_name(name).relative_to(ROOT).as_posix())

    assert {"schemas/json/lake.json", "schemas/defaults/prices.yaml"} <= patterns, "they are found"
    assert [one for one in patterns if not any(ROOT.glob(as_glob(one)))] == []
