"""What of the interpreter a hook sees: itself and its packages, and no project, key or home."""

import os
import stat
import sys
import sysconfig
from pathlib import Path

import pytest

from collect.hooks.interpreter import NotImportable, Python
from tests.support.judged import court_of, public_folder
from tests.support.paths import ROOT

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


@pytest.fixture
def folder():
    with public_folder() as folder:
        yield folder


def test_the_running_one_needs_itself_and_its_packages():
    python = Python.running()

    assert python.executable == sys.executable
    assert sysconfig.get_path("purelib") in python.folders
    for place in (os.path.realpath(sys.executable), sysconfig.get_path("purelib"), os.__file__):
        assert any(Path(place).is_relative_to(one) for one in (*python.places, "/usr")), place
    assert all(here == inside for here, inside in python.binds)


def test_no_project_and_no_home_is_bound():
    places = [Path(place) for place in Python.running().places]

    for closed in (ROOT, Path.home(), Path("/"), Path("/tmp"), Path(sys.prefix)):
        assert not any(closed.is_relative_to(place) for place in places), closed


def test_no_place_lies_in_another_one(folder, monkeypatch):
    inner = folder / "lib" / "site-packages"
    inner.mkdir(parents=True)
    (folder / "bin").mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "path", [*sys.path, str(inner), str(folder), "/usr/x/site-packages"])

    python = Python.running()

    assert {str(folder / "lib"), str(folder / "bin")} <= set(python.places)
    assert not {str(inner), str(folder)} & set(python.places)
    assert str(inner) in python.folders
    assert str(folder) not in python.folders


def package(folder, name, **files):
    for place, text in {"__init__": "def judge(): return True\n", **files}.items():
        path = folder / name / f"{place}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_package_is_bound_alone_and_never_imported(folder, monkeypatch):
    package(folder, "alone_package", __init__="raise SystemExit('imported')")
    monkeypatch.syspath_prepend(folder)

    python = Python("python", (), ()).with_module("alone_package.checks")

    assert python.places == (str(folder / "alone_package"),)
    assert python.folders == (str(folder),)
    assert "alone_package" not in sys.modules


def test_a_package_that_is_there_already_is_not_bound_again():
    python = Python.running()

    assert python.with_module("pydantic.main").places == python.places
    assert python.with_module("json.decoder") is python
    assert python.with_module("sys") is python


@pytest.mark.parametrize("name", [".env", "benchlake.yaml"])
def test_a_package_with_a_private_file_is_refused(folder, monkeypatch, name):
    package(folder, "leaky_package")
    (folder / "leaky_package" / "deep").mkdir()
    (folder / "leaky_package" / "deep" / name).write_text("KEY=x")
    monkeypatch.syspath_prepend(folder)

    with pytest.raises(NotImportable, match=name) as caught:
        Python.running().with_module("leaky_package")

    assert caught.value.reason == "hook_import_failed"


@pytest.mark.parametrize("name", ["no_such_package", "__main__"])
def test_what_is_not_there_is_refused(name):
    with pytest.raises(NotImportable):
        Python.running().with_module(name)


@LINUX
def test_an_editable_package_is_imported_and_nothing_beside_it_seen(folder, monkeypatch):
    source = folder / "project"
    package(source, "editable_package", checks="from editable_package import judge\n")
    (source / "secret.txt").write_text("secret")
    (source / "editable_package" / "look.py").write_text(
        f"import os\ndef judge(): return os.listdir({str(source)!r}) == ['editable_package']\n"
    )
    monkeypatch.syspath_prepend(source)
    with court_of("root") as court:
        results = [
            court.judge(folder, None, import_path=f"editable_package.{name}")
            for name in ("checks", "look")
        ]

    assert [result.outcome for result in results] == ["passed", "passed"], results


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_closed_folder_is_named(folder):
    open_python = Python("/bin/sh", (str(folder),), ())
    assert open_python.closed_folder() is None
    (folder / "closed" / "bin").mkdir(parents=True)
    (folder / "closed").chmod(0o700)

    python = Python("/bin/sh", (str(folder / "closed" / "bin"),), ())

    assert python.closed_folder() == folder / "closed"
    assert stat.S_IMODE((folder / "closed").stat().st_mode) == 0o700


@LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_package_that_nobody_can_read_is_said_to_be_so(folder, monkeypatch):
    package(folder / "closed", "closed_package")
    (folder / "closed").chmod(0o700)
    monkeypatch.syspath_prepend(folder / "closed")
    with court_of("root") as court:
        result = court.judge(folder, None, import_path="closed_package")

    assert (result.outcome, result.reason) == ("error", "hook_import_failed")
    assert f"{folder / 'closed'} is closed to `nobody`" in result.message
