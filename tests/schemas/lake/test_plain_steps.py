"""Steps of hostile traces: rows of the lake and tokens of the view, beside those of plain loops."""

import json
import time

import orjson
import pyarrow.parquet as pq
import pytest
import zstandard

from analyze.lake.sync import sync
from analyze.query.catalog import create_views
from schemas.io.normal_text import normal_text
from schemas.lake import live_files
from schemas.lake.rows.tool_effects import act_of
from schemas.lake.rows.trace_steps import steps_of
from schemas.run.step import Step
from tests.support.hand_made_traces import HAND_MADE
from tests.support.hostile_traces import STRANGE, HostileTraces
from tests.support.open_lake import open_lake
from tests.support.plain_normal import normal_form
from tests.support.plain_steps import COLUMNS, TOKENS, plain_steps, plain_usage, written
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import trace

SOURCE, MODELS = "artifacts/m.jsonl.zst#0", ("asked", "served")
KEY = ("run_id", "model_id", "case_id", "repetition", "record_no", "attempt")

N_TRACES = 400
"""By a seed."""


def assert_same(events, most=10_000):
    """Compare the steps of a trace, column by column, with type and sign."""
    parts = list(steps_of(events, SOURCE, MODELS, most))
    made = [row for part in parts for row in part.rows]
    rows, texts = plain_steps(events, {}, SOURCE, MODELS)

    assert [row["kind"] for row in made] == [row["kind"] for row in rows]
    for own, plain in zip(made, rows, strict=True):
        assert own.keys() == plain.keys()
        for name in COLUMNS:
            assert repr(own[name]) == repr(plain[name]), (own["step_no"], name)
    assert [text for part in parts for text in part.texts] == texts
    assert all(len(part.rows) <= most + 1 for part in parts[:-1])


def test_every_column_is_compared():
    assert set(COLUMNS) == set(Step.model_fields)
    assert len(HAND_MADE) >= 50


@pytest.mark.parametrize("name", HAND_MADE)
def test_steps_of_a_trace_made_by_hand(name):
    assert_same(HAND_MADE[name])


def test_steps_of_traces_made_by_a_seed():
    for seed in range(N_TRACES):
        made = HostileTraces(seed)
        events = orjson.loads(json.dumps(made.trace(made.random.randrange(1, 40))))
        assert_same(events, most=made.random.choice([1, 3, 10_000]))


def test_steps_of_a_long_trace():
    assert_same(orjson.loads(json.dumps(HostileTraces(-1).trace(4_000))))


def test_normal_forms_of_texts_made_by_a_seed():
    draw = HostileTraces(7).random
    for _ in range(4_000):
        text = "".join(draw.choices("/\\a1f0xX-.,:TZ_+~@ gé\n\x1c\u00a0𝄞", k=draw.randrange(40)))
        assert normal_text(text) == normal_form(text), text


@pytest.mark.parametrize("value", [*STRANGE, 1e-5, -9.9e-5, 1.5e22, 5e-324, 0.1], ids=repr)
def test_json_is_written_alike(value):
    assert orjson.dumps(value).decode() == written(value)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A run of every trace made by hand and of some made by a seed, one of them made again."""
    run = RunBuilder(tmp_path_factory.mktemp("steps") / "runs")
    traces = [*HAND_MADE.values(), *(HostileTraces(seed).trace(30) for seed in range(60))]
    given = {}
    for number, events_of_trace in enumerate([*traces, traces[0]]):
        is_again = number == len(traces)
        trial = run.trials[0] if is_again else run.plan(f"c{number}")
        try:
            (path,) = run.write_traces(
                trace(run.run_id, "m1", trial.case_id, 1) | {"trace": events_of_trace}
            )
            events = orjson.loads(orjson.dumps(events_of_trace))
        except TypeError:  # no JSON that anybody of ours would write
            path, events = None, []
        run.result(trial, artifact_path=path, tool_ms=5, requested_model="r", served_model="s")
        key = run.run_id, "m1", trial.case_id, 1, number + 1, 2 if is_again else 1
        given[key] = path, events
    run.write()
    sync(run.runs_dir)
    return run, given


def plain_lake(given):
    """Return the rows and texts that a lake should have, by record and step."""
    rows, found = {}, {}
    for key, (path, events) in given.items():
        steps, texts = plain_steps(events, dict(zip(KEY, key, strict=True)), path, ("r", "s"))
        rows |= {(row["record_no"], row["step_no"]): row for row in steps}
        found |= {(key[4], number): (text, was_cut) for number, text, was_cut in texts}
    return rows, found


def read(run, table):
    parts = [pq.read_table(path, partitioning=None) for path in live_files(run.lake, table)]
    rows = [row for part in parts for row in part.to_pylist()]
    return {(row["record_no"], row["step_no"]): row for row in rows}


def test_the_lake_has_the_rows_and_texts_of_every_record(lake):
    run, given = lake
    rows, texts = plain_lake(given)

    assert read(run, "steps") == rows
    assert {
        at: (row["text"], row["text_truncated"]) for at, row in read(run, "step_texts").items()
    } == texts


def test_the_view_has_what_each_answer_used(lake):
    run, given = lake
    rows, _ = plain_lake(given)
    used = plain_usage(rows.values())
    names = ("record_no", "step_no", *TOKENS, "cost_usd")
    with open_lake(run.lake) as connection:
        create_views(connection, described=False)
        found = connection.execute(f"select {', '.join(names)} from steps").fetchall()

    assert any(rows[at]["usage_counts"] == "cumulative" for at in used)
    assert {at for at in used if at[0] != 1} == {row[:2] for row in found}, (
        "record 1 was made again"
    )
    for row in found:
        own = dict(zip(names[2:], row[2:], strict=True))
        assert own == pytest.approx(used[row[:2]], abs=1.1e-9), row[:2]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b'{"trace": {}}',
        b'{"trace": null}',
        b'{"trace": [1, "x", null, [], {}]}',
        b'{"trace": [{"event_type": "message", "content": "\\ud800"}]}',
        b'{"trace": [{"event_type": "message", "content": "\xff"}]}',
        b'{"trace": [{"event_type": "message", "at_ms": NaN}]}',
        b'{"trace": [{"event_type": "message"}]',
        b'{"trace": [{"event_type": "message"}]} more',
        b'{"trace": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda line: repr(line[:70]),
)
def test_a_frame_that_is_no_trace_costs_its_steps_alone(tmp_path, line):
    run = RunBuilder(tmp_path / "runs")
    run.traced(run.plan("sound"))
    run.traced(run.plan("harmed"), artifact_path="artifacts/x.jsonl.zst#0")
    (run.path / "artifacts" / "x.jsonl.zst").write_bytes(zstandard.compress(line))
    run.write()

    assert not sync(run.runs_dir).problems
    results = [row for path in live_files(run.lake, "results") for row in pq.read_table(path)[0]]
    assert len(results) == 2
    assert {row["case_id"] for row in read(run, "steps").values()} == {"sound"}


@pytest.mark.parametrize(
    "part",
    ["> ", ">", "&1", "0", "a=", "sudo ", "; ", "(", "then ", "git ", "'", "$)", ">&", "do", "a/"],
    ids=repr,
)
def test_no_command_takes_much_longer_than_another(part):
    def seconds(command):
        began = time.process_time()  # other processes play no part
        for _ in range(20):
            act_of("bash", {"command": command})
        return time.process_time() - began

    usual = min(
        seconds("cd src && grep -r foo . | head; python -m pytest\n" * 90) for _ in range(3)
    )
    hostile = min(seconds((part * 4_096)[:4_095] + "!") for _ in range(3))
    assert hostile < 10 * usual
