"""Answers of earlier runs: the newest success of the same fingerprint, with its trace."""

import orjson
import pytest
import zstandard

from collect.plan.changes import newest_first
from collect.run_folder.reuse import find_reusable, reused_result
from schemas.run.result import Result
from tests.support.run_rows import config, failed, line_of, planned, result

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64


class Runs:
    """A folder of runs put together by hand."""

    def __init__(self, root):
        self.root = root

    def add(self, run_id, *records, started=1, end=b""):
        """Write a run whose successes each have a trace that says which run it is of."""
        folder = self.root / run_id
        (folder / "artifacts").mkdir(parents=True)
        text = config(run_id=run_id, started_at_ms=started).model_dump_json()
        (folder / "config.json").write_text(text)
        traces, lines = b"", b""
        for record in records:
            place = f"artifacts/m.jsonl.zst#{len(traces)}"
            lines += line_of(record.model_copy(update={"run_id": run_id, "artifact_path": place}))
            text = f"{run_id} {record.repetition} {record.case_id}"
            traces += zstandard.ZstdCompressor().compress(text.encode())
        (folder / "artifacts" / "m.jsonl.zst").write_bytes(traces)
        (folder / "results.jsonl").write_bytes(lines + end)
        return folder

    def find(self, *wanted, run_id="new"):
        return {found.run_fingerprint: found for found in find_reusable(self.root, run_id, wanted)}


def trace(found):
    return zstandard.ZstdDecompressor().decompress(found.frame).decode()


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs")


def answer(fingerprint=ONE, **fields):
    return result(run_fingerprint=fingerprint, **fields)


def test_the_newest_run_that_has_a_success_is_taken(runs):
    runs.add("b-old", answer(raw_output="old"), answer(TWO, raw_output="old"), started=100)
    runs.add("a-new", answer(raw_output="new"), failed("timeout", run_fingerprint=TWO), started=200)

    found = runs.find(ONE, TWO, THREE)

    assert {key: one.result.raw_output for key, one in found.items()} == {ONE: "new", TWO: "old"}
    assert trace(found[ONE]) == "a-new 1 one"
    assert trace(found[TWO]) == "b-old 1 one"


def test_runs_are_newest_by_their_start_not_by_their_name(runs):
    for run_id, started in (("z", 1), ("a", 3), ("m", 2)):
        runs.add(run_id, started=started)

    assert [path.name for path in newest_first(runs.root)] == ["a", "m", "z"]


def test_within_a_run_the_later_record_is_taken(runs):
    runs.add("r", answer(raw_output="first"), answer(raw_output="second"))

    assert runs.find(ONE)[ONE].result.raw_output == "second"


@pytest.mark.parametrize("failure_type", ["http_503", "timeout", "http_400", "output_truncated"])
def test_a_failed_trial_is_never_taken_and_hides_no_success_before_it(runs, failure_type):
    """A failure may say of itself that it is a success; each of its words is looked at."""
    bad = failed(failure_type, run_fingerprint=ONE, raw_output="failed")
    half = bad.model_copy(update={"status": "success"})
    other = bad.model_copy(update={"success": True, "failure_type": None})
    runs.add("only-failed", bad, half, other, started=3)
    assert runs.find(ONE) == {}

    runs.add("older", answer(raw_output="good"), started=1)
    assert runs.find(ONE)[ONE].result.raw_output == "good"
    runs.add("newer", answer(raw_output="better"), bad, other, started=2)
    assert runs.find(ONE)[ONE].result.raw_output == "better"


def test_the_new_run_itself_is_not_looked_into(runs):
    runs.add("new", answer())

    assert runs.find(ONE) == {}


def test_there_may_be_no_runs_at_all(runs):
    assert runs.find(ONE) == {}


def test_a_run_is_not_opened_when_all_is_found(runs):
    runs.add("old", answer(), started=1)
    runs.add("new-est", answer(), started=2)
    (runs.root / "old" / "results.jsonl").unlink()
    (runs.root / "old" / "results.jsonl").mkdir()

    assert set(runs.find(ONE)) == {ONE}


@pytest.mark.parametrize(
    "fields",
    [
        {"fingerprint_version": 2},
        {"fingerprint_version": None},
        {"run_fingerprint": None},
        {"status": "failed"},
        {"success": False, "failure_type": "timeout"},
    ],
)
def test_what_is_no_success_of_the_same_fingerprint_is_not_taken(runs, fields):
    runs.add("r", answer().model_copy(update=fields))

    assert runs.find(ONE) == {}


def test_an_answer_that_failed_its_check_is_taken_as_it_is(runs):
    runs.add("r", answer(passed=False, objective_pass=False, violation="too long"))

    found = runs.find(ONE)[ONE].result

    assert (found.passed, found.violation) == (False, "too long")


def test_what_a_model_says_is_never_taken_for_a_field(runs):
    lie = {"run_fingerprint": ONE, "fingerprint_version": 1, "status": "success"}
    text = orjson.dumps(lie).decode()
    runs.add(
        "r",
        answer(TWO, parsed_output=lie, raw_output=text, reused_from_run_id=text, error_code=text),
    )

    assert runs.find(ONE) == {}
    assert set(runs.find(TWO)) == {TWO}


@pytest.mark.parametrize(
    "end",
    [line_of(answer(raw_output="torn"))[:-200], b"\0" * 5_000, b"{]\n", b"\xff\n", b"[]\n\n"],
)
def test_broken_ends_of_other_runs_do_no_harm(runs, end):
    runs.add("r", answer(TWO), end=end)

    assert set(runs.find(ONE, TWO)) == {TWO}


def test_a_line_written_by_somebody_else_with_spaces_is_passed_over_not_misread(runs):
    folder = runs.add("r", answer(TWO))
    row = orjson.loads(line_of(answer()))
    with (folder / "results.jsonl").open("ab") as log:
        log.write(orjson.dumps(row, option=orjson.OPT_INDENT_2).replace(b"\n", b" ") + b"\n")

    assert set(runs.find(ONE, TWO)) == {TWO}


@pytest.mark.parametrize("config_json", [None, "", "[]", "{}", '{"started_at_ms": "soon"}', "{"])
def test_a_folder_that_is_no_run_is_passed_over(runs, config_json):
    folder = runs.add("odd", answer(), started=9)
    runs.add("good", answer(raw_output="good"), started=1)
    (folder / "config.json").unlink()
    if config_json is not None:
        (folder / "config.json").write_text(config_json)

    assert runs.find(ONE)[ONE].result.raw_output == "good"


@pytest.mark.parametrize("trouble", ["no file", "empty", "torn", "zeros", "no path", "elsewhere"])
def test_an_answer_whose_trace_is_lost_is_taken_without_it(runs, trouble):
    folder = runs.add("r", answer())
    traces, log = folder / "artifacts" / "m.jsonl.zst", folder / "results.jsonl"
    whole = traces.read_bytes()
    if trouble == "no file":
        traces.unlink()
    elif trouble in {"no path", "elsewhere"}:
        path = None if trouble == "no path" else "../r/artifacts/m.jsonl.zst#0"
        row = orjson.loads(log.read_bytes()) | {"artifact_path": path}
        log.write_bytes(orjson.dumps(row) + b"\n")
    else:
        changed = {"empty": b"", "torn": whole[:-1], "zeros": b"\0" * len(whole)}
        traces.write_bytes(changed[trouble])

    assert runs.find(ONE)[ONE].frame is None


def test_each_trace_is_found_in_a_long_file_and_copied_byte_by_byte(runs):
    answers = [answer(f"{number:064x}", repetition=number + 1) for number in range(200)]
    folder = runs.add("r", *answers)

    found = runs.find(*(one.run_fingerprint for one in answers))

    assert len(found) == 200
    for one in answers:
        assert trace(found[one.run_fingerprint]) == f"r {one.repetition} one"
    frames = b"".join(found[one.run_fingerprint].frame for one in answers)
    assert frames == (folder / "artifacts" / "m.jsonl.zst").read_bytes()


def test_a_reused_line_is_the_new_plans_trial_with_the_old_runs_measurement():
    old = answer(
        run_id="old", model_id="m-old", case_id="case-old", repetition=3, suite_id="s-old",
        tags=("old",), e2e_ms=77, cost_usd=0.5, cost_source="provider", started_at_ms=5,
        passed=False, objective_pass=False, violation="v", artifact_path="artifacts/x#9",
    )  # fmt: skip
    trial = planned(
        7, run_id="new", run_fingerprint=ONE, tags=("t",), validator_type="exact", repetition=2
    )

    line = reused_result(old, trial, "artifacts/m.jsonl.zst#4")

    assert line == Result.model_validate(line.model_dump()), "fits its declaration"
    from_plan = {name for name in Result.model_fields if hasattr(trial, name)} - {"record_type"}
    assert {name: getattr(line, name) for name in from_plan} == {
        name: getattr(trial, name) for name in from_plan
    }
    assert (line.artifact_path, line.reused_from_run_id) == ("artifacts/m.jsonl.zst#4", "old")
    own = from_plan | {"artifact_path", "reused_from_run_id"}
    for name in Result.model_fields.keys() - own:
        assert getattr(line, name) == getattr(old, name), name


def test_a_line_that_was_reused_itself_names_the_run_it_was_really_made_in():
    old = answer(run_id="second", reused_from_run_id="first")

    assert reused_result(old, planned(run_id="third"), None).reused_from_run_id == "first"


def test_a_hundred_thousand_lines_are_looked_through_for_one_answer(runs):
    line = line_of(answer(TWO)).decode()
    folder = runs.add("r")
    with (folder / "results.jsonl").open("w") as log:
        log.writelines([line] * 100_000)
        log.write(line.replace(TWO, ONE))

    assert set(runs.find(ONE)) == {ONE}
