"""`analyze show`: a run, a case, a transcript; torn, missing and hostile parts shown as such."""

import json

import orjson
import pytest
import zstandard

from analyze.show.trace_file import NoTrace, read_trace
from schemas.run.trace import READ_BYTES, Artifact
from tests.support import histories
from tests.support.analyze_cli import call, forked
from tests.support.kept_run import collect
from tests.support.run_rows import opinion, trace

pytestmark = pytest.mark.usefixtures("warm_engines")

ANSWER = "line one\nline two \x1b[31mred\x1b[0m\n\tindented\r\nverdict  passed"

TALK = (
    ("message", {"role": "system", "content": "Be brief."}),
    ("message", {"role": "user", "content": "How full\nis the disk?"}),
    ("runner", {"name": "retry_scheduled", "detail": {
        "attempt": 1, "failure_type": "http_429", "error_message": "slow \x1b[2Jdown",
        "wait_ms": 1000,
    }}),
    ("message", {"role": "assistant", "content": "I should look.", "name": "reasoning"}),
    ("tool_call", {"call_id": "call_1", "tool_name": "df", "raw_arguments": '{"path": "/"}'}),
    ("tool_result", {"call_id": "call_1", "status": "success", "output": {"used": "48%"}}),
    ("tool_call", {
        "call_id": "call_2", "tool_name": "df", "raw_arguments": "{}", "repair": "split",
    }),
    ("tool_result", {
        "call_id": "call_2", "status": "error", "output": {"used": "x" * 9}, "shown": "x...",
        "duration_ms": 1002, "exit_code": 3, "ended_by": "time", "truncated": True,
        "produced_bytes": 9000, "stored_bytes": 20, "shown_bytes": 4,
    }),
    ("message", {"role": "assistant", "content": ANSWER}),
    ("final_output", {"content": ANSWER}),
)  # fmt: skip

CHECKS = (
    {"check_id": "there", "kind": "file_exists", "outcome": "failed", "message": "no out.txt"},
)


@pytest.fixture
def talk(run):
    """A run of one case: two trials with traces, the second of which tears; one is missing."""
    trials = [run.plan("c1", n, expected_tools=("df", "free")) for n in (1, 2, 3)]
    first, second = run.write_traces(
        trace("run-1", "m1", "c1", 1, *TALK), trace("run-1", "m1", "c1", 2, *TALK[:2])
    )
    run.result(
        trials[0], artifact_path=first, passed=False, violation="5 words, limit 3",
        raw_output=ANSWER, attempt_count=2, tool_calls=("df",), tool_call_source="api",
        checks=CHECKS, checks_failed=1, cost_usd=0.000123, cost_source="provider", tool_ms=1002,
    )  # fmt: skip
    run.result(trials[1], artifact_path=second, raw_output="from the lake \x1b]0;x\x07")
    run.write()
    case = orjson.dumps({"case_id": "c1", "validator": {"type": "max_words", "value": 3}})
    (run.path / "cases.jsonl.zst").write_bytes(zstandard.compress(case + b"\n"))
    return run


def show(run, *args, **options):
    done = call("show", *args, "--runs", run.runs_dir, **options)
    assert "\x1b" not in done.out
    assert "\x07" not in done.out
    return done


def tear(run):
    file = run.path / "artifacts" / "m1.jsonl.zst"
    file.write_bytes(file.read_bytes()[:-5])


def test_a_transcript_has_everything_that_was_said_and_done(talk):
    text = show(talk, "run-1", "c1", "m1", "1").out

    for part in (
        "did not pass", 'expected  {"value": 3}', "5 words, limit 3",
        "called: df (seen in the api)",
        "expected: df, free", "check there (file_exists): failed: no out.txt", "Be brief.",
        "How full\n    is the disk?", "retry_scheduled", "wait_ms 1000", "tool call  df  [call_1]",
        '{"path": "/"}', "tool result  success", '{"used": "48%"}', "assistant (reasoning)",
        "final output: the message above", "0.000123 USD, named by the provider", "usage  {",
        "2.5s with waits and retries", "2, the last one HTTP 200", "1.0s for tools",
        "tool call  df  [call_2]  split", "the model read:\n    x...",
        "tool result  error  [call_2]  duration_ms 1002  produced_bytes 9000  stored_bytes 20  "
        "shown_bytes 4  truncated true  exit_code 3  ended_by time",
    ):  # fmt: skip
        assert part in text


def test_what_a_model_wrote_cannot_look_like_a_line_of_ours(talk):
    lines = show(talk, "run-1", "c1", "m1", "1").out.splitlines()

    assert lines.count("verdict   did not pass") == 1
    assert "    verdict  passed" in lines
    assert "    line two \\x1b[31mred\\x1b[0m" in lines


def test_a_torn_trace_is_one_sentence_and_the_answer_comes_from_the_lake(talk):
    tear(talk)
    text = show(talk, "run-1", "c1", "m1", "2").out

    assert "No transcript: artifacts/m1.jsonl.zst is torn or holds no trace at byte" in text
    assert "    from the lake \\x1b]0;x\\x07" in text
    assert "Be brief." in show(talk, "run-1", "c1", "m1", "1").out  # the frames before are whole


def test_a_run_that_is_in_the_lake_only_shows_what_the_lake_has(talk):
    histories.lake_only(talk)
    text = show(talk, "run-1", "c1", "m1", "2").out

    assert "No transcript: the folder of the run is not here" in text
    assert "from the lake" in text
    assert "in the lake only" in show(talk, "run-1").out


def test_a_missing_trial_is_said_to_be_missing(talk):
    text = show(talk, "run-1", "c1", "m1", "3").out

    assert "verdict  missing" in text
    assert "planned and has no result" in text


def test_a_case_lists_every_trial_of_it(talk):
    done = show(talk, "run-1", "c1")
    data = json.loads(show(talk, "run-1", "c1", "--json").out)

    assert "analyze show run-1 c1 m1" in done.out
    assert "file: " not in done.out
    assert "5 words, limit 3; there: no out.txt" in show(talk, "run-1", "c1", columns=200).out
    assert [trial["passed"] for trial in data["trials"]] == [False, True, None]
    assert data["validator"] == {"type": "max_words", "value": 3}


def test_a_model_without_a_repetition_shows_all_of_them(talk):
    data = json.loads(show(talk, "run-1", "c1", "llama3.2:3b", "--json").out)

    assert [trial["repetition"] for trial in data] == [1, 2, 3]
    assert len(data[0]["artifact"]["trace"]) == len(TALK)
    assert data[2]["artifact"] is None
    assert data[2]["no_artifact_because"] == "its result names no trace"


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_page_of_a_run_says_how_it_went_and_what_to_do_next(talk, columns):
    text = show(talk, "run-1", columns=columns).out

    assert "2 of 3 planned" in text
    assert "1 missing" in text
    assert "collect run --resume run-1" in text
    assert "analyze show run-1 c1 m1" in text
    assert "unknown" not in text
    table = text.partition("\n\n")[2]
    assert max(len(line) for line in table.splitlines() if "--runs" not in line) <= columns


def test_the_page_of_a_run_has_its_bad_lines(talk):
    talk.lines.insert(1, b"broken \x1b[2J\n")
    talk.write()
    text = show(talk, "run-1").out

    assert "problems: 1" in text
    assert "results.jsonl:2" in text


def test_an_imported_run_is_shown_without_hashes_and_traces(new_run):
    folder = histories.imported(new_run().runs_dir)
    run = new_run(folder.name)

    assert "imported" in show(run, "latest").out
    text = show(
        run, "latest", json.loads(show(run, "latest", "--json").out)["not_passed"][0]["case_id"]
    )
    assert "not_exact" in text.out
    assert "collect run --resume" not in show(run, "latest").out


def test_a_run_without_anything_to_judge_by_says_so(run):
    run.result(run.plan(validator_type=None), passed=None)
    run.write()

    assert "none: no case has anything to judge by" in show(run, "run-1").out
    assert "the case has nothing to judge by" in show(run, "run-1", "c1", "m1").out


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("run-2",), "did you mean `run-1`?"),
        (("run-1", "case-onee"), "did you mean `case-one`?"),
        (("run-1", "case-one", "local-modell"), "did you mean `local-model`?"),
        (("run-1", "case-one", "local-model", "7"), "allowed: 1 to 1"),
    ],
)
def test_typos_are_usage_errors_that_name_the_nearest(run, words, near):
    run.result(run.plan("case-one", model_id="local-model"))
    run.write()
    done = show(run, *words)

    assert done.code == 2
    assert near in done.err


def test_a_record_that_was_superseded_is_counted(run):
    trial = run.plan()
    run.result(trial, failure_type="http_500")
    run.result(trial, raw_output="second try")
    run.write()
    text = show(run, "run-1", "c1", "m1").out

    assert "the last of 2 records of this trial" in text
    assert "second try" in text


def test_as_a_process_from_the_folder_of_the_run(talk):
    done = forked("show", ".", "c1", "m1", "1", cwd=talk.path)

    assert (done.code, done.err) == (0, "")
    assert "Be brief." in done.out


def test_a_real_run_is_shown_word_for_word(project, endpoint, answers, monkeypatch):
    calls = []

    def script(wire, request):
        calls.append(request)
        if len(calls) == 1:
            wire.answer({"error": "busy"}, status=503, headers=("Retry-After: 0",))
        else:
            wire.stream(answers.stream_of("Hello there."))

    endpoint.script = script
    project.model(base_url=endpoint.base_url)
    project.case(validator={"type": "exact", "value": "Goodbye."})
    monkeypatch.chdir(project.root)
    ran = collect(project.root, "run", "--suite", "s", "--run-profile", "p")
    done = call("show", "latest", "one", "m")

    assert ran.returncode == 0, ran.stderr
    text = done.out
    for part in ("Say one.", "Hello there.", "retry_scheduled", 'expected  {"value": "Goodbye."}'):
        assert part in text


def test_one_frame_is_read_and_never_the_whole_file(run):
    artifacts = [trace("run-1", "m1", "c1", n, *TALK) for n in range(1, 4)]
    paths = run.write_traces(*artifacts)
    file = run.path / "artifacts" / "m1.jsonl.zst"
    with file.open("ab") as end:
        end.truncate(file.stat().st_size + 2**33)  # sparse: reading it whole would not end well

    found = [read_trace(run.path, path) for path in paths]

    assert [one.repetition for one in found] == [1, 2, 3]
    assert READ_BYTES < 2**20


@pytest.mark.parametrize(
    "reference",
    [
        "../m1.jsonl.zst#0", "artifacts/../../x.jsonl.zst#0", "/etc/passwd#0",
        "artifacts/m1.jsonl.zst", "artifacts/m1.jsonl.zst#-1", "artifacts/m1.jsonl.zst#7",
        "artifacts/m2.jsonl.zst#0",
        "artifacts/folder.jsonl.zst#0", "artifacts/other.jsonl.zst#0", "", None,
    ],
)  # fmt: skip
def test_what_is_no_trace_of_ours_is_a_sentence(run, reference):
    run.write_traces(trace("run-1", "m1", "c1", 1, *TALK))
    (run.path / "artifacts" / "folder.jsonl.zst").mkdir()
    other = zstandard.compress(b'{"not": "ours"}\n')
    (run.path / "artifacts" / "other.jsonl.zst").write_bytes(other)

    found = read_trace(run.path, reference)

    assert isinstance(found, NoTrace)
    assert found.reason


def test_a_trace_cut_anywhere_is_a_sentence(run):
    (path,) = run.write_traces(trace("run-1", "m1", "c1", 1, *TALK))
    file = run.path / "artifacts" / "m1.jsonl.zst"
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        assert isinstance(read_trace(run.path, path), NoTrace)
    file.write_bytes(whole)
    assert isinstance(read_trace(run.path, path), Artifact)


@pytest.fixture(scope="module")
def thrice(shared_run):
    """A run of 24 cases with two models, each asked three times: `b` never says it right."""
    run = shared_run("thrice")
    for number in range(24):
        for repetition in (1, 2, 3):
            for model_id, is_right in (("a", number > 0 or repetition == 2), ("b", False)):
                trial = run.plan(f"c{number:02d}", repetition, model_id)
                if (number, model_id, repetition) == (0, "a", 3):
                    continue
                failure = "timeout" if (model_id, repetition, number) == ("b", 3, 0) else None
                why = None if is_right or failure else "not_exact"
                run.result(trial, passed=is_right, violation=why, failure_type=failure)
    run.write()
    return run


def test_the_page_of_a_run_has_the_repetitions_of_a_case_in_one_row(thrice):
    done = show(thrice, "thrice")
    head, *rows = done.out.partition("\ncase ")[2].splitlines()

    assert head.split() == ["model", "passed", "why"]
    assert rows[0].split(None, 3) == ["c00", "a", "1/3", "not_exact (1); missing (1)"]
    assert rows[1].split(None, 3) == ["c00", "b", "0/3", "not_exact (2); timeout (1)"]
    assert rows[2].split(None, 3) == ["c01", "b", "0/3", "not_exact"]
    assert rows[20] == "and 5 more"
    data = json.loads(show(thrice, "thrice", "--json").out)
    assert data["n_not_passed"] == 1 + 24 * 3
    listed = [(one["case_id"], one["model_id"], one["repetition"]) for one in data["not_passed"]]
    assert listed[:5] == [("c00", "a", 1), *(("c00", "b", n) for n in (1, 2, 3)), ("c01", "b", 1)]
    assert len(listed) == 20


def test_the_page_of_a_case_says_how_many_repetitions_of_each_model_passed(thrice):
    rows = show(thrice, "thrice", "c00").out.partition("\nmodel ")[2].splitlines()[1:7]

    assert [row.split()[:2] for row in rows] == [
        ["a", "1/3"], ["a", "2"], ["a", "3"], ["b", "0/3"], ["b", "2"], ["b", "3"],
    ]  # fmt: skip


def test_trials_without_anything_to_judge_by_have_no_count_of_passes(new_run):
    run = new_run("blank")
    run.result(run.plan(validator_type=None), passed=None, failure_type="http_500")
    run.write()

    assert "0/1" not in show(run, "blank").out + show(run, "blank", "c1").out


def test_a_trial_has_what_judges_said_of_it(new_run):
    run = new_run()
    made = run.plan("c1")
    run.result(made, passed=None, raw_output="Hi.")
    run.judged(made, 1, threshold=5)  # an older word of the same judges
    said = opinion(8, {"hard-1": "met", "soft-1": "cannot_say"}, spark=3)
    run.judged(made, said, "refusal", said, threshold=5, soft_score=0.75)
    run.judged(made, "invalid", evaluation_profile_id="kind")
    run.write()

    page = call("show", "run-1", "c1", "m1", "--runs", run.runs_dir).out
    (found,) = json.loads(call("show", "run-1", "c1", "m1", "--runs", run.runs_dir, "--json").out)

    assert "judged by kind: no answer of a judge could be used" in page
    assert "judged by strict: final score 8 of 10, passed (threshold 5)" in page
    assert "spark 3; below the threshold: spark" in page
    assert "expectations  hard-1 met, soft-1 cannot say; soft score 0.75" in page
    assert "main 1 (judge): 8: ok" in page
    assert "main 2 (judge): refusal" in page
    kind, strict = found["judgements"]
    assert (kind["status"], strict["final_score"]) == ("failed", 8)
    assert [one["failure"] for one in strict["answers"]] == [None, "refusal", None]


def test_a_trial_has_whom_judges_prefer(new_run):
    run = new_run()
    made = run.plan("c1")
    run.result(made, passed=None, raw_output="Hi.")
    run.compared(made, "other", "other", outcome="lost")  # an older word of the same judges
    run.compared(made, "this", "other", outcome="tied", n_flips_to_first=1)
    run.compared(made, other_run_id="z", outcome="tied", is_identical=True, n_comparisons=0)
    run.compared(made, "this", "refusal", other_run_id="y", outcome=None, status="failed")
    run.compared(made, "cannot_say", "tie", other_run_id="x", outcome=None)
    run.write()

    page = call("show", "run-1", "c1", "m1", "--runs", run.runs_dir).out
    (found,) = json.loads(call("show", "run-1", "c1", "m1", "--runs", run.runs_dir, "--json").out)

    assert "compared by strict with m of run other: tied; 1 of 1 comparison went by" in page
    assert "main 1, this first (judge): this: ok" in page
    assert "with m of run x: no judge can say" in page
    assert "main 1, this first (judge): cannot say: ok" in page
    assert "with m of run y: no answers of a judge in both orders could be used" in page
    assert "main 1, other first (judge): refusal" in page
    assert "with m of run z: tied: both left the same" in page
    assert "lost" not in page
    first = found["preferences"][0]
    assert (first["other_run_id"], first["outcome"], first["n_flips_to_first"]) == (
        "other",
        "tied",
        1,
    )
    assert [one["preferred"] for one in first["answers"]] == ["other", "this"]
