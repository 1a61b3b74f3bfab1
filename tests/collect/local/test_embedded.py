"""`provider: embedded`: a run starts the server of a model, asks it, and leaves nothing behind."""

import importlib.util
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from collect.commands.plan import plan_text, preview
from collect.commands.run import run, start
from collect.commands.validate import validate_paths
from collect.config.embedded import default_threads
from collect.execute.spec import RunRequest
from collect.local import weights as wheel
from collect.local import wheels
from collect.local.server import KEY_VARIABLE
from collect.local.servers import Servers
from schemas.errors import ConfigError, LocalModelError, NotResumable
from schemas.io.cache_folder import CACHE
from tests.support import kept_run
from tests.support.forked_mirror import forked_mirrors
from tests.support.processes import servers_of

pytestmark = pytest.mark.agents

SMALL = {"model_id": "small", "provider": "embedded", "warmup": 0}
SHORT = {"max_tokens": 2, "retries": 0, "timeout_seconds": 60}


@pytest.fixture
def own(project):
    """A project with a model of its own file, as far as its first bytes tell."""
    project.case()
    project.write("configs/models/own.gguf", "GGUF")
    project.profile(runner_defaults=SHORT)
    return project


@pytest.fixture
def make(monkeypatch):
    """Make or resume a run in this process, from the project's folder; return its exit code."""

    def make_run(project, *, resume=False, **options):
        monkeypatch.chdir(project.root)
        with forked_mirrors():
            if resume:
                return run(RunRequest(Path("runs"), resume="r", **options))
            return start(project.load(), RunRequest(Path("runs"), run_id="r", **options))

    return make_run


def embedded(project, *models):
    project.suite(models=[SMALL | model for model in models or ({},)])


def problems_of(project):
    with pytest.raises(ConfigError) as caught:
        project.load()
    return str(caught.value)


# ---- what is written


def test_a_name_and_a_provider_are_enough(own):
    embedded(own)

    (model,) = own.load().models
    shown = plan_text(preview(own.load(), own.root / "runs"))

    assert (model.model, model.is_loopback, model.api_key_env) == ("smollm2-135m", True, None)
    assert model.embedded.model_file is None
    assert (model.embedded.context_tokens, model.embedded.threads) == (4096, default_threads())
    assert model.embedded.engine.startswith("xllamacpp 20")
    assert validate_paths([Path()], own.root).exit_code == 0
    threads = f"{default_threads()} thread" + "s" * (default_threads() != 1)
    assert (
        f"model small: smollm2-135m by embedded served by the run, {threads}, "
        "4,096 tokens of context"
    ) in shown
    assert "; about $0.00" in shown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "http://127.0.0.1:8080/v1"),
        ("api_key_env", "MY_API_KEY"),
        ("requested_model", "x"),
        ("openrouter_model", "x"),
        ("model_name", "x"),
        ("executable", "claude"),
    ],
)
def test_where_and_as_what_it_is_asked_is_not_the_suites_business(own, field, value):
    embedded(own, {field: value})

    assert f"`models[0].{field}`: " in problems_of(own)


@pytest.mark.parametrize("field", ["model_file", "context_tokens", "threads"])
def test_its_own_fields_are_for_no_other_provider(own, field):
    value = "own.gguf" if field == "model_file" else 5
    own.model(**{field: value})

    assert (
        f"`models[0].{field}`: is for `provider: embedded`; found `{value}`; take it out, or set "
        "`provider: embedded`"
    ) in problems_of(own)


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("../models/gone.gguf", "cannot be read: No such file or directory"),
        ("../models", "is no file"),
        ("../models/pipe", "is no file"),
        ("s.yaml", "is no GGUF file: it starts with b'sche'"),
    ],
)
def test_a_file_that_is_no_model_is_found_before_anything_is_asked(own, file, what):
    os.mkfifo(own.root / "configs" / "models" / "pipe")
    embedded(own, {"model_file": file})

    said = problems_of(own)

    assert "s.yaml:" in said
    assert f"`models[0].model_file`: {what}; found `{file}`; name a GGUF file, seen from" in said


def test_one_server_has_one_context(own):
    embedded(own, {}, {"model_id": "wide", "context_tokens": 8192})

    assert (
        "`models[1].context_tokens`: model `small` has 4096 with the same file: one server has both"
    ) in problems_of(own)


def test_a_typo_is_no_vendor_on_openrouter(own):
    embedded(own, {"provider": "embeded"})

    assert "looks like the transport or server `embedded`" in problems_of(own)


def test_no_more_is_asked_at_once_than_the_server_answers_at_once(own):
    own.profile(execution_policy={"max_concurrency": 16})
    embedded(own, {}, {"model_id": "one", "max_concurrency": 1})

    assert [model.max_concurrency for model in own.load().models] == [4, 1]


# ---- what the machine lacks


def test_a_missing_engine_is_said_by_file_field_and_what_to_do(own, make, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "xllamacpp" else real(name, *a),
    )
    embedded(own, {"model_file": "../models/own.gguf"})

    with pytest.raises(ConfigError) as caught:
        make(own)

    said = str(caught.value)
    assert said.startswith("configs/suites/s.yaml:")
    assert said.endswith(
        "`models[0].provider`: `embedded` needs its engine, which is not installed; "
        "`pip install 'benchlake[local]'`"
    )
    assert not (own.root / "runs").exists()


def test_weights_that_cannot_be_fetched_are_said_before_anything_is_asked(
    own, make, monkeypatch, tmp_path
):
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no network\n")
    monkeypatch.setattr(wheels, "_run", lambda _command: failed)
    embedded(own)

    with pytest.raises(
        ConfigError, match=r"`models\[0\].provider`: cannot fetch .*no network"
    ) as e:
        make(own)

    assert "`model_file: PATH` of a suite's model" in str(e.value)
    assert not (own.root / "runs").exists()


def test_a_file_that_the_engine_refuses_ends_the_run_before_it_begins(weights, own, make):
    own.write("configs/models/own.gguf", "GGUF" + "\0" * 4096)
    embedded(own, {"model_file": "../models/own.gguf"})

    with pytest.raises(LocalModelError, match="model `small`: the local model's server could not"):
        make(own)

    assert not (own.root / "runs").exists()
    assert servers_of(own.root) == []
    assert KEY_VARIABLE not in os.environ


def test_the_doctor_names_what_is_there_and_what_is_missing(doctor, monkeypatch):
    doctor.project.write("configs/models/own.gguf", "GGUF")
    embedded(doctor.project, {"model_file": "../models/own.gguf"})

    seen = doctor.look()

    assert seen.one("endpoints")["found"] == "a run serves every model itself"
    assert seen.one("models", "small")["state"] == "ok"
    assert seen.one("models", "small")["found"].startswith("`own` is served by the run, from ")
    assert seen.states("keys") == {"–": "ok"}

    monkeypatch.setattr("collect.doctor.machine.find_spec", lambda _name: None)
    check = doctor.look().one("packages", "embedded model")
    assert check["state"] == "fail"
    assert check["found"] == "its engine is not installed; needed by small"
    assert check["advice"] == "pip install 'benchlake[local]'"

    (doctor.project.root / "configs/models/own.gguf").unlink()
    assert "cannot be read" in doctor.look(suite=None).one("suites", "s")["found"]


# ---- real runs


@pytest.fixture
def real(own, weights):
    """A project with two models of the packaged file and one of a file of its own."""
    (own.root / "configs" / "models" / "twin.gguf").symlink_to(weights)
    twin = {"model_id": "twin", "model_file": "../models/twin.gguf"}
    embedded(
        own,
        {"warmup": 1},
        {"model_id": "hot", "temperature": 1},
        twin | {"context_tokens": 256, "threads": 1},
    )
    own.write("benchlake.yaml", {"schema_version": 1})
    return own


def test_every_file_has_one_server_and_all_is_on_record(real, make, capsys):
    code = make(real, max_cost_usd=0.01)

    err = capsys.readouterr().err
    assert code == 0, err
    assert err.count("starting the embedded model") == 2
    assert err.index("twin answers after") < err.index("run runs/r: 3 trials")
    made = kept_run.Kept(real.root / "runs" / "r")
    config = json.loads((made.dir / "config.json").read_text())
    assert [model["embedded"]["model_file"] for model in config["models"]] == [
        None, None, "../../configs/models/twin.gguf",
    ]  # fmt: skip
    assert {model["base_url"] for model in config["models"]} == {"http://127.0.0.1/v1"}
    assert {model["model_build"] for model in config["models"]} == {wheel.SHA256}
    for event, context_tokens in zip(made.events("model_served"), (4096, 4096, 256), strict=True):
        assert event["detail"]["context_tokens"] == context_tokens
        assert event["detail"]["start_ms"] > 0
    assert made.events("model_served")[2]["detail"]["threads"] == 1
    assert len(made.events("warmup")) == 1
    rows = {row["model_id"]: row for row in made.results()}
    assert {row["provider"] for row in rows.values()} == {"embedded"}
    assert [rows[name]["served_model"] for name in ("small", "hot", "twin")] == [
        "smollm2-135m", "smollm2-135m", "twin",
    ]  # fmt: skip
    assert {(row["cost_usd"], row["cost_source"]) for row in rows.values()} == {(0.0, "computed")}
    assert all(row["attempt_count"] == 1 for row in rows.values())
    assert servers_of(real.root) == []
    assert KEY_VARIABLE not in os.environ


def test_a_server_that_dies_stops_its_model_and_resume_starts_it_again(
    real, make, monkeypatch, capsys
):
    embedded(real, {}, {"model_id": "twin", "model_file": "../models/twin.gguf"})
    for name in ("two", "three", "four"):
        real.case(name)
    started = Servers.__enter__

    def struck(self):
        servers_of_run = started(self)
        os.kill(self._running[None].pid, signal.SIGKILL)
        return servers_of_run

    with monkeypatch.context() as patch:
        patch.setattr(Servers, "__enter__", struck)
        assert make(real) == 1

    made = kept_run.Kept(real.root / "runs" / "r")
    (stopped,) = made.events("model_stopped")
    assert stopped["model_id"] == "small"
    said = "the server of the embedded model ended by itself (exit code -9)"
    assert stopped["detail"].startswith(said)
    out, err = capsys.readouterr()
    assert f"model `small` was stopped: {said}" in err
    assert out.splitlines()[-1] == "next: collect run --resume r"
    others = {row["model_id"]: row for row in made.results()}
    assert others["twin"]["availability_status"] == "ok", "another server is another matter"
    assert sum(row["model_id"] == "small" for row in made.results()) <= 1

    assert make(real, resume=True) == 0

    assert len(made.counted()) == 8
    assert {row["availability_status"] for row in made.counted().values()} == {"ok"}
    assert servers_of(real.root) == []


def test_a_run_that_was_killed_leaves_no_server_and_goes_on_from_anywhere(real, tmp_path):
    embedded(real, {"model_file": "../models/twin.gguf", "max_tokens": 8})
    for number in range(6):
        real.case(f"c{number}")
    process = kept_run.begin(
        real.root, "run", "--suite", "s", "--run-profile", "p", "--run-id", "r"
    )
    log = real.root / "runs" / "r" / "results.jsonl"
    kept_run.wait_for(
        lambda: (
            process.poll() is not None
            or (log.exists() and '"record_type":"result"' in log.read_text())
        )
    )
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    kept_run.wait_for(lambda: not servers_of(real.root))
    assert 0 < len(kept_run.Kept(log.parent).counted()) < 7

    done = kept_run.collect(tmp_path, "run", "--resume", "r", "--runs", str(real.root / "runs"))

    assert done.returncode == 0, done.stderr
    assert len(kept_run.Kept(log.parent).counted()) == 7
    assert servers_of(tmp_path) == []
    for path in log.parent.rglob("*"):
        assert (
            not path.is_file()
            or b"BENCHLAKE_LOCAL" not in path.read_bytes()
            or (path.name == "inventory.json")
        )


def test_a_run_does_not_go_on_with_another_file(real, make, monkeypatch):
    embedded(real, {"model_file": "../models/own.gguf"})
    monkeypatch.setattr(Servers, "__enter__", lambda self: self)
    monkeypatch.setattr(Servers, "__exit__", lambda *_: None)
    monkeypatch.setattr(Servers, "served", lambda self, models: tuple(models))
    monkeypatch.setattr(Servers, "started", lambda self: ())
    assert make(real) == 1
    real.write("configs/models/own.gguf", "GGUF of another kind")
    with pytest.raises(NotResumable, match=r"the weights of model `small` .* changed"):
        make(real, resume=True)

    (real.root / "configs/models/own.gguf").unlink()
    with pytest.raises(ConfigError, match=r"model `small`: cannot be read: .*; put the file back"):
        make(real, resume=True)
