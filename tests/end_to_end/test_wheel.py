"""The built wheel, away from the sources: everything it needs is inside."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analyze.catalog import VIEWS

ROOT = Path(__file__).parents[2]


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
    starter = {
        f"collect/starter_project/{path.relative_to(ROOT)}"
        for path in (ROOT / "configs").rglob("*")
        if path.is_file()
    }
    assert starter <= names
    assert {"collect/py.typed", "analyze/py.typed", "schemas/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "configs/", "benchmarks/"))]


def test_installed_elsewhere_it_writes_and_plans_a_project(wheel, tmp_path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    environment = os.environ | {"PYTHONPATH": str(site)}

    def python(*arguments, cwd=tmp_path):
        return subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    where = python("-c", "import collect, analyze, schemas; print(collect.__file__)")
    assert where.stdout.startswith(str(site)), "the wheel is used, not the sources"
    made = python("-m", "collect", "init", "mine")
    assert made.returncode == 0, made.stderr
    plan = python(
        "-m", "collect", "plan", "--suite", "starter", "--run-profile", "demo",
        cwd=tmp_path / "mine",
    )  # fmt: skip
    assert plan.returncode == 0, plan.stderr
    assert "48 trials" in plan.stdout
    assert python("-m", "analyze", "--help").returncode == 0
