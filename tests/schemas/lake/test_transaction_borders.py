"""A replacement that finds nothing to replace, and the note that it leaves."""

import pytest

from schemas.lake import transaction as swapping
from schemas.lake.layout import intent_facts, intent_of, intent_text, live_files
from schemas.lake.transaction import lake_lock, swap
from tests.schemas.lake.test_compact import MONTH, counts, seal


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "runs" / "lake"
    seal(folder, "a", batches=1)
    return folder


@pytest.mark.parametrize("is_written", [True, False])
def test_a_file_that_went_away_meanwhile_leaves_all_as_it_was(lake, is_written):
    (path,) = live_files(lake, "results")
    before = counts(lake)
    write = (lambda new: new.write_bytes(path.read_bytes())) if is_written else None

    with lake_lock(lake):
        assert swap(lake, "results", MONTH, [path.name, "gone.parquet"], write) is None

    assert counts(lake) == before
    assert list(lake.rglob(".tmp-*")) == []
    assert intent_of(intent_facts(intent_text(lake))) is None


def test_what_is_done_names_no_file_any_more(lake):
    (path,) = live_files(lake, "results")

    with lake_lock(lake):
        new = swap(
            lake, "results", MONTH, [path.name], lambda new: new.write_bytes(path.read_bytes())
        )

    assert live_files(lake, "results") == [new]
    facts = intent_facts(intent_text(lake))
    assert facts["phase"] == "done"
    assert "new" not in facts
    assert "replaced" not in facts


def test_a_note_that_is_done_is_not_done_again(lake, monkeypatch):
    """Whatever it names: else a file would come back from the trash beside the one in its place."""
    (path,) = live_files(lake, "results")
    with lake_lock(lake):
        new = swap(
            lake, "results", MONTH, [path.name], lambda new: new.write_bytes(path.read_bytes())
        )
        facts = intent_facts(intent_text(lake)) | {"new": "gone.parquet", "replaced": [path.name]}
        swapping.write_whole(lake / swapping.INTENT, swapping.orjson.dumps(facts))

    with lake_lock(lake):
        pass

    assert live_files(lake, "results") == [new]
