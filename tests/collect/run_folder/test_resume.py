"""`--resume` and `--reuse` as people use them: what is asked again, what stays, what is refused."""

import collections
import json
import shutil
import threading

import pytest

from collect.run_folder.log import RunLog
from tests.support.kept_run import (
    Kept,
    assert_fits_together,
    begin,
    collect,
    collect_log,
    wait_for,
)
from tests.support.processes import processes_of

NEW = ("run", "--suite", "s", "--run-profile", "p", "--json")


@pytest.fixture
def work(project, endpoint, answers):
    """Six cases; `endpoint.broken` maps words of a prompt to the status it is answered with."""
    for number in range(6):
        project.case(f"c{number}", validator={"type": "exact", "value": f"Say c{number}."})
    project.model(base_url=endpoint.base_url)
    set_profile(project)
    endpoint.broken = {}

    def script(wire, request):
        prompt = request.body["messages"][0]["content"]
        status = next((status for word, status in endpoint.broken.items() if word in prompt), None)
        if status is None:
            wire.stream(answers.stream_of(prompt))
        else:
            wire.answer({"error": {"message": "no"}}, status=status)

    endpoint.script = script
    return project


def set_profile(project, repetitions=1, **defaults):
    project.profile(
        execution_policy={"run_repetitions": repetitions, "stop_on_runner_error": False},
        runner_defaults={"retries": 0} | defaults,
    )


def run(project, *arguments):
    done = collect(project.root, *NEW, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def run_log(project, *arguments):
    """Make a run whose log alone is looked at, or gone on with."""
    done = collect_log(project.root, *NEW, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def resume(project, *arguments, by=collect):
    done = by(project.root, "run", "--resume", *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def kept(project, run_id="r"):
    return Kept(project.root / "runs" / run_id)


def asked(endpoint):
    """Return how often each prompt was asked since the last look."""
    prompts = [request.body["messages"][-1]["content"] for request in endpoint.requests]
    endpoint.requests.clear()
    return collections.Counter(prompts)


def refusal(done):
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(("error: ", "Usage: "))
    return done.stderr


def test_want_of_credit_is_asked_again_and_the_time_of_both_parts_counts(work, endpoint):
    endpoint.broken = {"c1": 402, "c2": 400}
    quick = endpoint.script

    def slow(wire, request):
        wire.sleep(0.15)
        quick(wire, request)

    endpoint.script = slow
    run_log(work, "--run-id", "r")
    endpoint.script = quick
    first = [row["elapsed_ms"] for row in kept(work).results()]
    asked(endpoint)
    endpoint.broken = {}

    done = resume(work, "r", "--json")

    assert set(asked(endpoint)) == {"Say c1."}, "a 402 is mended by money, a 400 by nobody"
    assert json.loads(done.stdout)["success"] == 5
    *_, last = kept(work).results()
    assert first == sorted(first)
    assert last["elapsed_ms"] >= max(first) >= 6 * 150, "the second part alone is much shorter"
    summary = json.loads((work.root / "runs" / "r" / "summary.json").read_text())
    assert summary["run_wall_clock_ms"] == last["elapsed_ms"]
    wall = last["ended_at_ms"] - min(row["started_at_ms"] for row in kept(work).results())
    assert last["elapsed_ms"] < wall, "the pause between the two is no part of it"


def test_failures_that_may_pass_are_tried_again_and_others_stay(work, endpoint):
    endpoint.broken = {"c1": 503, "c2": 400, "c3": 429}
    first = run(work, "--run-id", "r")
    assert (first.returncode, json.loads(first.stdout)["success"]) == (1, 3)
    asked(endpoint)
    endpoint.broken = {"c1": 500}

    done = resume(work, "r", "--json")

    assert json.loads(done.stdout)["by_status"] == {"success": 4, "provider_error": 2}
    assert kept(work).summary()["failures"] == {"http_400": 1, "http_500": 1}
    assert asked(endpoint) == {"Say c1.": 1, "Say c3.": 1}
    endpoint.broken = {}

    done = resume(work, "r", "--json")

    report = json.loads(done.stdout)
    assert (report["planned"], report["present"], report["success"], report["passed"]) == (
        6,
        6,
        5,
        5,
    )
    assert report["by_status"] == {"success": 5, "provider_error": 1}
    assert done.returncode == 1, "c2 failed for a reason outside the model"
    assert asked(endpoint) == {"Say c1.": 1}
    whole = assert_fits_together(work.root / "runs" / "r")
    records = [(row["case_id"], row["failure_type"] or "") for row in whole.results()]
    assert sorted(records) == [
        ("c0", ""), ("c1", ""), ("c1", "http_500"), ("c1", "http_503"), ("c2", "http_400"),
        ("c3", ""), ("c3", "http_429"), ("c4", ""), ("c5", ""),
    ]  # fmt: skip
    assert whole.summary()["failures"] == {"http_400": 1}
    assert whole.summary()["n_success"] == 5


def test_the_stored_plan_counts_not_the_edited_files(work, endpoint):
    endpoint.broken = {"c1": 503}
    run_log(work, "--run-id", "r")
    asked(endpoint)
    endpoint.broken = {}
    message = {"role": "user", "content": "Something else."}
    work.case("c1", input={"messages": [message]})
    work.case("c9")
    work.model(base_url="http://127.0.0.1:9/v1", requested_model="another")
    set_profile(work, repetitions=3, temperature=0.7)
    shutil.rmtree(work.root / "configs" / "cases" / "group" / "c2")

    done = resume(work, "latest", "--json")

    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["run_id"], json.loads(done.stdout)["planned"]) == ("r", 6)
    (request,) = endpoint.requests
    assert request.body["messages"][0]["content"] == "Say c1."
    assert (request.body["model"], "temperature" in request.body) == ("r", False)
    assert_fits_together(work.root / "runs" / "r")


def test_latest_is_the_run_that_started_last_and_needs_no_file_of_the_project(work, endpoint):
    run_log(work, "--run-id", "z-first")
    endpoint.broken = {"c1": 503}
    run_log(work, "--run-id", "a-second")
    endpoint.broken = {}
    shutil.rmtree(work.root / "configs")

    done = resume(work, "latest", "--json")

    assert (done.returncode, json.loads(done.stdout)["run_id"]) == (0, "a-second")


def test_a_complete_run_asks_nothing_and_stays_as_it_is(work, endpoint):
    run(work, "--run-id", "r")
    before = (work.root / "runs/r/results.jsonl").read_bytes()
    summary = (work.root / "runs/r/summary.json").read_bytes()
    asked(endpoint)

    done = resume(work, "r")

    assert done.returncode == 0
    assert "6 of 6 trials, 6 passed" in done.stdout
    assert endpoint.requests == []
    assert (work.root / "runs/r/results.jsonl").read_bytes() == before
    assert (work.root / "runs/r/summary.json").read_bytes() == summary
    assert_fits_together(work.root / "runs" / "r")


def test_the_last_words_of_a_run_that_is_not_whole_are_a_command_that_completes_it(work, endpoint):
    endpoint.broken = {"c1": 503}
    done = collect(work.root, *NEW[:-1], "--run-id", "r")
    endpoint.broken = {}

    again = done.stdout.splitlines()[-1]

    assert again == "next: collect run --resume r"
    assert collect(work.root, *again.split()[2:]).returncode == 0


def test_flags_that_would_change_the_plan_are_refused_all_at_once(project):
    flags = {
        "--suite": "s", "--run-profile": "p", "--run-id": "x", "--reuse": None, "--case": "c1",
        "--tag": "t", "--model": "m", "--max-trials": "3", "--shard": "1/2", "--label": "l",
    }  # fmt: skip
    words = [word for pair in flags.items() for word in pair if word is not None]

    said = refusal(collect(project.root, "run", "--resume", "r", *words))

    for flag in flags:
        assert flag in said
    assert "cannot be given with --resume: the run goes on as it was planned" in said


def test_a_run_that_is_not_there_is_refused_with_the_nearest_name(work):
    run_log(work, "--run-id", "monday-7b")

    near = refusal(resume(work, "monday-7c"))
    far = refusal(resume(work, "x"))
    empty = refusal(resume(work, "latest", "--runs", "elsewhere"))

    assert near == (
        "error: runs/monday-7c cannot be resumed: there is no such run in runs; "
        "did you mean `monday-7b`?\n"
    )
    assert "there is no such run in runs; the newest of 1 is `monday-7b`" in far
    assert empty == (
        "error: elsewhere/latest cannot be resumed: there are no runs; "
        "make one with `collect run`\n"
    )


def test_a_run_of_an_older_benchlake_is_refused_and_left_alone(work, endpoint):
    run_log(work, "--run-id", "r")
    folder = work.root / "runs/r"
    (folder / "cases.jsonl.zst").unlink()
    before = (folder / "results.jsonl").read_bytes()

    said = refusal(resume(work, "r"))

    assert "it has no cases.jsonl.zst; an earlier benchlake made it" in said
    assert (folder / "results.jsonl").read_bytes() == before


def test_a_second_collector_is_refused_by_the_first_ones_process(work, endpoint, answers):
    is_refused = threading.Event()

    def script(wire, request):
        is_refused.wait(60)
        wire.stream(answers.stream_of("x"))

    endpoint.script = script
    process = begin(work.root, *NEW, "--run-id", "r")
    try:
        wait_for(lambda: len(endpoint.requests) > 0)

        said = refusal(resume(work, "r"))

        assert f"another collector works on runs/r (process {process.pid})" in said
        assert "wait until it has ended, or start another run with another --run-id" in said
    finally:
        is_refused.set()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert_fits_together(work.root / "runs" / "r")


def test_a_limit_on_cost_counts_what_the_run_has_spent_already(work, endpoint, answers):
    """Each answer costs 0.10; the first part of the run spent 0.30."""
    set_profile(work, max_tokens=100)
    said = {"usage": {"prompt_tokens": 0, "completion_tokens": 100}}

    def script(wire, request):
        broken = any(word in request.body["messages"][0]["content"] for word in endpoint.broken)
        if broken:
            wire.answer({}, status=503)
        else:
            wire.stream(answers.sse(answers.chunk("ok", "stop") | said))

    endpoint.script = script
    endpoint.broken = {"c3", "c4", "c5"}
    price = ("--assume-price", "0/1000")
    assert json.loads(run_log(work, "--run-id", "r", *price).stdout)["cost_usd"] == pytest.approx(
        0.3
    )
    asked(endpoint)
    endpoint.broken = {}

    done = resume(work, "r", "--max-cost", "0.45", "--json", by=collect_log)

    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["cost_usd"] == pytest.approx(0.4)
    assert asked(endpoint) == {"Say c3.": 1}
    assert report["present"] == 6, "c4 and c5 have their failures of the first part"
    assert kept(work).events("run_stopped")

    done = resume(work, "r", "--json")

    assert (done.returncode, json.loads(done.stdout)["cost_usd"]) == (0, pytest.approx(0.6))


def test_a_limit_on_cost_of_a_resumed_run_needs_a_price(work, endpoint):
    endpoint.broken = {"c1": 503}
    run_log(work, "--run-id", "r")
    asked(endpoint)

    assert "model `m` has no price" in refusal(resume(work, "r", "--max-cost", "1"))
    assert endpoint.requests == []
    log = RunLog.reopen(work.root / "runs" / "r")
    log.close()


def test_an_older_run_is_completed_in_the_lake_as_well(work, endpoint):
    """Killed right after its trials, before the mirror sealed a row."""
    run_log(work, "--run-id", "r")

    assert resume(work, "r").returncode == 0
    assert_fits_together(work.root / "runs" / "r")


def test_reuse_asks_only_what_is_new(work, endpoint):
    run_log(work, "--run-id", "one")
    asked(endpoint)
    set_profile(work, repetitions=3)

    done = run(work, "--run-id", "two", "--reuse")

    assert done.returncode == 0, done.stderr
    assert "6 of 18 trials are taken from earlier runs" in done.stderr
    assert set(asked(endpoint).values()) == {2}
    report = json.loads(done.stdout)
    assert (report["planned"], report["present"], report["passed"]) == (18, 18, 18)
    whole = assert_fits_together(work.root / "runs" / "two")
    reused = [row for row in whole.results() if row["reused_from_run_id"] is not None]
    assert {(row["repetition"], row["reused_from_run_id"]) for row in reused} == {(1, "one")}
    assert {row["run_id"] for row in whole.results()} == {"two"}
    shutil.rmtree(work.root / "runs" / "one")
    old = {row["case_id"]: row for row in reused}
    for case_id, row in old.items():
        trace = whole.artifact(row).trace
        assert trace[0].content == f"Say {case_id}.", "the trace is the new run's own"


def test_a_cluster_is_kept_with_the_run_and_makes_no_case_another(work, endpoint):
    """Cases can be put into clusters after their first run: nothing is asked again for it."""
    endpoint.broken = {"c5": 503}
    run(work, "--run-id", "one")
    for number in range(6):
        said = {"type": "exact", "value": f"Say c{number}."}
        work.case(f"c{number}", validator=said, cluster=f"half-{number % 2}")
    run(work, "--run-id", "two", "--reuse")
    asked(endpoint)
    endpoint.broken = {}

    assert resume(work, "two").returncode == 0

    assert asked(endpoint) == {"Say c5.": 1}
    kept_of = {}
    for run_id in ("one", "two"):
        text = (kept(work, run_id).dir / "plan.jsonl").read_text()
        plan = [json.loads(line) for line in text.splitlines()]
        kept_of[run_id] = {row["case_id"]: row.get("cluster") for row in plan}
        in_lake = kept(work, run_id).lake_table("plans").to_pylist()
        assert {row["case_id"]: row["cluster"] for row in in_lake} == kept_of[run_id]
        assert ('"cluster"' in text) == (run_id == "two"), "without one the line has no such field"
    assert kept_of["one"] == dict.fromkeys(kept_of["one"])
    assert kept_of["two"] == {f"c{number}": f"half-{number % 2}" for number in range(6)}


def test_what_has_changed_or_failed_is_asked_again(work, endpoint):
    endpoint.broken = {"c2": 503, "c3": 400}
    run_log(work, "--run-id", "one")
    asked(endpoint)
    endpoint.broken = {}
    work.case("c1", input={"messages": [{"role": "user", "content": "Say c1, please."}]})

    assert run(work, "--run-id", "two", "--reuse").returncode == 0
    assert asked(endpoint) == {"Say c1, please.": 1, "Say c2.": 1, "Say c3.": 1}

    set_profile(work, temperature=0.5)
    run_log(work, "--run-id", "three", "--reuse")
    assert asked(endpoint).total() == 6


def test_reused_answers_have_verdicts_but_no_cost_tokens_or_latency(work, endpoint):
    price = ("--assume-price", "1000/1000")
    first = run(work, "--run-id", "one", *price)
    assert json.loads(first.stdout)["cost_usd"] > 0
    set_profile(work, repetitions=2)
    half = run(work, "--run-id", "two", "--reuse", *price)
    whole = run(work, "--run-id", "three", "--reuse", "--max-cost", "0", *price)

    one, two, three = (kept(work, name).summary() for name in ("one", "two", "three"))
    assert [group["n_passed"] if "n_passed" in group else group["n_success"]
            for group in (one, two, three)] == [6, 12, 12]  # fmt: skip
    assert json.loads(half.stdout)["cost_usd"] == pytest.approx(two["cost_usd"])
    assert two["cost_usd"] == pytest.approx(one["cost_usd"]), "six new answers, not twelve"
    assert two["tokens"] == one["tokens"]
    assert json.loads(whole.stdout)["cost_usd"] is None
    assert three["cost_usd"] is None
    assert three["latency_ms"]["p50"] is None
    assert three["passed_rate"] == 1.0
    assert whole.returncode == 0, "nothing had to be asked"


def test_reused_answers_are_reused_from_where_they_were_made(work, endpoint):
    for name in ("one", "two"):
        run_log(work, "--run-id", name, "--reuse")
    run(work, "--run-id", "three", "--reuse")

    assert asked(endpoint).total() == 6
    rows = kept(work, "three").results()
    assert {row["reused_from_run_id"] for row in rows} == {"one"}
    assert not processes_of(work.root)


def test_a_resumed_run_keeps_its_limit_on_cost_until_told_otherwise(work, endpoint, answers):
    """Each of six answers costs 0.10, and the run may cost 0.25."""
    set_profile(work, max_tokens=100)
    said = {"usage": {"prompt_tokens": 0, "completion_tokens": 100}}
    endpoint.script = lambda wire, request: wire.stream(
        answers.sse(answers.chunk("ok", "stop") | said)
    )
    limited = run_log(work, "--run-id", "r", "--max-cost", "0.25", "--assume-price", "0/1000")
    assert "--max-cost USD` raises it" in limited.stderr
    assert sum(asked(endpoint).values()) == 2

    again = resume(work, "r", "--json", by=collect_log)

    assert (again.returncode, sum(asked(endpoint).values())) == (1, 0)

    more = resume(work, "r", "--max-cost", "1", "--json")

    assert (more.returncode, json.loads(more.stdout)["present"]) == (0, 6)
