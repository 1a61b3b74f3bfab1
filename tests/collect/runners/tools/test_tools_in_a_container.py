"""A run whose commands are locked in by containers of podman."""

import json

import pytest

from tests.support import containers
from tests.support.kept_run import Kept, collect
from tests.support.tool_endpoint import ToolModel

pytestmark = pytest.mark.agents

SUITE = ("--suite", "s", "--run-profile", "p")


def test_tools_work_in_the_image_that_the_profile_names(project, endpoint):
    containers.needs("podman", "runc")
    image = containers.make_image("podman", "etc/of-the-image")
    endpoint.script = model = ToolModel(
        [("write_file", {"path": "a/b", "content": "1\n"})],
        [("exec_shell", {"command": "cat a/b; ls /etc; id -u; echo 2 >> a/b"})],
        [("read_file", {"path": "a/b"})],
    )
    tools = {"llm_probe": {"tools": ["exec_shell", "read_file", "write_file"]}}
    check = {"kind": "file_contains", "path": "a/b", "text": "1\n2\n"}
    project.case(
        input={"messages": [{"role": "user", "content": "x"}], "context": tools},
        deterministic_checks=[{"check_id": "c", "declarative": check}],
    )
    project.model(base_url=endpoint.base_url)
    project.profile(sandbox={"backend": "podman", "image": image})
    try:
        plan = collect(project.root, "plan", *SUITE)
        done = collect(project.root, "run", *SUITE, "--run-id", "r")
        missing = project.profile(sandbox={"backend": "podman", "image": "localhost/no-such:1"})
        refused = collect(project.root, "plan", *SUITE)
    finally:
        containers.remove_images("podman")

    assert f"in {image} holds here" in plan.stdout, plan.stderr
    assert done.returncode == 0, done.stderr
    kept = Kept(project.root / "runs" / "r")
    (row,) = kept.results()
    assert (row["passed"], row["tool_call_count"]) == (True, 2 + 1)
    printed = json.loads(model.results[1])["output"]["stdout"].split()
    assert printed[0] == "1"
    assert "of-the-image" in printed
    assert json.loads(model.results[2])["output"]["content"] == "1\n2\n"
    sandbox = json.loads((kept.dir / "config.json").read_text())["sandbox"]
    assert (sandbox["backend"], sandbox["image"]) == ("podman", image)
    assert "@sha256:" in sandbox["image_digest"]
    assert missing.exists()
    assert refused.returncode == 2
    assert "podman has no image localhost/no-such:1" in refused.stderr
    assert "podman pull localhost/no-such:1" in refused.stderr
    assert not containers.ours("podman")
