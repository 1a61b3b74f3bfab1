"""Tests of what must not be there would see it: under a wrong name nothing is ever found."""

import pytest

from tests.support import processes
from tests.support.interpreter import run_without


def test_a_module_that_was_loaded_is_found():
    with pytest.raises(AssertionError, match="colorsys"):
        run_without("import colorsys", "colorsys", "wave")


def test_a_name_that_no_module_has_is_refused():
    with pytest.raises(AssertionError, match="no such module"):
        run_without("", "no_such_module")


@pytest.mark.peers
@pytest.mark.parametrize("name", ["analyze", "mirror"])
def test_a_mirror_that_is_started_by_another_name_than_is_looked_for_is_noticed(monkeypatch, name):
    """One name is of another module, the other of none."""
    monkeypatch.setattr(processes, "MIRROR_MODULE", name)
    with pytest.raises(AssertionError):
        processes.assert_mirrors_are_found.__wrapped__()


@pytest.mark.peers
def test_a_collector_that_is_started_by_another_name_is_noticed(monkeypatch):
    monkeypatch.setattr(processes, "COLLECTOR", "another")
    with pytest.raises(AssertionError):
        processes.assert_collectors_are_found.__wrapped__()


def test_a_server_that_is_started_from_another_file_is_noticed(monkeypatch):
    monkeypatch.setattr(processes, "SERVER_FILE", "another.py")
    with pytest.raises(AssertionError):
        processes.assert_servers_are_found.__wrapped__()


def test_processes_of_runs_are_found_where_they_are_at_work(tmp_path):
    processes.assert_mirrors_are_found()
    processes.assert_collectors_are_found()
    processes.assert_servers_are_found()
    assert processes.processes_of(tmp_path) == processes.servers_of(tmp_path) == []
