"""Trouble outside of the trials of a run: keys, prices, folders, endpoints that are silent."""

import asyncio
import json
import shutil
import socket
import time

import pytest

from collect.execute.stored_run import latest
from collect.limits import Gate, Limiter
from collect.providers.base import Reply
from collect.run_folder.log import is_begun
from schemas.redact import _secret_marks, _secret_values, redact, redact_json
from tests.collect.execute.test_run import Made, Quiet, run_in
from tests.support.forked_mirror import forked_mirrors, no_mirrors
from tests.support.kept_run import collect

RUN = ("run", "--suite", "s", "--run-profile", "p")


@pytest.fixture
def secret(monkeypatch):
    """A key as an env file from Windows leaves it: with a carriage return behind."""
    monkeypatch.setenv("MINE_API_KEY", "abcdefghijk-77\r")
    for cached in (_secret_values, _secret_marks):
        cached.cache_clear()
    yield "abcdefghijk-77"
    for cached in (_secret_values, _secret_marks):
        cached.cache_clear()


def made_run(project, tmp_path, mirrors=forked_mirrors):
    run_dir = tmp_path / "runs" / "r"
    return Made(run_dir, run_in(run_dir, project.load(), Quiet(), mirrors=mirrors), [])


def test_a_key_is_taken_out_as_it_is_sent(secret):
    assert redact(f"you sent {secret}!") == "you sent [redacted]!"
    assert redact_json({f"of {secret}": [secret]}) == {"of [redacted]": ["[redacted]"]}


def test_a_key_across_the_cut_of_an_error_leaves_no_beginning(project, endpoint, tmp_path, secret):
    project.case()
    project.model(base_url=endpoint.base_url, api_key_env="MINE_API_KEY")
    text = "x" * 1_995 + secret
    endpoint.script = lambda wire, request: wire.answer({"error": {"message": text}}, status=401)

    made_run(project, tmp_path)

    for path in (tmp_path / "runs").rglob("*"):
        assert not path.is_file() or b"abcde" not in path.read_bytes(), path


def test_what_the_server_says_an_answer_did_cost_is_its_cost(project, endpoint, answers, tmp_path):
    project.case("one")
    project.case("two")
    project.model(base_url=endpoint.base_url)
    said = answers.usage() | {"cost": 0.5}
    endpoint.script = lambda wire, request: wire.stream(answers.stream_of("ok", usage=said))

    made = made_run(project, tmp_path, no_mirrors)

    costs = [(one["cost_usd"], one["cost_source"]) for one in made.results()]
    assert costs == [(0.5, "provider"), (0.5, "provider")]
    assert made.report.cost_usd == 1.0


def test_free_models_are_not_held_up_by_a_limit_on_cost(project, endpoint):
    for name in "abcdef":
        project.case(name)
    project.profile(execution_policy={"max_concurrency": 6})
    project.model(base_url=endpoint.base_url)

    done = collect(project.root, *RUN, "--max-cost", "0", "--assume-price", "0/0", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["present"] == 6


def test_a_trial_without_a_key_is_asked_once_the_key_is_there(project, endpoint, monkeypatch):
    project.case("one")
    project.model(base_url=endpoint.base_url, api_key_env="LATER_API_KEY")
    monkeypatch.delenv("LATER_API_KEY", raising=False)
    first = collect(project.root, *RUN, "--run-id", "r", "--json")
    assert (first.returncode, json.loads(first.stdout)["n_open"]) == (1, 1)
    monkeypatch.setenv("LATER_API_KEY", "key-of-later-1")

    second = collect(project.root, "run", "--resume", "r", "--json")

    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["success"] == 1


def test_a_key_that_is_none_is_refused_before_anything_is_written(project, endpoint, monkeypatch):
    project.case()
    project.model(base_url=endpoint.base_url, api_key_env="BAD_API_KEY")
    monkeypatch.setenv("BAD_API_KEY", "two words")

    done = collect(project.root, *RUN)

    assert done.returncode == 2
    assert "BAD_API_KEY holds characters that no key has" in done.stderr
    assert not (project.root / "runs").exists()


def test_latest_is_the_newest_run_that_began(project, endpoint, tmp_path):
    project.case()
    project.model(base_url=endpoint.base_url)
    good = made_run(project, tmp_path, no_mirrors).dir
    torn = tmp_path / "runs" / "torn"
    shutil.copytree(good, torn)
    config = json.loads((torn / "config.json").read_text())
    (torn / "config.json").write_text(json.dumps(config | {"started_at_ms": 2**50}))
    (torn / "plan.jsonl").unlink()

    assert not is_begun(torn)
    assert latest(tmp_path / "runs") == "r"


def test_a_damaged_folder_is_refused_with_what_to_do(project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)
    made_run(project, project.root, no_mirrors)
    for damage in ("config.json", "plan.jsonl"):
        path = project.root / "runs" / "r" / damage
        whole = path.read_bytes()
        path.write_bytes(whole[:40])

        done = collect(project.root, "run", "--resume", "r")

        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert "missing or damaged" in done.stderr
        assert "--reuse" in done.stderr
        path.write_bytes(whole)


def test_a_run_that_was_moved_away_from_its_cases_is_refused(project, endpoint):
    check = {
        "check_id": "c",
        "declarative": {"kind": "file_exists", "path": "test.yaml"},
    }
    project.case("one", deterministic_checks=[check])
    project.model(base_url=endpoint.base_url)
    endpoint.script = lambda wire, request: wire.answer({}, status=503)
    project.profile(runner_defaults={"retries": 0})
    assert made_run(project, project.root, no_mirrors).report.exit_code == 1
    shutil.copytree(project.root / "runs" / "r", project.root / "deep" / "er" / "runs" / "r")

    done = collect(project.root, "run", "--resume", "r", "--runs", "deep/er/runs")

    assert done.returncode == 2
    assert "the folder of case `one` is not at" in done.stderr


@pytest.mark.peers
def test_an_endpoint_that_swallows_everything_is_given_up(project, tmp_path):
    """Nobody accepts the connection: a time-out before the request was taken."""
    for number in range(8):
        project.case(f"c{number}")
    project.profile(runner_defaults={"retries": 0, "timeout_seconds": 2})
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        full = [socket.socket() for _ in range(4)]
        for one in full:
            one.setblocking(False)
            one.connect_ex(silent.getsockname())
        project.model(base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        made = made_run(project, tmp_path, no_mirrors)
        for one in full:
            one.close()

    codes = [one["error_code"] for one in made.results()]
    assert codes.count("endpoint_given_up") == 5
    assert len(codes) == 8


def test_requests_of_a_suites_model_begin_evenly_spaced(project, endpoint, answers, tmp_path):
    for name in "abcde":
        project.case(name)
    project.profile(execution_policy={"max_concurrency": 5})
    project.model(base_url=endpoint.base_url, requests_per_minute=300)
    asked = []

    def script(wire, request):
        asked.append(time.monotonic())
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script

    assert made_run(project, tmp_path, no_mirrors).report.success == 5
    assert max(asked) - min(asked) >= 4 * 0.2 - 0.1, "at once without the limit"


def test_while_a_server_wants_to_be_left_alone_no_trial_of_its_model_is_asked():
    """Also trials that had booked their moment already."""

    async def run():
        limiter = Limiter(Gate(9), 9, per_minute=1_200)
        refused = Reply(failure_type="http_429", retry_after_s=0.5)
        loop, asked = asyncio.get_running_loop(), []

        async def one():
            place = await limiter.enter()
            await place.before_request()
            asked.append(loop.time())
            place.leave()

        began = loop.time()
        trials = [asyncio.create_task(one()) for _ in range(6)]
        await asyncio.sleep(0.02)
        for _ in range(9):
            limiter.learn(refused)
        await asyncio.gather(*trials)
        return [at - began for at in asked]

    first, *others = asyncio.run(run())
    assert first < 0.4
    assert min(others) >= 0.5


def test_a_lake_that_somebody_deletes_is_made_again_at_the_end(
    project, endpoint, answers, tmp_path
):
    for number in range(12):
        project.case(f"c{number:02d}")
    project.model(base_url=endpoint.base_url)
    lake = tmp_path / "runs" / "lake"

    def script(wire, request):
        wire.sleep(0.1)
        if len(endpoint.requests) == 10 and lake.exists():
            shutil.rmtree(lake)
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script

    (group,) = made_run(project, tmp_path).summary().models

    assert (group.n_planned, group.n_total) == (12, 12)
