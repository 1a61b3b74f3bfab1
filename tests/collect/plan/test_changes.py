"""What is new since the last run of a suite, and which part of it changed."""

import orjson
import pytest

from collect.plan.changes import PARTS, changes_since, earlier_plan
from collect.plan.plan import make_plan


@pytest.fixture
def stored(project):
    """Two cases, two repetitions; `keep` writes the plan of now as a run."""
    project.case("a")
    project.case("b")
    project.model()
    project.profile(execution_policy={"run_repetitions": 2})
    return project


def plan(project):
    return make_plan(project.load(), "now")


def keep(project, run_id="r1", started_at_ms=1000, suite_id="s", trials=None):
    run_dir = project.root / "runs" / run_id
    run_dir.mkdir(parents=True)
    config = {"started_at_ms": started_at_ms, "suite_id": suite_id}
    (run_dir / "config.json").write_bytes(orjson.dumps(config))
    rows = plan(project) if trials is None else trials
    (run_dir / "plan.jsonl").write_text("".join(row.model_dump_json() + "\n" for row in rows))
    return run_dir


def news(project):
    return changes_since(earlier_plan(project.root / "runs", "s"), plan(project))


def test_the_same_plan_is_the_same(stored):
    keep(stored)

    found = news(stored)

    assert found.since == "r1"
    assert [(trial.kind, trial.reasons) for trial in found.trials] == [("same", ())] * 4
    assert [trial.key for trial in found.trials][:2] == [("m", "a", 1), ("m", "b", 1)]
    assert found.removed == ()
    assert found.summary() == "4 same"


def test_a_change_is_named_by_its_parts(stored):
    keep(stored)
    stored.case("a", input={"messages": [{"role": "user", "content": "Other."}]})

    assert news(stored).summary() == "2 same; 2 changed: case"

    stored.profile(runner_defaults={"temperature": 0.5}, execution_policy={"run_repetitions": 2})

    assert news(stored).summary() == "2 changed: case + settings; 2 changed: settings"


def test_more_repetitions_are_new_and_the_others_the_same(stored):
    keep(stored)
    stored.profile(execution_policy={"run_repetitions": 6})

    assert news(stored).summary() == "4 same; 8 new: repetition"


def test_a_new_case_a_new_model_and_both(stored):
    keep(stored)
    stored.case("c")
    stored.suite(
        models=[
            {"model_id": name, "provider": "ollama_openai", "requested_model": "r"}
            for name in ("m", "n")
        ]
    )

    assert news(stored).summary() == "4 same; 4 new: model; 2 new: case; 2 new: model + case"


def test_a_known_case_that_a_known_model_was_not_asked(stored):
    stored.suite(
        models=[
            {"model_id": name, "provider": "ollama_openai", "requested_model": "r"}
            for name in ("m", "n")
        ]
    )
    keep(stored, trials=[row for row in plan(stored) if (row.model_id, row.case_id) != ("n", "b")])

    assert news(stored).summary() == "6 same; 2 new: case of this model"


def test_what_the_plan_no_longer_has_is_gone(stored):
    keep(stored)
    stored.suite(
        models=[{"model_id": "m", "provider": "ollama_openai", "requested_model": "r"}],
        case_selection={"exclude_case_ids": ["b"], "include_tags": [], "include_case_ids": ["a"]},
    )

    found = news(stored)

    assert found.removed == (("m", "b", 1), ("m", "b", 2))
    assert found.summary() == "2 same; 2 gone"


def test_without_an_earlier_run_all_is_new(stored):
    found = news(stored)

    assert found.since is None
    assert found.summary() == "4 new: first run"


def test_the_newest_run_of_the_suite_counts_whatever_its_name(stored):
    keep(stored, "z_old", 1000, trials=plan(stored)[:1])
    keep(stored, "a_new", 2000)
    keep(stored, "other", 3000, suite_id="t")

    assert news(stored).since == "a_new"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b""),
        ("config.json", b"[]"),
        ("config.json", b'{"suite_id": "s"}'),
        ("config.json", b'{"suite_id": "s", "started_at_ms": null}'),
        ("config.json", None),
        ("plan.jsonl", b'{"model_id": "m"}\n'),
        ("plan.jsonl", b'{"model_id": "m", "case_id'),
        ("plan.jsonl", b"[]\n"),
        ("plan.jsonl", b"null\n"),
        ("plan.jsonl", b'{"fingerprint_parts": null}\n'),
        ("plan.jsonl", b"\xff\n"),
        ("plan.jsonl", None),
    ],
)
def test_a_broken_run_is_passed_over(stored, name, content):
    keep(stored, "whole", 1000)
    path = keep(stored, "broken", 2000) / name
    path.unlink() if content is None else path.write_bytes(content)

    assert news(stored).since == "whole"


def test_a_key_that_cannot_be_looked_up_breaks_only_its_run(stored):
    path = keep(stored) / "plan.jsonl"
    row = orjson.loads(path.read_text().splitlines()[0])
    path.write_bytes(orjson.dumps(row | {"model_id": []}))

    assert news(stored).since is None


def test_no_runs_folder_is_no_earlier_run(stored):
    assert earlier_plan(stored.root / "nowhere", "s") is None


def test_every_part_can_be_the_reason(stored):
    row = plan(stored)[0]
    for name in PARTS:
        parts = row.fingerprint_parts.model_copy(update={name: "0" * 64})
        changed = row.model_copy(update={"fingerprint_parts": parts, "run_fingerprint": "1" * 64})
        keep(stored, f"with_{name}", trials=[changed])
        earlier = earlier_plan(stored.root / "runs", "s")

        assert changes_since(earlier, [row]).trials[0].reasons == (name,)
        (stored.root / "runs" / f"with_{name}" / "config.json").unlink()


def test_fingerprints_of_another_version_are_not_compared_by_parts(stored):
    row = plan(stored)[0]
    other = {"fingerprint_version": row.fingerprint_version + 1, "run_fingerprint": "1" * 64}
    keep(stored, trials=[row.model_copy(update=other)])

    earlier = earlier_plan(stored.root / "runs", "s")
    assert changes_since(earlier, [row]).summary() == "1 changed: fingerprint version"
