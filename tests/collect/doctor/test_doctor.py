"""`collect doctor` looks at the machine: commands, sandbox, containers, disk, clock, packages."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from collect.doctor import machine
from collect.doctor import tools as containers
from collect.sandbox import engine_trouble
from schemas.errors import ConfigError
from tests.support.disk import mounted_disk

AREAS = (
    "suites", "keys", "endpoints", "models", "commands", "sandbox", "containers", "disk", "clock",
    "packages",
)  # fmt: skip


PATH = os.environ["PATH"]


@pytest.fixture
def served(doctor, endpoint):
    """The same, with a server that has the model."""
    models = {"object": "list", "data": [{"id": "r", "owned_by": "vllm"}]}
    endpoint.script = lambda wire, request: wire.answer(models)
    doctor.project.model(base_url=endpoint.base_url)
    return doctor


def test_every_area_is_looked_at_in_one_order(served):
    seen = served.look()

    assert tuple(dict.fromkeys(check["area"] for check in seen.checks)) == AREAS
    assert (seen.code, seen.report.ok) == (0, True)
    assert seen.one("suites")["found"] == "1 model, 1 case"


def test_what_warns_or_fails_says_what_to_do(doctor):
    doctor.command("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")

    seen = doctor.look()

    bad = [check for check in seen.checks if check["state"] in {"warn", "fail"}]
    assert {"endpoints", "containers"} <= {check["area"] for check in bad}
    assert all(check["advice"] for check in bad)
    assert seen.code == 1


def test_a_suite_that_does_not_load_is_a_mistake_of_configuration(doctor):
    doctor.project.suite(models=[{"model_id": "m", "provider": "ollama"}])

    with pytest.raises(ConfigError, match="looks like the transport or server `ollama`") as caught:
        doctor.look()

    assert caught.value.exit_code == 2


def test_a_key_is_not_sent_to_a_foreign_host_unless_it_is_allowed(doctor):
    doctor.project.model(
        provider="openai_chat", base_url="https://no-such-host.invalid/v1", api_key_env="TEAM_TOKEN"
    )

    with pytest.raises(ConfigError, match="may not get a key yet; pass `--allow-host"):
        doctor.look()

    assert doctor.look(hosts=["no-such-host.invalid"]).one("keys", "TEAM_TOKEN")["state"] == "fail"


def test_without_a_suite_all_of_the_project_are_looked_at_and_a_broken_one_hides_no_other(served):
    served.project.write("configs/suites/broken.yaml", "schema_version: 1\nsuite_id: broken\n")

    seen = served.look(suite=None)

    assert seen.states("suites") == {"broken": "fail", "s": "ok"}
    assert "collect validate configs/suites/broken.yaml" in seen.one("suites", "broken")["advice"]
    assert seen.states("models") == {"m": "ok"}
    assert seen.code == 1


def test_models_of_several_suites_are_told_apart(served, endpoint):
    other = {"model_id": "m", "provider": "ollama_openai", "base_url": endpoint.base_url}
    suite = {"schema_version": 1, "suite_id": "t", "title": "T", "models": [other]}
    served.project.write("configs/suites/t.yaml", json.dumps(suite))

    seen = served.look(suite=None)

    assert seen.states("models") == {"s/m": "ok", "t/m": "fail"}
    assert len(seen.all("endpoints")) == 1


def test_outside_of_a_project_the_machine_is_looked_at(doctor, tmp_path, free_port, monkeypatch):
    empty = tmp_path / "empty"
    (empty / ".git").mkdir(parents=True)
    monkeypatch.chdir(empty)
    monkeypatch.setenv("OLLAMA_OPENAI_BASE", f"http://127.0.0.1:{free_port}/v1")

    seen = doctor.look(suite=None)

    assert seen.one("suites")["state"] == "skip"
    assert seen.one("endpoints")["state"] == "skip"
    assert seen.code == 0


def test_a_suite_that_a_run_would_refuse_fails(served):
    hook = {"check_id": "own", "python_hook": {"import_path": "m", "callable_name": "f"}}
    served.project.case("two", deterministic_checks=[hook])

    check = served.look().one("suites")

    assert check["state"] == "fail"
    assert "python hooks are switched off" in check["found"]


# ---- commands


def test_the_command_of_a_model_must_be_there_and_run(served, endpoint):
    def model(**fields):
        served.project.model(
            provider="claude_code_cli", base_url=endpoint.base_url.removesuffix("/v1"), **fields
        )
        return served.look()

    assert model().one("commands", "claude")["advice"].startswith("npm install -g @anthropic-ai")
    served.command("claude", "echo '2.1.197 (Claude Code)'")
    assert "2.1.197 (Claude Code)" in model().one("commands", "claude")["found"]
    served.command("claude", "echo 'cannot load node' >&2; exit 127")
    check = model().one("commands", "claude")
    assert (check["state"], "cannot load node" in check["found"]) == ("fail", True)
    mine = served.command("mine", "echo 3.0.0")
    assert model(executable=str(mine)).one("commands", str(mine))["details"]["version"] == "3.0.0"


def test_commands_that_nothing_needs_never_fail(served):
    served.command("git", "echo git version 2.44.0")
    served.command("node", "echo v20.1.0")
    served.command("openclaw", "echo OpenClaw 0.0.1")
    served.command("ollama", "exit 3")

    states = served.look().states("commands")

    assert states == {
        "claude": "skip", "git": "ok", "ollama": "warn", "openclaw": "warn", "node": "warn",
    }  # fmt: skip


def test_a_warning_before_a_version_is_not_the_version(served):
    script = "echo 'Warning: could not connect to a running Ollama'; echo 'client version is 0.9.1'"
    served.command("ollama", script)

    assert (
        served.look().one("commands", "ollama")["details"]["version"] == "client version is 0.9.1"
    )


# ---- sandbox


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has sandboxes of this kind")
@pytest.mark.parametrize(
    ("switch", "value", "says", "advice"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor refuses",
            "apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "kernel/unprivileged_userns_clone", "0", "refuses user namespaces to all but root",
            "unprivileged_userns_clone=1",
        ),
        ("user/max_user_namespaces", "0", "no user namespace", "max_user_namespaces=15000"),
        ("user/max_user_namespaces", "9", "Operation not permitted", "seccomp=unconfined"),
    ],
)  # fmt: skip
def test_a_sandbox_that_cannot_lock_in_says_why(
    served, tmp_path, monkeypatch, switch, value, says, advice
):
    path = tmp_path / "sys" / switch
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    monkeypatch.setattr(engine_trouble, "SYSCTL", tmp_path / "sys")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # also nobody can run what is in it
        Path(folder).chmod(0o755)
        bwrap = Path(folder, "bwrap")
        bwrap.write_text(
            "#!/bin/sh\n"
            '[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\n'
            "echo 'bwrap: setting up uid map: Operation not permitted' >&2; exit 1\n"
        )
        bwrap.chmod(0o755)
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{folder}")

        check = served.look().one("sandbox", "bubblewrap")

    assert check["state"] == "warn"
    assert check["details"]["version"] == "bubblewrap 0.9.0"
    assert says in check["found"]
    assert advice in check["advice"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_the_real_sandbox_is_really_tried(served, monkeypatch):
    monkeypatch.setenv("PATH", PATH)

    check = served.look().one("sandbox", "bubblewrap")

    assert check["state"] in {"ok", "warn"}
    assert check["details"]["path"].endswith("bwrap")
    assert check["details"]["version"].startswith("bubblewrap ")
    assert "for the tools exec_shell" in check["found"]


def test_a_sandbox_that_is_not_there_says_who_needs_it(served):
    check = served.look().all("sandbox")[0]

    assert check["state"] == "skip"
    assert check["found"].startswith("not installed; for the tools exec_shell")
    assert check["advice"] == "apt-get install bubblewrap"

    message = {"role": "user", "content": "x"}
    context = {"llm_probe": {"tools": ["exec_shell"]}}
    served.project.case("two", input={"messages": [message], "context": context})
    check = served.look().all("sandbox")[0]
    assert (check["state"], check["found"]) == ("fail", "not installed; needed by two")


# ---- containers


def test_a_client_without_an_engine_is_told_from_one_with(served):
    served.command("docker", "echo 'permission denied while trying to connect' >&2; exit 1")
    served.command("podman", 'echo "4.3.1 runc"')

    seen = served.look()

    assert seen.one("containers", "docker")["advice"].startswith("sudo usermod -aG docker")
    assert "4.3.1 runc" in seen.one("containers", "podman")["found"]


def test_an_engine_that_never_answers_ends_nothing(served, monkeypatch):
    monkeypatch.setattr(containers, "CONTAINER_TIMEOUT_S", 0.2)
    served.command("docker", "exec sleep 30" if shutil.which("sleep") else "exec /bin/sleep 30")

    check = served.look().one("containers", "docker")

    assert (check["state"], "no answer within 0.2 s" in check["found"]) == ("warn", True)


def test_podman_that_could_start_no_container_is_found_out(served, tmp_path, monkeypatch):
    served.command("podman", 'echo "4.3.1 crun"')
    controllers = tmp_path / "cgroup.controllers"
    monkeypatch.setattr(engine_trouble, "HYBRID_CONTROLLERS", controllers)
    assert served.look().one("containers", "podman")["state"] == "ok"
    controllers.write_text("\n")
    assert served.look().one("containers", "podman")["state"] == "ok"

    controllers.write_text("hugetlb\n")
    check = served.look().one("containers", "podman")
    assert (check["state"], check["advice"]) == ("warn", "apt-get install runc")

    served.command("runc", "")
    assert served.look().one("containers", "podman")["state"] == "ok"


# ---- disk


def test_a_disk_with_little_room_warns_and_a_full_one_fails(served, tmp_path, monkeypatch):
    empty = os.environ["PATH"]
    monkeypatch.setenv("PATH", PATH)
    with mounted_disk(tmp_path / "disk", size="50m") as disk:

        def runs(size):
            disk.resize(size)
            with monkeypatch.context() as patch:
                patch.setenv("PATH", empty)
                return served.look(runs=disk.folder / "runs").one("disk", "runs")

        assert runs("50m")["state"] == "fail"
        assert runs("500m")["state"] == "warn"
        assert runs("2g")["state"] == "ok"
        check = runs("2g,nr_inodes=100")
        assert (check["state"], check["details"]["free_files"] < 100) == ("warn", True)
        assert not (disk.folder / "runs").exists()
        assert list(disk.folder.iterdir()) == []


@pytest.mark.parametrize("runs", ["file/runs", "/proc/runs"])
def test_a_folder_that_cannot_be_written_fails(served, runs):
    served.project.write("file", "x")

    check = served.look(runs=runs).one("disk", "runs")

    assert check["state"] == "fail"
    assert "--runs DIR" in check["advice"]


# ---- clock


@pytest.mark.parametrize(
    ("behind_s", "state", "says"),
    [(0, "ok", "within 5 s"), (60, "warn", "60 s ahead"), (-900, "warn", "15 minutes behind")],
)
def test_our_clock_is_compared_with_the_servers(served, endpoint, behind_s, state, says):
    def script(wire, request):
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - behind_s))
        wire.answer({"data": [{"id": "r"}]}, headers=(f"Date: {date}",))

    endpoint.script = script

    check = served.look().one("clock", "wall clock")

    assert (check["state"], says in check["found"]) == (state, True), check


@pytest.mark.parametrize("date", ["yesterday", "Tue, 99 Nov 1994 08:12:31 GMT", ""])
def test_a_date_that_is_none_is_no_date(served, endpoint, date):
    models = {"data": [{"id": "r"}]}
    endpoint.script = lambda wire, request: wire.answer(models, headers=(f"Date: {date}",))

    assert served.look().one("clock", "wall clock")["state"] == "skip"


def test_a_clock_that_nothing_keeps_in_step_is_a_warning(served):
    served.command("timedatectl", "echo no")
    assert "not kept in step" in served.look().one("clock", "wall clock")["found"]
    served.command("timedatectl", "echo yes")
    assert served.look().one("clock", "wall clock")["state"] == "ok"


def test_a_busy_machine_is_no_place_to_measure(served, monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: -1)

    check = served.look().one("clock", "load")

    assert (check["state"], "not comparable" in check["found"]) == ("warn", True)


# ---- as a command


@pytest.fixture
def collect(project):
    """Run `collect doctor ...` in the project's folder and return the finished process."""

    def command(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-P", "-m", "collect", "doctor", *arguments],
            cwd=project.root,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | environment,
        )

    return command


def test_the_command_prints_lines_for_people(collect, project):
    project.case()

    done = collect("--suite", "s")

    assert (done.returncode, done.stderr) == (1, "")
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines[:-2] if not line.startswith(" ")] == list(AREAS)
    assert (
        "  FAIL  http://127.0.0.1:9/v1  nobody listens there (connection refused); asked by m"
        in lines
    )
    assert lines[-1] == "next: mend what failed, then collect doctor --suite s"


def test_the_command_ends_with_2_where_there_is_no_such_suite(collect):
    done = collect("--suite", "nothing", "--json")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no suite `nothing`" in done.stderr


def test_when_all_is_well_the_next_command_is_named(served):
    code, text = served.text()

    assert code == 0
    assert text.splitlines()[-1] == "next: collect plan --suite s --run-profile ID"
