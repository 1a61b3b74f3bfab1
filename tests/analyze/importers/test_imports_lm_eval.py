"""Results of lm-evaluation-harness as runs: what a trial is, and which number is its verdict."""

import json

import pyarrow.parquet as pq
import pytest

from analyze.importers import IMPORTERS, ImportRequest
from analyze.importers.base import NotImportable
from analyze.importers.detect import detect
from analyze.lake.sync import sync
from analyze.show.trace_file import read_trace
from schemas.errors import BenchError, ConfigError
from schemas.lake import lake_of, live_files
from schemas.redact import MARK
from schemas.run.import_record import load_import_record
from schemas.run.result import parse_line
from tests.support.analyze_cli import call
from tests.support.lm_eval_files import chosen, evaluated, generated, results
from tests.support.mutations import mutated, with_odd_value

SUMS = {
    "exact_match,strict": 0.5, "exact_match_stderr,strict": 0.5, "exact_match,loose": 1.0,
    "exact_match_stderr,loose": "N/A",
}  # fmt: skip
SUM_ROWS = (
    generated(0, 1.0, name="strict"), generated(1, 0.0, name="strict", answers=("It is 4",)),
    generated(0, 1.0, name="loose"), generated(1, 1.0, name="loose", answers=("It is 4",)),
)  # fmt: skip


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def run(path, runs_dir, **options):
    return IMPORTERS["lm-eval"].run(ImportRequest(path, runs_dir, **options))


def lines(written):
    log = (written.run_dir / "results.jsonl").read_bytes()
    return {one.prompt_id: one for one in map(parse_line, log.splitlines(keepends=True))}


def codes(written):
    return {one.code for one in written.findings}


def scores(line):
    return {one.name: one.value for one in line.scores}


def test_a_document_is_a_trial_and_its_filters_are_scores(tmp_path, runs_dir):
    path = evaluated(tmp_path / "acme__tiny", results(sums=SUMS), sums=SUM_ROWS)

    (written,) = run(path, runs_dir)

    assert (written.run_dir.name, written.n_trials, written.is_new) == (
        "acme_tiny_2026-03-04T05-06-07.123456", 2, True,
    )  # fmt: skip
    found = lines(written)
    assert {name: line.passed for name, line in found.items()} == {"sums/0": True, "sums/1": False}
    line = found["sums/1"]
    assert scores(line) == {"exact_match,strict": 0.0, "exact_match,loose": 1.0}
    assert (line.provider, line.model, line.model_id, line.suite_id, line.case_id) == (
        "local-completions", "acme/tiny", "acme_tiny", "sums", "sums_1",
    )  # fmt: skip
    assert (line.raw_output, line.violation) == ("It is 4", "exact_match,strict is 0")
    assert line.started_at_ms == 1_772_600_767_250
    assert line.e2e_ms is line.input_tokens is line.cost_usd is None
    assert codes(written) == {"verdict_chosen"}


def test_every_number_of_tasks_and_groups_is_a_headline_as_the_file_has_it(tmp_path, runs_dir):
    caps = {"acc,none": 0.25, "acc_stderr,none": 0.125, "word_perplexity,none": float("nan")}
    summary = results(sums=SUMS, caps=caps)
    group = {"alias": "world", "acc,none": 0.25, "acc_stderr,none": 0.125}
    summary["results"]["world"] = summary.setdefault("groups", {})["world"] = group
    summary["group_subtasks"] = {"world": ["sums", "caps"]}
    summary["configs"] = {
        "sums": {"metric_list": [{"metric": "exact_match", "aggregation": "mean"}]},
        "world": {"aggregate_metric_list": [
            {"metric": "acc", "aggregation": "mean", "weight_by_size": False}
        ]},
    }  # fmt: skip
    row = chosen(0, {" Rome": -2.5, " Paris": -1.5}, acc=1.0)
    path = evaluated(tmp_path / "m", summary, sums=SUM_ROWS, caps=[row])

    (written,) = run(path, runs_dir)

    record = load_import_record(written.run_dir)
    headlines = {
        (one.tag, one.name): (one.metric, one.value, one.stderr) for one in record.headlines
    }
    assert headlines == {
        ("sums", "exact_match,strict"): ("mean", 0.5, 0.5),
        ("sums", "exact_match,loose"): ("mean", 1.0, None),
        ("caps", "acc,none"): ("aggregate", 0.25, 0.125),
        ("caps", "word_perplexity,none"): ("aggregate", None, None),
        ("world", "acc,none"): ("mean of tasks", 0.25, 0.125),
    }
    assert record.suite_id == "world"
    assert lines(written)["caps/0"].tags == ("caps", "world")


def test_the_likeliest_choice_stands_for_an_answer(tmp_path, runs_dir):
    row = chosen(0, {" Rome": -2.5, " Paris": -1.5, " Madrid": -9.0}, acc=1.0, acc_norm=0.0)
    summary = results(caps={"acc,none": 1.0, "acc_norm,none": 0.0})

    (written,) = run(evaluated(tmp_path / "m", summary, caps=[row]), runs_dir)

    line = lines(written)["caps/0"]
    assert (line.raw_output, line.passed) == (" Paris", True)
    assert scores(line) == {"acc,none": 1.0, "acc_norm,none": 0.0}
    events = read_trace(written.run_dir, line.artifact_path).trace
    assert events[0].content == "The capital of 0 is"
    assert [one.detail["logprob"] for one in events[1:4]] == [-2.5, -1.5, -9.0]


def test_repeats_are_one_trial_with_every_answer_in_its_trace(tmp_path, runs_dir):
    chat = {"gen_args_0": {"arg_0": ['[{"role": "user", "content": "Hi"}]'], "arg_1": {"n": 2}}}
    row = generated(0, 1.0, answers=("4", "5", "6"), arguments=chat)

    (written,) = run(
        evaluated(tmp_path / "m", results(sums={"exact_match,none": 1.0}), sums=[row]), runs_dir
    )

    (line,) = lines(written).values()
    assert (line.repetition, line.attempt_count) == (1, 3)
    trace = read_trace(written.run_dir, line.artifact_path)
    said = [(one.event_type, getattr(one, "role", None), one.content) for one in trace.trace]
    assert said == [
        ("message", "user", "Hi"), ("message", "assistant", "4"), ("message", "assistant", "5"),
        ("message", "assistant", "6"), ("final_output", None, "4"),
    ]  # fmt: skip
    assert trace.request == {"n": 2}
    assert "repeats" in codes(written)


@pytest.mark.parametrize(
    ("metric", "values", "better", "passed"),
    [
        ("exact_match", (1, 0), True, [True, False]),
        ("wrong", (1, 0), False, [False, True]),
        ("overlap", (0.5, 1), True, [None, None]),
        ("f1", (0, 0), True, [None, None]),
        ("exact_match", (True, float("nan")), True, [None, None]),
        ("exact_match", ("1", None), True, [None, None]),
        ("bleu", ([1, 2], [3, 4]), True, [None, None]),
    ],
)
def test_only_a_metric_that_is_0_or_1_everywhere_is_a_verdict(
    tmp_path, runs_dir, metric, values, better, passed
):
    summary = results(task={f"{metric},none": 0.5})
    summary["higher_is_better"] = {"task": {metric: better}}
    rows = [generated(n, value, metric=metric) for n, value in enumerate(values)]

    (written,) = run(evaluated(tmp_path / "m", summary, task=rows), runs_dir)

    assert [line.passed for line in lines(written).values()] == passed
    assert ("no_verdict" in codes(written)) is (passed[0] is None)


def test_a_verdict_is_found_behind_a_number_of_degrees(tmp_path, runs_dir):
    summary = results(lambada={"perplexity,none": 3.5, "acc,none": 0.0})
    row = generated(0, -1.5, metric="perplexity", metrics=["perplexity", "acc"], acc=0.0)

    (written,) = run(evaluated(tmp_path / "m", summary, lambada=[row]), runs_dir)

    assert lines(written)["lambada/0"].violation == "acc,none is 0"


def test_older_files_have_no_filters_no_hashes_and_a_list_of_rows(tmp_path, runs_dir):
    folder = tmp_path / "old"
    folder.mkdir()
    summary = {
        "results": {"sums": {"acc": 0.5, "acc_stderr": 0.25}}, "versions": {"sums": 0},
        "config": {"model": "hf", "model_args": "pretrained=EleutherAI/pythia-14m,dtype=float"},
    }  # fmt: skip
    (folder / "results.json").write_text(json.dumps(summary))
    rows = [
        {"doc_id": n, "doc": {}, "target": 1, "arguments": [["Q", " a"]], "acc": float(n),
         "resps": [[[-1.5, True]]], "filtered_resps": [[-1.5, True]]}
        for n in range(2)
    ]  # fmt: skip
    (folder / "samples_sums.json").write_text(json.dumps(rows, indent=1))

    (written,) = run(folder, runs_dir)

    found = lines(written)
    assert [line.passed for line in found.values()] == [False, True]
    assert found["sums/0"].raw_output == " a"
    assert found["sums/0"].case_hash is None
    assert (found["sums/0"].provider, found["sums/0"].model) == ("hf", "EleutherAI/pythia-14m")
    (headline,) = load_import_record(written.run_dir).headlines
    assert (headline.name, headline.value, headline.stderr) == ("acc", 0.5, 0.25)


def test_the_same_is_said_of_many_tasks_once(tmp_path, runs_dir):
    tasks = {f"t{n}": {"exact_match,none": 1.0} for n in range(7)}
    rows = {task: [generated(0, 1.0)] for task in tasks if task != "t6"}

    (written,) = run(evaluated(tmp_path / "m", results(**tasks), **rows), runs_dir)

    assert [one.message.partition(";")[0] for one in written.findings] == [
        "t0, t1, t2, t3, t4 and 1 more task: exact_match,none is the verdict",
        "t6: no samples, so its numbers stand without trials",
    ]
    assert load_import_record(written.run_dir).suite_id == "t0_t1_t2_t3_t4_t5_t6"


def test_without_samples_nothing_is_made_and_it_says_what_writes_them(tmp_path, runs_dir):
    path = evaluated(tmp_path / "m", results(sums=SUMS))

    with pytest.raises(ConfigError, match=r"no samples beside it.*--log_samples"):
        run(path, runs_dir)

    evaluated(tmp_path / "m", results(sums=SUMS), stamp="2026-01-01T00-00-00", sums=SUM_ROWS)
    with pytest.raises(ConfigError, match="--log_samples"):
        run(path, runs_dir)
    assert not runs_dir.exists()


def test_documents_that_were_asked_and_are_missing_are_unfinished(tmp_path, runs_dir):
    summary = results(sums=SUMS)
    summary["n-samples"] = {"sums": {"original": 100, "effective": 4}}
    path = evaluated(tmp_path / "m", summary, sums=SUM_ROWS)

    (written,) = run(path, runs_dir)

    assert (written.n_trials, written.n_unfinished) == (2, 2)
    missing = load_import_record(written.run_dir).unfinished
    assert [one.prompt_id for one in missing] == ["sums/2", "sums/3"]
    assert codes(written) == {"verdict_chosen", "count_contradicts", "limited"}


def test_rows_that_are_none_are_left_out_with_a_reason(tmp_path, runs_dir):
    path = evaluated(tmp_path / "m", results(sums=SUMS), sums=SUM_ROWS)
    samples = path.with_name(path.name.replace("results", "samples_sums") + "l")
    odd = ['{"doc_id": -1}', "{torn", "[1]", '{"doc_id": "a"}', json.dumps(SUM_ROWS[0])]
    samples.write_text(samples.read_text() + "\n".join(odd) + "\n")

    (written,) = run(path, runs_dir)

    findings = [one for one in written.findings if one.code == "row_left_out"]
    assert [one.line for one in findings] == [5, 6, 7, 8, 9]
    assert "document 0 is there already" in findings[-1].message
    assert written.n_trials == 2


def test_the_same_import_changes_nothing_and_a_folder_is_every_result_in_it(tmp_path, runs_dir):
    folder = tmp_path / "out"
    evaluated(folder / "m", results(sums=SUMS), sums=SUM_ROWS)
    evaluated(folder / "m", results(sums=SUMS), stamp="2026-03-05T00-00-00", sums=SUM_ROWS)

    first, again = run(folder, runs_dir), run(folder, runs_dir)

    assert [one.is_new for one in first + again] == [True, True, False, False]
    assert [one.format for one in detect(folder)] == ["lm-eval", "lm-eval"]
    with pytest.raises(ConfigError, match="one run id for 2 files"):
        run(folder, runs_dir, run_id="x")


def test_two_runs_of_a_task_are_compared_by_what_the_harness_hashed(tmp_path, runs_dir):
    rows = [generated(n, float(n % 2)) for n in range(30)]
    summary = results(sums={"exact_match,none": 0.5})
    for stamp in ("2026-03-04T00-00-00", "2026-03-05T00-00-00"):
        run(evaluated(tmp_path / "m", summary, stamp=stamp, sums=rows), runs_dir)

    done = call("compare", *sorted(one.name for one in runs_dir.iterdir()), "--runs", runs_dir)

    assert "case" not in done.err
    assert done.code == 0, done.out + done.err


def test_secrets_of_the_arguments_are_kept_out(tmp_path, runs_dir):
    (written,) = run(evaluated(tmp_path / "m", results(sums=SUMS), sums=SUM_ROWS), runs_dir)

    record = (written.run_dir / "import.json").read_text()
    assert "sk-abcdefghijklmnopqrst123456" not in record
    assert MARK in record


def test_the_lake_holds_the_scores(tmp_path, runs_dir):
    run(evaluated(tmp_path / "m", results(sums=SUMS), sums=SUM_ROWS), runs_dir)

    assert sync(runs_dir).problems == ()
    (file,) = live_files(lake_of(runs_dir), "results")
    rows = pq.ParquetFile(file).read().to_pylist()
    assert rows[1]["scores"][1] == {"name": "exact_match,loose", "value": 1.0}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe{", "no JSON"),
        (b"[" * 100_000, "deep"),
        (b"[]", "`results` has to be an object"),
        (b'{"results": []}', "`results` has to be an object"),
        (b'{"results": {"a": 1}}', "no object of metrics"),
    ],
)
def test_what_is_no_file_of_results_is_refused_in_a_sentence(tmp_path, runs_dir, content, said):
    path = tmp_path / "results_x.json"
    path.write_bytes(content)

    with pytest.raises(NotImportable, match=said):
        run(path, runs_dir)
    with pytest.raises(ConfigError, match="is not there"):
        run(tmp_path / "nowhere", runs_dir)
    assert not runs_dir.exists()


def test_a_byte_order_mark_and_odd_values_are_read(tmp_path, runs_dir):
    odd = generated(0, 1.0, answers=("\ud800",), target=10**400, doc={"a": float("inf")})
    deep = []
    for _ in range(400):
        deep = [deep]
    rows = [odd, generated(1, 0.0, resps=deep), generated(2, 10**400), generated(3, 1.0, resps=7)]
    path = evaluated(tmp_path / "m", results(sums={"exact_match,none": 10**400}), sums=rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    (written,) = run(path, runs_dir)

    assert lines(written)["sums/0"].raw_output == "?"
    assert written.n_trials == 4
    assert load_import_record(written.run_dir).headlines[0].value is None


def test_a_task_whose_name_is_a_path_reads_nothing_elsewhere(tmp_path, runs_dir):
    (tmp_path / "private.jsonl").write_text(json.dumps(SUM_ROWS[0]) + "\n")
    name = "../../private"
    path = evaluated(tmp_path / "m" / "n", results(**{name: SUMS}))
    (path.parent / "samples_sums.jsonl").symlink_to(tmp_path / "private.jsonl")

    with pytest.raises(ConfigError, match="no samples"):
        run(path, runs_dir)


def test_a_damaged_file_is_read_or_refused_and_nothing_half_written_stays(tmp_path, runs_dir):
    summary = results(sums=SUMS)
    summary["n-samples"] = {"sums": {"original": 3, "effective": 3}}
    summary["group_subtasks"] = {"all": ["sums"], "sums": ["all"]}
    path = evaluated(tmp_path / "m", summary, sums=SUM_ROWS)
    samples = path.with_name(path.name.replace("results", "samples_sums") + "l")
    originals = {one: one.read_bytes() for one in (path, samples)}
    n_read, refused_for = 0, []

    for seed in range(400):
        damaged = path if seed % 2 else samples
        damaged.write_bytes(mutated(originals[damaged], seed))
        try:
            (written,) = run(path, runs_dir, run_id=f"r{seed}")
        except BenchError as exc:
            refused_for.append(str(exc).strip())
            assert not (runs_dir / f"r{seed}").exists()
        else:
            n_read += 1
            assert len(lines(written)) == written.n_trials
        damaged.write_bytes(originals[damaged])

    assert all(refused_for)
    assert n_read > 100
    assert not list(runs_dir.glob(".*"))
    assert sync(runs_dir).problems == ()


def test_any_odd_value_is_read_as_far_as_it_goes(tmp_path, runs_dir):
    summary = results(sums=SUMS)
    summary["n-samples"] = {"sums": {"original": 3, "effective": 3}}
    summary["groups"] = {"all": {"acc,none": 1, "acc_stderr,none": 0.5}}
    summary["group_subtasks"] = {"all": ["sums", "other"], "other": []}
    rows = [*SUM_ROWS, chosen(5, {" a": -1.5, " b": -2}, acc=1.0)]
    n_read = 0

    for seed in range(400):
        of_rows = with_odd_value(rows, seed) if seed % 2 else rows
        of_summary = summary if seed % 2 else with_odd_value(summary, seed)
        path = evaluated(tmp_path / "m", of_summary, sums=of_rows)
        try:
            (written,) = run(path, runs_dir, run_id=f"r{seed}")
        except BenchError:
            assert not (runs_dir / f"r{seed}").exists()
        else:
            n_read += 1
            assert len(lines(written)) == written.n_trials

    assert n_read > 250
    assert sync(runs_dir).problems == ()
