"""`collect doctor` tries the containers that run profiles want, and says why one does not start.

Errors are those that the clients print, and the fake ones print them where the real ones do.
"""

import os

import pytest

from collect.sandbox import engine_trouble
from tests.support import containers

IMAGE = "localhost/openclaw:2026.5.28"
BUILD = "python -m collect.runners.openclaw.image 2026.5.28"
SYSTEM_PATH = os.environ["PATH"]

CLIENT = """case "$*" in
*"image inspect"*) {inspect} ;;
*" run "*) {run} ;;
*info*) {info} ;;
esac"""
PARTS = {
    "info": "echo '4.3.1 runc [memory pids]'",
    "inspect": "echo 88a8123b7a45 localhost/openclaw@sha256:91f6",
    "run": "echo 'OpenClaw 2026.5.28 (e932160)'",
}


def fails(text, code=125):
    return f"""echo "{text}" >&2; exit {code}"""


@pytest.fixture
def look(doctor, tmp_path, monkeypatch):
    """Looks at a project whose profile `p` names an image, with a client that does this."""
    monkeypatch.setattr(engine_trouble, "SYSCTL", tmp_path / "sys")
    monkeypatch.setattr(engine_trouble, "HYBRID_CONTROLLERS", tmp_path / "controllers")

    def look(client="podman", *, image=IMAGE, docker_cli=None, is_needed=False, **parts):
        block = {"agent_id": "a", "image": image, "timeout_seconds": 60}
        doctor.project.profile(openclaw=block | {"docker_cli": docker_cli or client})
        doctor.command(client, CLIENT.format(**PARTS | parts))
        if is_needed:
            doctor.project.case("two", runner={"type": "openclaw"})
        return doctor.look().one("containers", "p")

    return look


def test_a_container_that_says_its_version_is_told_with_its_digest(look):
    check = look()

    assert check["state"] == "ok"
    assert check["found"].startswith("openclaw 2026.5.28 answers in ")
    assert check["found"].endswith("container of podman 4.3.1: localhost/openclaw@sha256:91f6")
    details = check["details"]
    assert isinstance(details.pop("wall_ms"), int)
    assert details == {
        "client": "podman", "image": IMAGE, "engine": "4.3.1", "version": "2026.5.28",
        "digest": "localhost/openclaw@sha256:91f6",
    }  # fmt: skip


def test_an_image_that_may_be_another_tomorrow_does_not_load(look):
    check = look(image="example.org/openclaw:latest")

    assert check["state"] == "warn"
    assert "`image` must be pinned: name@sha256:… or name:tag" in check["found"]


def test_it_fails_only_where_a_case_needs_it(look):
    refused = {"inspect": fails("Error: localhost/openclaw:2026.5.28: image not known")}

    check = look(**refused)
    assert (check["state"], check["found"].endswith("no case needs it yet")) == ("warn", True)
    check = look(**refused, is_needed=True)
    assert (check["state"], check["found"].endswith("needed by two")) == ("fail", True)


@pytest.mark.parametrize(
    ("client", "image", "advice"),
    [
        ("podman", IMAGE, BUILD),
        ("docker", IMAGE, f"{BUILD} --docker-cli docker"),
        ("podman", "localhost/mine:1", "image VERSION --name localhost/mine:1"),
        ("docker", "example.org/openclaw:1", "docker pull example.org/openclaw:1"),
    ],
)
def test_an_image_that_is_not_here_is_built_or_pulled(look, client, image, advice):
    said = {"podman": f"Error: {image}: image not known", "docker": f"No such image: {image}"}

    check = look(client, image=image, inspect=fails(said[client]))

    assert f"{client} has no image {image}" in check["found"]
    assert check["advice"].endswith(advice)


@pytest.mark.parametrize(
    ("client", "error", "advice"),
    [
        (
            "podman", "Error: OCI runtime error: crun: setrlimit RLIMIT_NOFILE: Operation not "
            "permitted", "default_ulimits = ",
        ),
        (
            "podman", "Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop "
            "all controllers from cgroupv2", "apt-get install runc",
        ),
        (
            "podman", "Error: OCI runtime error: crun: the requested cgroup controller pids is not "
            "available", "control groups of version 2 that systemd has delegated",
        ),
        (
            "podman", "Error: runc: runc create failed: unable to start container process: unable "
            "to apply cgroup configuration: rootless needs no limits + no cgroupfs permission "
            "when no permission is granted for cgroups", "or run as root",
        ),
        (
            "podman", "Error: OCI runtime error: crun: sd-bus call: Interactive authentication "
            "required.: Permission denied", "loginctl enable-linger",
        ),
        (
            "podman", "Error: crun: executable file openclaw not found in PATH: No such file or "
            "directory: OCI runtime attempted to invoke a command that was not found",
            "the image lacks that command",
        ),
        (
            "docker", "docker: Error response from daemon: failed to create shim task: OCI runtime "
            "create failed: exec format error: unknown.", "this machine's architecture",
        ),
    ],
)  # fmt: skip
def test_a_container_that_does_not_start_says_why_and_what_to_do(look, client, error, advice):
    check = look(client, run=fails(error, 126), is_needed=True)

    assert check["state"] == "fail"
    assert f"no container starts: {error}"[:100] in check["found"]
    assert advice in check["advice"]
    assert check["details"]["error"]


@pytest.mark.parametrize(
    ("client", "error", "advice"),
    [
        (
            "podman", "ERRO[0000] cannot find UID/GID for user me: no subuid ranges found for user "
            "me in /etc/subuid", "usermod --add-subuids",
        ),
        (
            "podman", 'Error: cannot set up namespace using newuidmap: exec: \\"newuidmap\\": '
            "executable file not found in $PATH", "apt-get install uidmap",
        ),
        (
            "podman", "Error: configure storage: 'overlay' is not supported over overlayfs, a "
            "mount_program is required: backing file system is unsupported for this graph driver",
            "fuse-overlayfs",
        ),
        (
            "docker", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the "
            "docker daemon running?", "sudo systemctl start docker",
        ),
        (
            "docker", "permission denied while trying to connect to the Docker daemon socket",
            "usermod -aG docker",
        ),
    ],
)  # fmt: skip
def test_an_engine_that_does_not_answer_says_why_and_what_to_do(look, client, error, advice):
    check = look(client, info=fails(error))

    assert check["state"] == "warn"
    assert check["found"].startswith(f"no container starts: {client}: ")
    assert advice in check["advice"]


def test_apparmor_is_recognised_by_its_switch(look, tmp_path):
    error = "Error: cannot re-exec process to join the existing user namespace"
    switch = tmp_path / "sys/kernel/apparmor_restrict_unprivileged_userns"
    switch.parent.mkdir(parents=True)
    switch.write_text("1\n")

    advice = look(info=fails(error))["advice"]

    assert advice.startswith("AppArmor refuses user namespaces: sudo sysctl -w kernel.apparmor")
    switch.write_text("0\n")
    assert look(info=fails(error))["advice"] == "podman info says more"


def test_an_engine_that_can_limit_nothing_is_refused(look):
    check = look(info="echo '4.3.1 runc []'")

    assert "podman cannot limit memory and pids of a container here" in check["found"]
    assert "systemd has delegated" in check["advice"]


def test_the_engine_itself_says_that_it_can_limit_nothing(look, doctor):
    look(info="echo '4.3.1 runc [cpu]'")

    check = doctor.look().one("containers", "podman")

    assert (check["state"], "cannot limit memory and pids" in check["found"]) == ("warn", True)
    assert "systemd has delegated" in check["advice"]


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ("echo 'OpenClaw 0.0.1'", "0.0.1 is an empty package that npm chooses on an old Node"),
        ("exit 0", "says no version"),
        (
            fails("openclaw: Node.js v22.19+ is required (current: v20.20.2).", 1),
            "the Node of the image is too old (exit code 1): openclaw: Node.js v22.19+ is required",
        ),
    ],
)
def test_an_image_that_holds_something_else_is_found_out(look, run, says):
    check = look(run=run)

    assert says in check["found"]
    assert BUILD in check["advice"]


def test_what_no_client_could_be_given_is_not_given_to_one(look):
    assert "unknown value; found `nerdctl`" in look(docker_cli="nerdctl")["found"]
    assert "`openclaw.image`" in look(image="--privileged")["found"]


def test_a_client_that_is_not_installed_says_how_to_get_it(doctor):
    block = {"agent_id": "a", "image": IMAGE, "timeout_seconds": 60, "docker_cli": "podman"}
    doctor.project.profile(openclaw=block)

    check = doctor.look().one("containers", "p")

    assert "podman is not installed" in check["found"]
    assert check["advice"] == "apt-get install podman runc"


def test_a_profile_that_does_not_load_hides_no_other(look, doctor):
    doctor.project.write("configs/run_profiles/broken.yaml", "schema_version: 1\nrunner: x\n")

    assert look()["state"] == "ok"
    check = doctor.look().one("containers", "broken")
    assert (check["state"], check["found"][:14]) == ("warn", "does not load:")
    assert "configs/run_profiles/broken.yaml" in check["advice"]


@pytest.mark.parametrize(
    ("says", "found"),
    [
        ("openclaw: Node.js v22.19+ is required (current: v20.20.2).", "does not run: openclaw:"),
        ("OpenClaw 0.0.1", "0.0.1 is an empty package"),
    ],
)
def test_a_local_openclaw_that_cannot_work_is_a_warning(doctor, says, found):
    doctor.command("openclaw", fails(says, 1))

    check = doctor.look().one("commands", "openclaw")

    assert (check["state"], check["found"].startswith(found)) == ("warn", True)
    assert "install Node 24" in check["advice"]


@pytest.mark.agents
@pytest.mark.parametrize("client", ["podman", "docker"])
def test_real_containers_of_an_image_are_tried(doctor, monkeypatch, request, client):
    """One without openclaw: its engine answers, and the container cannot begin."""
    monkeypatch.setenv("PATH", SYSTEM_PATH)
    if client == "docker":
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("docker_host"))
    else:
        containers.needs("podman", "runc")
    name = containers.make_image(client)
    block = {"agent_id": "a", "image": name, "timeout_seconds": 60, "docker_cli": client}
    doctor.project.profile(openclaw=block)
    try:
        check = doctor.look().one("containers", "p")
        left = containers.ours(client)
    finally:
        containers.remove_images(client)

    assert "no container starts: " in check["found"]
    assert "executable file" in check["found"]
    assert "the image lacks that command" in check["advice"]
    assert check["details"]["digest"]
    assert left == []


@pytest.fixture(scope="module")
def docker_host():
    with containers.docker_daemon() as host:
        yield host


def test_an_installed_command_is_asked_where_the_profile_says_so(doctor):
    doctor.project.profile(openclaw={"agent_id": "a", "executable": "local", "timeout_seconds": 60})

    check = doctor.look().one("containers", "p")
    assert (check["state"], "is not on PATH" in check["found"]) == ("warn", True)

    doctor.command("node", "echo v24.1.0")
    doctor.command("openclaw", "echo 'OpenClaw 2026.5.28 (abc)'")
    check = doctor.look().one("containers", "p")
    assert (check["state"], check["details"]) == ("ok", {"version": "2026.5.28"})
    assert check["found"] == "the installed openclaw 2026.5.28 answers"

    doctor.command("openclaw", "echo 'OpenClaw 0.0.1'")
    check = doctor.look().one("containers", "p")
    assert "says no version: 0.0.1 is an empty package" in check["found"]
