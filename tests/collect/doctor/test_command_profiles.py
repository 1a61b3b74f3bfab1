"""`collect doctor` says whether the program of an agent by configuration is where it will run."""

import sys

import pytest

from tests.collect.doctor.test_openclaw_profiles import CLIENT, PARTS, fails


@pytest.fixture
def look(doctor):
    """Looks at a project whose profile `p` runs an agent with this command."""

    def look(command, *, is_needed=True, parts=PARTS, **place):
        doctor.project.write("configs/agents/a/agent.yaml", {
            "schema_version": 1, "agent_id": "a", "title": "A",
            "command": {"argv": ["x"], "prompt": "stdin"} | command,
        })  # fmt: skip
        base = {"agent_id": "a", "timeout_seconds": 60} | (place or {"executable": "local"})
        doctor.project.profile(agent=base)
        doctor.command("podman", CLIENT.format(**parts))
        if is_needed:
            doctor.project.case("two", runner={"type": "command"})
        return doctor.look().one("containers", "p")

    return look


def test_a_command_of_the_system_is_found(look):
    check = look({"argv": ["sh", "x"]})

    assert check["state"] == "ok"
    assert check["found"].startswith("`sh` of agent `a` is /")


def test_a_command_that_is_elsewhere_names_its_folder(look, doctor):
    doctor.command("own-agent", "true")

    check = look({"argv": ["own-agent"]})

    assert (check["state"], "needed by two" in check["found"]) == ("fail", True)
    assert "name its folder in `agent.programs`" in check["advice"]


def test_programs_are_searched_and_have_to_be_there(look):
    python = sys.executable.rpartition("/")[2]
    place = {"executable": "local", "programs": [sys.prefix]}
    assert look({"argv": [python]}, **place)["state"] == "ok"

    gone = place | {"programs": ["/no/such"]}
    check = look({"argv": [python]}, is_needed=False, **gone)
    assert check["state"] in {"warn", "fail"}
    assert "`programs` names /no/such, and nothing is there" in check["found"]


def test_a_container_says_the_version(look):
    image = {"image": "localhost/a:1", "docker_cli": "podman"}
    check = look({"version": ["openclaw", "--version"]}, **image)

    assert check["state"] == "ok", check
    assert check["found"].startswith("OpenClaw 2026.5.28 (e932160), agent `a` answers in ")

    broken = PARTS | {"run": fails("sh: x: not found", 127)}
    check = look({"version": ["x", "-v"]}, parts=broken, **image)
    assert check["state"] == "fail"


def test_an_agent_of_openclaw_is_told_apart(doctor):
    doctor.project.write("configs/agents/a/agent.yaml",
                         {"schema_version": 1, "agent_id": "a", "title": "A"})  # fmt: skip
    doctor.project.write("configs/agents/a/workspace/SOUL.md", "x")
    doctor.project.profile(agent={"agent_id": "a", "timeout_seconds": 6, "executable": "local"})

    check = doctor.look().one("containers", "p")

    assert check["state"] == "warn"
    assert "is one of OpenClaw" in check["found"]
