"""Every notebook in a real kernel: from their own folder, the repository's, and people's own."""

import json
import re
import runpy
import shutil
import subprocess
import sys

import nbformat
import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.docs

made_docs = runpy.run_path(str(ROOT / "docs" / "make.py"))
FOLDER = ROOT / "notebooks"
SAMPLES = ROOT / "data" / "samples"
JUDGED = ROOT / "data" / "judged"
NAMES = ("believing_judges", "first_look", "regression_hunt")
N_RUNS = {"believing_judges": 1, "first_look": 12, "regression_hunt": 12}
CHARTS = {
    "believing_judges": ["noise"],
    "first_look": ["leaderboard", "matrix", "latency", "frontier"],
    "regression_hunt": ["history", "compared", "failures"],
}
"""Cells that end in a chart."""

MOST_CELLS = 15
ABSOLUTE = re.compile(r"""["'](?:/|~|[A-Za-z]:\\)|/(?:home|root|tmp|Users|work)/""")
PLACE = re.compile(r"/(?:home|root|tmp|Users|work)/")
MARK = re.compile(r'aria-roledescription="(?:bar|circle|line mark|point|rect|rule|square)')


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Execute a notebook as a Jupyter does that was started in a folder; nothing of it is ours."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "PYTHONPATH", "PYTHONSAFEPATH"):
        monkeypatch.delenv(name, raising=False)
    target = tmp_path / "executed.ipynb"

    def run(name, folder):
        done = made_docs["executed"](FOLDER / f"{name}.ipynb", folder, target)
        return done, nbformat.read(target, as_version=nbformat.NO_CONVERT)

    return run


def outputs(notebook, kind):
    return {
        cell.id: [output for output in cell.outputs if output.output_type == kind]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def files_below(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def own_folder(tmp_path_factory):
    """The samples in a project whose own files are named as our packages are."""
    project = tmp_path_factory.mktemp("mine")
    for folder in (SAMPLES, JUDGED):
        target = project / "data" / folder.name
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("lake"))
    for name in ("schemas", "collect", "analyze"):
        (project / name).mkdir()
        (project / name / "orders.py").write_text("raise SystemExit('not this one')\n")
    return project


def test_every_notebook_is_tested():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NAMES)
    suffixes = {path.suffix for path in FOLDER.iterdir() if path.is_file()}
    assert suffixes == {".ipynb"}


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_short_and_with_its_outputs(name):
    notebook = read(name)
    nbformat.validate(notebook)

    assert len(notebook.cells) <= MOST_CELLS
    for cell in notebook.cells:
        assert cell.metadata == {}
        assert not ABSOLUTE.search(cell.source)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not PLACE.search(json.dumps([cell.outputs for cell in code]))
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info == {"name": "python"}
    ids = [cell.id for cell in notebook.cells]
    assert all(re.fullmatch(r"[a-z-]+", one) for one in ids)
    assert len(set(ids)) == len(ids)


FIRST_AND_LAST = """
import os
import sys
import nbformat
for notebook, folder, n_runs in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    os.chdir(folder)
    cells = nbformat.read(notebook, as_version=nbformat.NO_CONVERT).cells
    first, *_, last = [cell.source for cell in cells if cell.cell_type == "code"]
    names = {}
    exec(first, names)
    assert names["history"].runs.collect().height == int(n_runs)
    exec(last, names)
"""
"""What of a notebook depends on the folder it is started in; all of them in one process."""


def test_the_samples_are_found_from_the_repository_and_from_the_notebooks_own_folder():
    places = zip(NAMES, (ROOT, FOLDER, ROOT), strict=True)
    words = [
        str(word)
        for name, folder in places
        for word in (FOLDER / f"{name}.ipynb", folder, N_RUNS[name])
    ]
    command = [sys.executable, "-P", "-W", "error", "-c", FIRST_AND_LAST, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_every_chart_shows_something(name, own_folder, execute):
    before = files_below(own_folder)

    done, notebook = execute(name, own_folder)

    assert done.returncode == 0, done.stderr[-3000:]
    said = outputs(notebook, "stream").values()
    assert not [text for texts in said for text in texts if text.name == "stderr"]
    shown = outputs(notebook, "execute_result")
    pictures = {cell: picture for cell, results in shown.items() for picture in svgs(results)}
    assert list(pictures) == CHARTS[name]
    for cell, picture in pictures.items():
        assert MARK.search(picture), f"{cell} is empty"
        assert any(name in picture for name in ("careful", "playful", "small"))
    assert "12 runs" in json.dumps(shown["open"]) or name != "first_look"
    assert files_below(own_folder) == before
    again = "python docs/make.py notebooks"
    assert texts_in(notebook) == texts_in(read(name)), f"outputs are of before: {again}"


def texts_in(notebook):
    """Return what the cells show, of pictures the words and numbers in them."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            shown = output.get("data", {"text/plain": output.get("text")})
            texts += [
                re.findall(r">([^<]+)</text>", text) if kind == "image/svg+xml" else text
                for kind, text in sorted(shown.items())
            ]
    return texts


def svgs(results):
    """Return the pictures among what a cell showed."""
    return [one.data["image/svg+xml"] for one in results if "image/svg+xml" in one.data]


def test_a_package_of_their_own_under_our_name_hides_ours_and_says_so(
    own_folder, tmp_path, execute
):
    project = tmp_path / "mine"
    shutil.copytree(own_folder, project)
    (project / "schemas" / "__init__.py").touch()

    done, notebook = execute("first_look", project)

    assert done.returncode == 1
    assert re.search(r"No module named 'schemas\.\w+'", json.dumps(outputs(notebook, "error")))
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert "No module named 'schemas." in page
