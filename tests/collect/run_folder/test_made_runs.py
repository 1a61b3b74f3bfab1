"""The folders that tests make are those that a collector writes, byte for byte."""

from collect.run_folder.log import RunLog
from schemas.run.config import load_run_config
from schemas.run.inventory import Inventory
from schemas.run.result import Result, parse_line
from schemas.run.trace import artifact_frame
from tests.support.run_builder import RunBuilder, routed
from tests.support.run_rows import blank, trace


def made(runs_dir):
    run = RunBuilder(runs_dir, "r")
    run.labels, run.config["labels"] = {"m": "Fast one"}, ("nightly",)
    run.event("run_started")
    return run.night(
        ["a", "b"], lambda trial: trial.case_id == "a" or "timeout", models=routed("m"),
        repetitions=2, plan={"tags": ("x",)},
    )  # fmt: skip


def test_a_made_run_is_written_as_a_collector_writes_it(tmp_path):
    run, traces = made(tmp_path / "made"), [trace("r", "m", "a", n) for n in (1, 2)]
    paths = run.write_traces(*traces)

    log = RunLog.create(tmp_path / "collected" / "r")
    inventory = Inventory.model_validate_json((run.path / "inventory.json").read_bytes())
    log.begin(load_run_config(run.path / "config.json"), inventory, (), run.trials)
    for line in run.lines:
        log.append(parse_line(line))
    assert [log.append_artifact("m", artifact_frame(one)) for one in traces] == paths
    log.close()

    files = [path.relative_to(run.path) for path in run.path.rglob("*") if path.is_file()]
    assert len(files) == 5
    for file in files:
        assert (run.path / file).read_bytes() == (log.run_dir / file).read_bytes(), file


def test_the_same_words_make_the_same_bytes(tmp_path):
    one, other = made(tmp_path / "one"), made(tmp_path / "other")

    for file in one.path.iterdir():
        assert file.read_bytes() == (other.path / file.name).read_bytes(), file.name


def test_a_table_of_outcomes_is_what_they_are_one_by_one(tmp_path):
    table = {"a": [True, None, {"passed": False, "e2e_ms": 7}], "b": ["http_500"]}
    run = RunBuilder(tmp_path).night(table)
    found = {(one.case_id, one.repetition): one for one in map(parse_line, run.lines)}

    assert [(one.case_id, one.repetition) for one in run.trials] == [
        ("a", 1), ("a", 2), ("a", 3), ("b", 1),
    ]  # fmt: skip
    assert found.keys() == {("a", 1), ("a", 3), ("b", 1)}
    assert (found["a", 1].passed, found["a", 3].passed, found["a", 3].e2e_ms) == (True, False, 7)
    assert (found["b", 1].failure_type, found["b", 1].passed) == ("http_500", None)


def test_a_new_column_is_in_every_made_run_without_a_word():
    class Later(Result):
        may_be_unknown: int | None
        counted: int
        words: tuple[str, ...]

    new = blank(Later).items() - blank(Result).items()

    assert dict(new) == {"may_be_unknown": None, "counted": 0, "words": ()}
