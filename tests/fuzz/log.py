"""A run's log, however torn: every reader takes the same whole lines, and a repair keeps them."""

import tempfile
from pathlib import Path

from analyze.validate.one_file import validated
from collect.plan.previous_runs import previous_outcomes, tokens_seen
from collect.run_folder.finished import FinishedTrials
from collect.run_folder.repair import repair
from collect.run_folder.reuse import find_reusable
from schemas.lake.rows.lines import RunRows
from schemas.lake.rows.parse_log import read_records
from schemas.run.result import LineError, parse_line
from tests.fuzz.inputs import cuts
from tests.support.run_rows import HASH, event, failed, line_of, planned, result

WORDS = [
    line_of(result()),
    line_of(event()),
    line_of(failed("timeout")),
    b"\n",
    b"\r\n",
    b"\0",
    b"{}",
    b"[]",
    b"null",
    b"true",
    b"1e999",
    b"-0.0",
    b"2.5",
    b"18446744073709551616",
    b'"record_type":"result"',
    b'"record_type":"event"',
    b'"case_id":"one",',
    b'"passed":[],',
    b'"status":{},',
    b'"failure_type":[1],',
    b'"cost_usd":1e308,',
    b'"cost_usd":-1,',
    b'"repetition":true,',
    b'"artifact_path":"artifacts/m.jsonl.zst#99999999999",',
    b'"artifact_path":"artifacts/../m.jsonl.zst#0",',
    b'"\\ud800"',
    b"\\u0000",
    b"\xff",
    b"\xef\xbb\xbf",
    b"[" * 300,
    b"{" * 300,
]

PLANNED = [("m", "one", 1), ("m", "two", 1)]
CONFIG = b'{"started_at_ms": 1, "suite_id": "s", "run_id": "r"}'


def check(data):
    """No reader stumbles over a line, and none takes half a row for a whole one."""
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    lines = _joined_at_newlines(lines)
    records = read_records(lines)
    numbers = sorted(records.results["record_no"] + records.events["record_no"])
    refused = [number for number, _ in records.problems]
    assert sorted(numbers + refused) == list(range(1, len(lines) + 1)), "a line is lost, or twice"
    assert refused == [number for number, line in enumerate(lines, 1) if not _is_record(line)]
    _check_tables(lines)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        run_dir = Path(folder) / "runs" / "r"
        (run_dir / "artifacts").mkdir(parents=True)
        (run_dir / "config.json").write_bytes(CONFIG)
        log = run_dir / "results.jsonl"
        log.write_bytes(data)
        _check_readers(run_dir, lines)
        _check_repair(run_dir, data, lines)


def _joined_at_newlines(lines):
    """Return lines that end at a newline only: bytes.splitlines ends them at a return as well."""
    content = b"".join(lines)
    return [line + b"\n" for line in content.split(b"\n")[:-1]]


def _is_record(line):
    try:
        parse_line(line)
    except LineError:
        return False
    return True


def _check_tables(lines):
    tables, problems = RunRows("r", PLANNED).read(lines, 1)
    rows = sum(tables[name].num_rows for name in ("results", "events") if name in tables)
    assert rows + len({number for number, _ in problems}) == len(lines)
    for pieces in cuts(b"".join(lines), ways=1)[-1:]:
        begun = pieces[0] if pieces else b""
        whole = [line + b"\n" for line in begun.split(b"\n")[:-1]]
        first, _ = RunRows("r", PLANNED).read(whole, 1)
        for name, table in first.items():
            assert table.equals(tables[name].slice(0, table.num_rows)), "rows depend on the cut"


def _check_readers(run_dir, lines):
    finished = FinishedTrials(run_dir / "results.jsonl")
    assert len(finished) <= len(lines) + 1
    list(previous_outcomes(run_dir.parent, "s", ["m"]))
    tokens_seen(run_dir, [planned(0, case_id="one")])
    for found in find_reusable(run_dir.parent, "other", [HASH]):
        assert found.result.success
        assert found.result in [parse_line(line) for line in lines if _is_record(line)]
    validated(run_dir / "results.jsonl")


def _check_repair(run_dir, data, lines):
    log = run_dir / "results.jsonl"
    repair(run_dir)
    mended = log.read_bytes()
    kept = b"".join(lines)
    assert mended in {kept, data + b"\n"}, "a repair changed a whole line"
    assert not mended or mended.endswith(b"\n")
    before = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    again = [note for note in repair(run_dir) if "cannot be read" not in note]
    assert not again, f"a second repair did something: {again}"
    assert before == {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
