"""What tests of every part share: a project on disk and a scripted endpoint."""

import atexit
import gc
import importlib.util
import os
import shutil
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from collect.config.endpoints import PROVIDERS
from collect.local.weights import find_weights
from tests.support import endpoint as endpoint_module
from tests.support.endpoint import Endpoint
from tests.support.project import Project

MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3

LONGEST = (
    "end_to_end/test_walks",
    "analyze/share/test_share_server",
    "analyze/views/test_spark",
    "analyze/spark/test_spark_sql",
    "analyze/share/test_share",
    "analyze/share/test_compaction",
    "analyze/site/test_site_command",
    "collect/dispatch/test_ray",
    "collect/stored/test_killed_judging",
    "architecture/test_absence",
    "analyze/importers/test_real_lm_eval",
    "analyze/importers/inspect/test_beside_inspect",
    "analyze/exporters/test_inspect_export",
    "end_to_end/test_real_model",
    "collect/run_folder/test_resume",
    "collect/providers/test_claude_code",
    "schemas/lake/test_compact",
    "collect/execute/test_run",
    "collect/execute/test_mirror_child",
    "collect/execute/test_collect_cli",
    "collect/stored/test_collect_check",
    "collect/execute/test_security_policy",
    "collect/console/test_report_after_run",
    "end_to_end/test_crash",
    "end_to_end/test_keys",
    "end_to_end/test_gate_in_a_pipeline",
    "end_to_end/test_token_sums",
    "collect/config/test_hostile",
    "end_to_end/test_together",
    "end_to_end/test_faults",
    "end_to_end/test_lake_writers",
    "end_to_end/test_swebench",
    "end_to_end/test_wheel",
    "end_to_end/test_notebooks",
    "browser/test_report_hostile",
    "browser/test_report_script",
    "browser/test_report_access",
    "analyze/commands/test_one_value",
    "analyze/report/test_report_command",
    "analyze/report/test_caveats",
    "analyze/charts/test_charts",
    "analyze/report/test_report_trials",
    "analyze/gate/test_gate_command",
    "analyze/regressions/test_injected",
    "analyze/gate/test_gate_memory",
    "analyze/lake/test_sync",
    "analyze/importers/test_imported_values",
    "analyze/aliases/test_aliases",
    "analyze/commands/test_shown_numbers",
    "analyze/report/test_report_marts",
    "analyze/regressions/test_regressions",
    "analyze/summary/test_summary_bytes",
    "analyze/api/test_api",
    "analyze/power/test_power_command",
    "analyze/comparison/test_compared_independently",
    "analyze/stats/test_simulated",
    "analyze/comparison/test_pairing",
    "collect/execute/test_interrupts",
    "collect/execute/test_run_trouble",
    "analyze/comparison/test_nights_apart",
    "analyze/views/test_exactness",
    "analyze/commands/test_rate_intervals",
    "analyze/commands/test_one_number",
)
"""Files that take 10 s of a core or more: begun last, the other workers would wait for one."""


def pytest_configure(config):
    """Keep folders of tests in memory where there is room, and start files in our own order.

    Nothing here turns off the power, so a disk that is really waited for shows no test anything.
    Bytecode is kept even where PYTHONDONTWRITEBYTECODE forbids it, as images of containers like
    to: hundreds of processes begin here, and each would compile all that it imports.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and has_room():
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)
    config.option.loadscopereorder = False
    # How long an example takes on a busy machine says nothing of what it shows.
    settings.register_profile(
        "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("any machine")


def has_room():
    """Tell whether memory serves as a disk that holds what tests write and runs what they make."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return False
    may_run = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return may_run and shutil.disk_usage(MEMORY).free >= ROOM


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while thousands of tests come, nor among them later: they all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # or extensions say that they were leaked
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the longest files first; the others keep the order they were shuffled into."""
    order = {f"{name}.py": place for place, name in enumerate(LONGEST)}
    here = Path(__file__).parent
    items.sort(key=lambda item: order.get(item.path.relative_to(here).as_posix(), len(order)))


@pytest.fixture
def endpoint():
    """A scripted endpoint that answers `Hello there.` until told otherwise."""
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def free_port():
    """A port of this machine that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def answers():
    """What an endpoint may be scripted with: the functions of `tests.support.endpoint`."""
    return endpoint_module


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project with a suite `s` of one model and a run profile `p`."""
    for transport in map(PROVIDERS.__getitem__, PROVIDERS):
        for name in (transport.base_url_env, transport.api_key_env):
            if name is not None:
                monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


@pytest.fixture(scope="session")
def weights():
    """The embedded model; in CI it must be there, elsewhere its absence skips the tests."""
    path = find_weights()
    if path is None or importlib.util.find_spec("xllamacpp") is None:
        reason = "the embedded model is not installed: make weights"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return path


@pytest.fixture
def doctor(project, tmp_path, monkeypatch, capsys):
    """A doctor in a project with one case and a model nobody serves; PATH is empty."""
    from tests.support.doctor import Doctor

    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(project.root)
    project.case()
    return Doctor(project, folder, capsys)
