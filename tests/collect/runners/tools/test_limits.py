"""Every limit of a run profile's sandbox acts, and the model is told which one it was."""

import json

import pytest

from tests.collect.runners.tools.test_tool_trials import make_log, offer  # noqa: F401 - a fixture
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = sandboxed

GROW = "x=0123456789abcdef; while :; do x=$x$x; done"
FORK = "for i in $(seq 40); do sleep 20 & done; echo begun; wait"
FILL = "for i in $(seq 40); do head -c 1000000 /dev/zero > f$i; done; sleep 20"
MANY = "i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; sleep 20"

LIMITS = {
    "command_seconds": (1, "sleep 30", "time", "took longer than 1 s"),
    "memory_mb": (50, GROW, None, None),
    "processes": (8, FORK, None, None),
    "workspace_mb": (5, FILL, "workspace", "more than 5 MB"),
    "workspace_files": (200, MANY, "workspace", "200 in number"),
    "output_mb": (1, "yes", "output", "printed more than 1 MB"),
}
"""A value, what exceeds it, what ended it and what is said; None: the kernel refused it more."""


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_profile_ends_what_exceeds_it(project, endpoint, make_log, limit):  # noqa: F811
    value, command, ended_by, said = LIMITS[limit]
    endpoint.script = model = ToolModel([("exec_shell", {"command": command})])
    offer(project, "exec_shell")
    project.profile(sandbox={"limits": {"command_seconds": 15} | {limit: value}})

    (row,) = make_log().results()

    assert row["success"]
    assert row["tool_ms"] < 12_000
    (told,) = map(json.loads, model.results)
    if ended_by is None:
        failed = told["status"] == "error" or told["output"]["returncode"] != 0
        assert failed or "begun" not in told["output"]["stdout"], told
    else:
        assert (told["status"], told["output"]["error_type"]) == ("error", ended_by)
        assert said in told["output"]["error"]


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
