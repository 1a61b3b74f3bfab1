"""inventory.json: versions, local models, the commit of the configs; and it holds up no run."""

import asyncio
import json
import os
import subprocess

import pytest

from collect.inventory.git import config_commit
from collect.inventory.inventory import Stocktaking
from collect.inventory.model_builds import look_up, with_builds
from schemas.run.inventory import CommandError, Inventory
from tests.collect.execute.test_builds import ONE, ollama
from tests.support.kept_run import wait_for
from tests.support.run_rows import inventory

LIST = "NAME            ID      SIZE    MODIFIED\nllama:latest    aaa     2.0 GB  2 days ago"


@pytest.fixture
def bin_(tmp_path, monkeypatch):
    """Return a maker of executables; PATH holds them and a few tools of the system only."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "sleep", "env"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))

    def make(name, text):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    return make


def take(inputs, run_dir=None, then=None):
    """Return the first inventory; `then` is called before what is still asked is given a moment."""

    async def go():
        async with Stocktaking(inputs) as stock:
            builds = await look_up(inputs.models)
            first = await stock.first(builds)
            if run_dir is not None:
                stock.complete_in(run_dir)
            if then is not None:
                await asyncio.to_thread(then)
            return first

    return asyncio.run(go())


def test_versions_are_numbers_and_what_is_missing_says_so(project, bin_, monkeypatch):
    monkeypatch.setattr("collect.inventory.inventory.QUICK_S", 10.0)
    project.case()
    bin_("ollama", f'[ $1 = list ] && echo "{LIST}"; [ $1 = ps ] && echo "NAME ID";'
         '[ $1 = --version ] && echo "ollama version is 0.12.3"; exit 0')  # fmt: skip
    bin_("claude", 'echo "2.1.197 (Claude Code)"')
    bin_("openclaw", 'echo "OpenClaw 2026.5.28-beta.1 (abc)"')
    bin_("node", "echo v20.20.2")
    bin_("docker", '[ $1 = --version ] && { echo "Docker version 28.2.2, build e6"; exit 0; };'
         'echo "Cannot connect to the Docker daemon" >&2; exit 1')  # fmt: skip

    taken = take(project.load())

    assert taken.versions == {
        "ollama": "0.12.3",
        "claude": "2.1.197",
        "openclaw": "2026.5.28-beta.1",
        "node": "20.20.2",
        "docker": "28.2.2",
        "docker_server": CommandError(error="Cannot connect to the Docker daemon"),
        "podman": CommandError(error="podman is not installed"),
        "git": CommandError(error="git is not installed"),
    }
    assert taken.claude_version == "2.1.197 (Claude Code)"
    assert (taken.ollama_list, taken.ollama_ps) == (LIST, "NAME ID")
    assert [(one.name, one.size) for one in taken.ollama_models] == [("llama:latest", "2.0 GB")]
    assert taken.config_commit == CommandError(error="git is not installed")


def test_what_is_slow_holds_up_no_run_and_completes_the_file_meanwhile(
    project, bin_, tmp_path, monkeypatch
):
    monkeypatch.setattr("collect.inventory.inventory.LAST_S", 60.0)
    project.case()
    first_is_there = tmp_path / "first"
    bin_("claude", f"until [ -e {first_is_there} ]; do sleep 0.02; done; echo 2.1.197")

    first = take(project.load(), run_dir=tmp_path, then=first_is_there.touch)

    assert first.claude_version == CommandError(error="no answer before the first request")
    whole = Inventory.model_validate_json((tmp_path / "inventory.json").read_bytes())
    assert (whole.run_id, whole.claude_version) == (tmp_path.name, "2.1.197")
    assert whole.created_at == first.created_at


def test_what_never_answers_is_ended_with_the_run(project, bin_, tmp_path, monkeypatch):
    monkeypatch.setattr("collect.inventory.inventory.LAST_S", 0.2)
    project.case()
    pid = tmp_path / "pid"
    bin_("openclaw", f"echo $$ > {pid}; exec sleep 60")

    def is_asked():
        return pid.exists() and pid.read_text()

    take(project.load(), run_dir=tmp_path, then=lambda: wait_for(is_asked))

    whole = json.loads((tmp_path / "inventory.json").read_text())
    assert whole["versions"]["openclaw"] == {"error": "no answer before the first request"}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_cli_that_a_model_uses_is_asked_once(project, bin_, tmp_path):
    project.case()
    project.suite(models=[{"model_id": "m", "provider": "claude_code_cli", "model_name": "x",
                           "base_url": "http://127.0.0.1:9"}])  # fmt: skip
    bin_("claude", f"echo >> {tmp_path}/calls; echo '2.1.197 (Claude Code)'")

    taken = take(project.load())

    assert (tmp_path / "calls").read_text() == "\n"
    assert taken.versions["claude"] == "2.1.197"


def test_local_models_are_described_by_their_own_server(project, endpoint, monkeypatch):
    monkeypatch.setattr("collect.inventory.inventory.QUICK_S", 10.0)
    ollama(endpoint, llama__latest=ONE)

    def script(wire, request):
        match request.line.split(" ")[1]:
            case "/api/version":
                wire.answer({"version": "0.12.3"})
            case "/api/ps":
                wire.answer({"models": [{"name": "llama:latest", "context_length": 4096}]})
            case "/api/show":
                assert request.body == {"model": "llama:latest"}
                info = {"general.architecture": "llama", "llama.context_length": 131072}
                parameters = 'stop    "<|eot|>"\nnum_ctx    8192'
                wire.answer({"model_info": info, "parameters": parameters})

    endpoint.script = script
    project.case()
    base = {"provider": "ollama_openai", "base_url": endpoint.base_url}
    project.suite(models=[
        base | {"model_id": "m", "requested_model": "llama"},
        base | {"model_id": "gone", "requested_model": "other"},
    ])  # fmt: skip

    taken = take(project.load())

    one, gone = taken.served_models
    assert one.model_dump() == {
        "model_id": "m", "is_ollama": True, "server_version": "0.12.3", "digest": ONE,
        "parameter_size": "3.2B", "quantization": "Q4_K_M", "context_length": 131072,
        "num_ctx": 8192, "loaded_context_length": 4096,
    }  # fmt: skip
    assert (gone.is_ollama, gone.digest, gone.server_version) == (True, None, "0.12.3")


@pytest.mark.parametrize(("port", "is_ollama"), [("its own", False), ("nobody's", None)])
def test_another_server_is_told_from_one_that_is_not_there(
    project, endpoint, free_port, port, is_ollama
):
    project.case()
    address = endpoint.base_url if port == "its own" else f"http://127.0.0.1:{free_port}/v1"
    project.model(base_url=address)

    taken = take(project.load())

    assert taken.served_models[0].is_ollama is is_ollama
    assert endpoint.requests == []


def test_older_files_still_read():
    old = inventory().model_dump(mode="json")
    for name in ("ollama_ps", "versions", "served_models", "config_commit"):
        del old[name]

    assert Inventory.model_validate(old) == inventory()


@pytest.fixture
def repository(project):
    """The project as a git repository with everything committed."""
    project.case("one")
    project.case("two")
    project.write("configs/cases/group/one/notes.txt", "n")
    (project.root / ".git").rmdir()
    git(project, "init", "-q", "-b", "main")
    commit(project)
    return project


def git(project, *arguments):
    command = ["git", "-C", str(project.root), "-c", "user.name=n", "-c", "user.email=e@e"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(project):
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "all")


def state(project):
    return asyncio.run(config_commit(project.load()))


def test_the_commit_of_the_configs_is_known(repository):
    repository.write("other.txt", "not read")

    found = state(repository)

    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert (found.branch, found.is_dirty, found.changed, found.n_outside) == ("main", False, (), 0)


def test_only_changes_to_what_was_read_make_it_dirty(repository):
    repository.case("two", title="Another")
    repository.write("configs/cases/group/one/notes.txt", "changed")
    repository.write("configs/suites/other.yaml", "x")

    found = state(repository)

    assert found.is_dirty
    assert found.changed == (
        "configs/cases/group/one/notes.txt",
        "configs/cases/group/two/test.yaml",
    )


def test_new_and_ignored_files_are_not_what_was_committed(repository):
    repository.case("three", group="fresh")
    repository.write(".gitignore", "benchlake.yaml\n__pycache__/\n")
    repository.write("benchlake.yaml", {"schema_version": 1})
    repository.write("configs/cases/group/one/__pycache__/x.pyc", "x")

    assert state(repository).changed == ("benchlake.yaml", "configs/cases/fresh/")


def test_before_the_first_commit_and_off_a_branch(repository):
    git(repository, "checkout", "-q", "--detach")
    assert state(repository).branch is None
    subprocess.run(["rm", "-rf", str(repository.root / ".git")], check=True)
    git(repository, "init", "-q", "-b", "main")
    found = state(repository)
    assert (found.commit, found.branch, found.is_dirty) == (None, "main", True)


def test_configs_without_a_repository_have_no_commit(project):
    project.case()

    assert state(project) is None


def test_a_repository_runs_nothing_of_its_own(repository, tmp_path, monkeypatch):
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor", "filter.evil.clean", "filter.a=b.clean", "filter.evil.process",
        "core.pager", "core.sshCommand",
    ):  # fmt: skip
        git(repository, "config", name, str(trap))
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "core.hooksPath", str(tmp_path))
    (tmp_path / "post-index-change").symlink_to(trap)
    info = repository.root / ".git" / "info" / "attributes"
    info.write_text("* filter=evil\n*.txt filter=a=b\n")
    repository.write("configs/cases/group/one/notes.txt", "m")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    found = state(repository)

    assert found.changed == ("configs/cases/group/one/notes.txt",)
    assert not (tmp_path / "ran").exists()


def test_warnings_and_builds_reach_the_inputs(project, endpoint):
    ollama(endpoint, llama__latest=ONE)
    project.case()
    project.model(base_url=endpoint.base_url, requested_model="lama")
    inputs = project.load()

    made_of = with_builds(inputs, asyncio.run(look_up(inputs.models)))

    assert made_of.models == inputs.models
    assert "did you mean `llama:latest`?" in made_of.warnings[-1]
