"""Every limit of a run profile's sandbox acts, and the model is told which one it was."""

import json

import pytest

from tests.collect.runners.tools.test_tool_trials import make_log, offer, run  # noqa: F401 - a fixture
from tests.support.forked_mirror import no_mirrors
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = [pytest.mark.agents, sandboxed]

FILL = "for i in $(seq 40); do head -c 1000000 /dev/zero > f$i; done; sleep 20"
MANY = "i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; sleep 20"

LIMITS = {
    "command_seconds": (1, "sleep 30", "time", "took longer than 1 s"),
    "workspace_mb": (5, FILL, "workspace", "more than 5 MB"),
    "workspace_files": (200, MANY, "workspace", "200 in number"),
    "output_mb": (1, "yes", "output", "printed more than 1 MB"),
}
"""A value, what exceeds it, what ended it and what is said."""

HOLD = "head -c 150000000 /dev/zero | tail -c 150000000 | wc -c"
FORK = "for i in $(seq 40); do sleep 2 & done; wait; echo 40 lived"

REFUSED = {"memory_mb": (50, HOLD, "150000000"), "processes": (8, FORK, "40 lived")}
"""A value, and what prints the words only where it may exceed it: helper or kernel come first."""


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_profile_ends_what_exceeds_it(project, endpoint, make_log, limit):  # noqa: F811
    value, command, ended_by, said = LIMITS[limit]
    endpoint.script = model = ToolModel([("exec_shell", {"command": command})])
    offer(project, "exec_shell")
    project.profile(sandbox={"limits": {"command_seconds": 15} | {limit: value}})

    (row,) = make_log().results()

    assert row["success"]
    assert row["tool_ms"] < 12_000
    (message,) = map(json.loads, model.results)
    assert (message["status"], message["output"]["error_type"]) == ("error", ended_by)
    assert said in message["output"]["error"]


@pytest.mark.parametrize("limit", REFUSED)
def test_a_limit_that_the_kernel_knows_too_is_held_and_only_where_it_is_set(
    project, endpoint, tmp_path, monkeypatch, limit
):
    value, command, printed = REFUSED[limit]
    offer(project, "exec_shell")
    messages = []
    for limits in ({}, {limit: value}):
        endpoint.script = model = ToolModel([("exec_shell", {"command": command})])
        project.profile(sandbox={"limits": {"command_seconds": 15} | limits})
        run(project, endpoint, tmp_path / str(len(messages)), monkeypatch, no_mirrors)
        messages += map(json.loads, model.results)

    free, limited = messages
    assert free["output"]["stdout"].strip() == printed
    assert limited["output"].get("stdout", "").strip() != printed


def test_one_file_and_the_processor_are_limited_by_the_kernel(project, endpoint, make_log):  # noqa: F811
    endpoint.script = model = ToolModel(
        [("exec_shell", {"command": "head -c 5000000 /dev/zero > big; stat -c %s big"})],
        [("exec_shell", {"command": "while :; do :; done"})],
    )
    offer(project, "exec_shell")
    project.profile(sandbox={"limits": {"command_seconds": 15, "file_mb": 2, "cpu_seconds": 1}})

    (row,) = make_log().results()

    assert row["tool_ms"] < 12_000
    large, busy = (json.loads(result)["output"] for result in model.results)
    assert int(large["stdout"]) <= 2_000_000
    assert busy["returncode"] != 0
