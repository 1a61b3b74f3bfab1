"""The built wheel, away from the sources: everything it needs is inside."""

import subprocess
import sys
import sysconfig
import zipfile

import pytest

from analyze.query.catalog import VIEWS
from tests.support.paths import ROOT

pytestmark = pytest.mark.peers


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """Build the wheel from the sources, without a network."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), ROOT],
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_holds_views_schemas_and_the_starter_project(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())

    assert {f"analyze/views/{view}.sql" for view in VIEWS} <= names
    assert {f"schemas/json/{path.name}" for path in (ROOT / "schemas" / "json").iterdir()} <= names
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("collect", "analyze", "schemas")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert {"schemas/defaults/prices.yaml", "analyze/report/html/style.css"} <= sources <= names
    starter = {
        f"collect/starter_project/{path.relative_to(ROOT)}"
        for path in (ROOT / "configs").rglob("*")
        if path.is_file()
    }
    assert starter <= names
    assert {"collect/py.typed", "analyze/py.typed", "schemas/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "configs/", "benchmarks/"))]


@pytest.fixture(scope="session")
def elsewhere(wheel, tmp_path_factory):
    """An environment of its own with the wheel installed by pip, and the dependencies we have."""
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    # Only a path: the editable install of the sources beside the dependencies is not followed.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed"]
    subprocess.run([python, *install, wheel], check=True)
    return folder / "env" / "bin"


def test_installed_elsewhere_it_writes_and_plans_a_project(elsewhere, tmp_path):
    def command(name, *arguments, cwd=tmp_path):
        return subprocess.run(
            [elsewhere / name, *arguments], cwd=cwd, capture_output=True, text=True, check=False
        )

    where = command("python", "-P", "-c", "import collect; print(collect.__file__)").stdout
    assert where.startswith(str(elsewhere.parent)), "the wheel is used, not the sources"
    made = command("collect", "init", "mine")
    assert made.returncode == 0, made.stderr
    plan = command(
        "collect", "plan", "--suite", "starter", "--run-profile", "demo", cwd=tmp_path / "mine"
    )
    assert plan.returncode == 0, plan.stderr
    assert "48 trials" in plan.stdout
    assert command("collect", "schema", "case").stdout.startswith("{")
    assert command("analyze", "--help").returncode == 0
