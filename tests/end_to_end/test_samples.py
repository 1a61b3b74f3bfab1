"""The committed sample runs: whole, readable, free of the machine that made them, and as told."""

import getpass
import importlib.util
import io
import json
import platform
import re
import socket
from collections import Counter
from pathlib import Path

import pytest
import zstandard

from schemas.run.config import PlannedTrial, load_run_config
from schemas.run.inventory import Inventory
from schemas.run.result import Event, Result, parse_line
from tests.support.paths import ROOT

SAMPLES = ROOT / "data" / "samples"
RUNS = SAMPLES / "runs"
OLD = "older_tool"
MOST_BYTES = 2_000_000
DERIVED = {"summary.json", "summary.md", ".run.lock", ".mirror.lock"}

NIGHTS = sorted(path.parent.name for path in RUNS.glob("*/config.json"))


def committed():
    """Every file that belongs to the repository: what analysis makes beside it does not."""
    for path in sorted(SAMPLES.rglob("*")):
        parts = path.relative_to(SAMPLES).parts
        is_derived = parts[:2] == ("runs", "lake") or path.name in DERIVED
        if path.is_file() and not is_derived and "__pycache__" not in parts:
            yield path


def text_of(path):
    raw = path.read_bytes()
    if path.suffix == ".zst":
        decompressor = zstandard.ZstdDecompressor()
        raw = decompressor.stream_reader(io.BytesIO(raw), read_across_frames=True).read()
    return raw.decode()


def lines_of(night, name):
    return (RUNS / night / name).read_bytes().splitlines(keepends=True)


def records_of(night):
    return [parse_line(line) for line in lines_of(night, "results.jsonl")]


def results_of(night):
    return [record for record in records_of(night) if isinstance(record, Result)]


def plan_of(night):
    return [PlannedTrial.model_validate_json(line) for line in lines_of(night, "plan.jsonl")]


def key(row):
    return row.model_id, row.case_id, row.repetition


def counting(night):
    """The last record of each trial."""
    return {key(row): row for row in results_of(night)}


def hashes_of(night, case_id):
    return {row.case_hash for row in results_of(night) if row.case_id == case_id}


def median_ms(night):
    times = sorted(row.e2e_ms for row in counting(night).values() if row.success)
    return times[len(times) // 2]


def test_there_are_at_least_eight_nights_and_one_folder_of_the_older_tool():
    assert len(NIGHTS) >= 8
    assert [path.name for path in (RUNS / OLD).iterdir()] == ["results.jsonl"]


def test_everything_together_is_small():
    assert sum(path.stat().st_size for path in committed()) < MOST_BYTES


@pytest.mark.parametrize("night", NIGHTS)
def test_every_line_of_a_night_fits_its_declaration_and_its_plan(night):
    run_dir = RUNS / night
    config = load_run_config(run_dir / "config.json")
    inventory = Inventory.model_validate_json((run_dir / "inventory.json").read_bytes())
    assert config.run_id == inventory.run_id == night
    planned = {key(trial): trial for trial in plan_of(night)}
    assert len(planned) == config.n_planned
    for record in records_of(night):
        assert record.run_id == night
        if isinstance(record, Result):
            trial = planned[key(record)]
            assert record.case_hash == trial.case_hash
            assert record.run_fingerprint == trial.run_fingerprint


@pytest.mark.parametrize("night", NIGHTS)
def test_every_planned_trial_has_an_answer_or_a_reason(night):
    rows = counting(night)
    assert rows.keys() == {key(trial) for trial in plan_of(night)}
    for row in rows.values():
        assert row.success or (row.failure_type and row.error_message)


@pytest.mark.parametrize("night", NIGHTS)
def test_every_trace_that_a_line_names_is_there(night):
    for row in results_of(night):
        if row.artifact_path is not None:
            name, _, offset = row.artifact_path.partition("#")
            path = RUNS / night / name
            assert path.is_file()
            frame = path.read_bytes()[int(offset) :]
            text = zstandard.ZstdDecompressor().decompressobj().decompress(frame)
            assert json.loads(text)


def test_nothing_tells_which_machine_made_the_samples():
    words = {str(ROOT), str(Path.home()), "/tmp/", "/root", "/home/", "/Users/", "/dev/", "/work/"}
    words |= {socket.gethostname(), platform.release(), platform.version()}
    words |= {getpass.getuser()} - {"root"}
    found = [
        f"{path.relative_to(SAMPLES)}: {word}"
        for path in committed()
        if path.suffix != ".py"
        for text in [text_of(path)]
        for word in words
        if len(word) > 3 and word in text
    ]
    assert found == []


def test_nothing_looks_like_a_key():
    shapes = re.compile(
        r"sk-[A-Za-z0-9]{16}|Bearer [A-Za-z0-9]{16}|ghp_[A-Za-z0-9]{16}|AKIA[A-Z0-9]{16}"
    )
    assert [path for path in committed() if shapes.search(text_of(path))] == []


def test_the_derived_lake_is_not_part_of_the_samples():
    ignored = (SAMPLES / ".gitignore").read_text().split()
    assert "lake/" in ignored
    assert ignored[-len(DERIVED) :] == ["summary.json", "summary.md", ".run.lock", ".mirror.lock"]


def test_two_models_answer_every_case_three_times_on_most_nights():
    per_cell = Counter((row.model_id, row.case_id) for row in counting("night_01").values())
    assert {model for model, _ in per_cell} == {"careful", "playful"}
    assert set(per_cell.values()) == {3}
    assert 8 <= len({case for _, case in per_cell}) <= 12


def test_the_second_night_asked_exactly_what_the_first_one_did():
    first, second = ({t.run_fingerprint for t in plan_of(f"night_0{n}")} for n in (1, 2))
    assert first == second


def test_one_prompt_changed_between_the_second_and_the_third_night():
    before, after = counting("night_02"), counting("night_03_prompt")
    changed = {at[1] for at in before if before[at].case_hash != after[at].case_hash}
    assert changed == {"capital_of_france"}


def test_the_server_with_a_small_context_says_another_name_and_refuses_the_long_case():
    rows = counting("night_04_context").values()
    assert {row.served_model for row in counting("night_03_prompt").values()} == {"smollm2-135m"}
    assert {row.served_model for row in rows if row.success} == {"smollm2-135m-ctx256"}
    refused = {row.case_id for row in rows if row.http_status == 400}
    assert refused == {"note_summary"}


def test_a_crowded_night_is_slower_with_the_same_fingerprints():
    prints = [
        {t.run_fingerprint for t in plan_of(n)} for n in ("night_03_prompt", "night_05_crowded")
    ]
    assert prints[0] == prints[1]
    assert median_ms("night_05_crowded") > 1.3 * median_ms("night_03_prompt")


def test_longer_answers_are_another_setting_of_all_cases_but_the_one_with_its_own():
    before, after = (
        {key(trial): trial.fingerprint_parts.settings for trial in plan_of(night)}
        for night in ("night_05_crowded", "night_06_long")
    )
    assert {at[1] for at in before if before[at] == after[at]} == {"note_summary"}


def test_a_bad_night_has_faults_of_the_server_and_a_model_that_was_not_there():
    rows = counting("night_07_outage").values()
    faults = Counter(row.failure_type for row in rows)
    assert faults["http_500"] >= 3
    backup = [row for row in rows if row.model_id == "backup"]
    assert len(backup) == 24
    assert {row.availability_status for row in backup} == {"skipped_unavailable"}
    assert all(row.passed is None for row in backup)


def test_a_resumed_night_keeps_both_records_and_the_later_one_counts():
    rows = results_of("night_08_resumed")
    again = [at for at, number in Counter(map(key, rows)).items() if number > 1]
    assert again
    last = counting("night_08_resumed")
    assert {row.availability_status for row in last.values()} == {"ok"}
    first = {key(row): row for row in reversed(rows)}
    assert all(first[at].availability_status != "ok" for at in again)


def test_reused_answers_name_the_run_that_made_them():
    rows = counting("night_09_reused").values()
    reused = [row for row in rows if row.reused_from_run_id is not None]
    assert 0 < len(reused) < len(rows)
    assert {row.reused_from_run_id for row in reused} <= set(NIGHTS)
    assert max(row.repetition for row in rows) == 5


def test_one_model_was_asked_with_another_temperature_on_the_tenth_night():
    before = {t.model_id: t.fingerprint_parts.settings for t in plan_of("night_03_prompt")}
    after = {t.model_id: t.fingerprint_parts.settings for t in plan_of("night_10_setting")}
    assert before["careful"] == after["careful"]
    assert before["playful"] != after["playful"]


def test_two_nights_have_labels_and_one_is_a_part_of_its_suite():
    configs = {night: load_run_config(RUNS / night / "config.json") for night in NIGHTS}
    labels = {night: config.labels for night, config in configs.items() if config.labels}
    assert labels == {"night_01": ("baseline",), "night_10_setting": ("candidate",)}
    narrowed = [night for night, config in configs.items() if config.narrowed.tags]
    assert narrowed == ["night_11_tools"]


def test_costs_are_known_and_some_trials_expect_tools():
    rows = counting("night_01").values()
    assert all(row.cost_source == "computed" and row.cost_usd > 0 for row in rows if row.success)
    tools = [row for row in rows if row.expected_tools]
    assert len(tools) >= 12
    assert {row.tool_use_success for row in tools} == {True, False}
    assert {row.tool_call_source for row in tools if row.tool_calls} == {"text"}


def test_events_of_the_run_lie_between_the_results():
    events = {record.event for record in records_of("night_01") if isinstance(record, Event)}
    assert "warmup" in events


def test_the_folder_of_the_older_tool_has_its_fields_alone():
    names = list(Result.model_fields)[:23]
    rows = [json.loads(line) for line in lines_of(OLD, "results.jsonl")]
    assert len(rows) == 24
    assert all(list(row) == names and row["run_id"] == OLD for row in rows)


def test_the_script_that_makes_them_needs_nothing_of_the_tests():
    for path in SAMPLES.glob("*.py"):
        assert "tests" not in re.findall(r"(?m)^\s*(?:from|import) (\w+)", path.read_text())
    assert importlib.util.find_spec("collect") is not None
