"""An evaluations.jsonl that was lost, shortened or replaced is written again from the lake."""

import pytest

from collect.run_folder.restore import restore, restored_text
from schemas.lake.log_coverage import EVALUATION_TABLES
from tests.collect.run_folder.test_lost_log import MADE, Lost
from tests.support.mirrored import mirror_run
from tests.support.run_rows import evaluation, line_of

N_LOOKS = len(MADE)


@pytest.fixture
def lost(tmp_path):
    return Lost(tmp_path / "runs")


def look(number, **fields):
    return line_of(evaluation(run_id="r", case_id=f"c{number}", **fields))


@pytest.mark.parametrize(("how", "n_kept"), [("deleted", 0), ("one line", 1), ("torn", 1)])
def test_lines_that_are_missing_come_back_byte_for_byte(lost, how, n_kept):
    whole, before = lost.evaluations.read_bytes(), lost.rows()
    first = whole.splitlines(keepends=True)[0]
    if how == "deleted":
        lost.evaluations.unlink()
    else:
        lost.evaluations.write_bytes(first if how == "one line" else whole[: len(first) + 30])

    dry = restore(lost.runs_dir, "r", dry_run=True)
    assert lost.evaluations.exists() == (how != "deleted")
    done = restore(lost.runs_dir, "r")

    assert lost.evaluations.read_bytes() == whole
    assert (done.evaluations, done.evaluations_from_lake) == (N_LOOKS, N_LOOKS - n_kept)
    assert (dry.evaluations, dry.evaluations_from_lake) == (N_LOOKS, N_LOOKS - n_kept)
    assert (done.lines_from_lake, done.exit_code, lost.copies()) == (0, 0, [])
    line = f"has {N_LOOKS} lines: {n_kept} as found, {N_LOOKS - n_kept} from the lake"
    assert line in restored_text(done)
    assert "nothing to restore" not in restored_text(done)
    assert lost.rows() == before
    assert mirror_run(lost.dir, lost.lake) == []
    assert lost.rows() == before


def test_what_stood_in_its_place_is_kept_beside_it(lost):
    whole, before = lost.evaluations.read_bytes(), lost.rows()
    other = b"".join(look(number, evaluated_at_ms=99) for number in range(3))
    lost.evaluations.write_bytes(other)

    restore(lost.runs_dir, "r")

    assert lost.evaluations.read_bytes() == whole
    assert [path.read_bytes() for path in lost.copies()] == [other]
    assert lost.rows() == before


def test_lines_that_the_lake_does_not_have_yet_stay_and_come_in(lost):
    news = look(4, evaluated_at_ms=99)
    with lost.evaluations.open("ab") as file:
        file.write(news)
    whole = lost.evaluations.read_bytes()
    lost.log.unlink()

    done = restore(lost.runs_dir, "r")

    assert lost.evaluations.read_bytes() == whole
    assert (done.evaluations, done.evaluations_from_lake) == (N_LOOKS + 1, 0)
    assert done.lines_from_lake == 7
    rows = lost.rows()
    tables = EVALUATION_TABLES.tables
    assert sorted(row["record_no"] for table in tables for row in rows[table]) == [
        *range(1, N_LOOKS + 2)
    ]
