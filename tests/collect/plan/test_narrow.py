"""Flags that make a run smaller: cases, tags, models, a limit, shards; and labels."""

import pytest

from collect.commands.run import start
from collect.execute.spec import RunRequest
from collect.plan.narrow import narrow, parse_shard
from collect.plan.plan import make_plan
from schemas.errors import ConfigError
from schemas.run.config import Narrowed, RunConfig
from tests.support.forked_mirror import no_mirrors


@pytest.fixture
def inputs(project):
    for name, tags in (("a", ["x"]), ("b", ["x", "y"]), ("c", [])):
        project.case(name, tags=tags)
    project.suite(models=[{"model_id": name, "provider": "ollama_openai"} for name in ("m1", "m2")])
    project.profile(execution_policy={"run_repetitions": 2})
    return project.load()


def keys(inputs, **flags):
    plan = make_plan(narrow(inputs, Narrowed(**flags)), "r")
    return [(trial.model_id, trial.repetition, trial.case_id) for trial in plan]


def test_no_flag_is_the_whole_suite(inputs):
    assert len(keys(inputs)) == 12


def test_cases_tags_and_models_narrow_together(inputs):
    assert {key[2] for key in keys(inputs, cases=("c", "a"))} == {"a", "c"}
    assert {key[2] for key in keys(inputs, tags=("y",))} == {"b"}
    assert {key[0] for key in keys(inputs, models=("m2",))} == {"m2"}
    assert keys(inputs, cases=("b",), tags=("x",), models=("m1",)) == [
        ("m1", 1, "b"), ("m1", 2, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"cases": ("aa",)}, "--case: the suite has no such thing; found `aa`"),
        ({"tags": ("z",)}, "--tag: the suite has no such thing; found `z`; allowed: x, y"),
        ({"models": ("m3",)}, "--model: the suite has no such thing; found `m3`"),
        ({"cases": ("c",), "tags": ("y",)}, "leave no case"),
    ],
)
def test_what_the_suite_does_not_have_is_named(inputs, flags, message):
    with pytest.raises(ConfigError) as caught:
        narrow(inputs, Narrowed(**flags))
    assert message in str(caught.value)


@pytest.fixture
def labelled(project):
    """A suite of models with labels: two that are the same, one that is another one's id."""
    project.case("a")
    labels = {"m1": "Fast one", "m2": "Twin", "m3": "Twin", "m4": "m1", "m5": None}
    project.suite(
        models=[
            {"model_id": one, "label": label, "provider": "ollama_openai"}
            for one, label in labels.items()
        ]
    )
    return project.load()


def test_a_model_is_named_by_its_id_or_else_by_its_label(labelled):
    def chosen(*names):
        inputs = narrow(labelled, Narrowed(models=names))
        return [model.model_id for model in inputs.models], inputs.narrowed.models

    assert chosen("Fast one", "m5") == (["m1", "m5"], ("m1", "m5"))
    assert chosen("m1") == (["m1"], ("m1",)), "an id goes before the label of another model"
    assert chosen("Twin (m3)") == (["m3"], ("m3",)), "as it is shown"
    assert chosen("Fast one", "m1") == (["m1"], ("m1",))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Twin", "--model: the label of several models; name one by its model_id; found `Twin`; "
         "allowed: m2, m3"),
        ("other", "allowed: m1 (Fast one), m2 (Twin), m3 (Twin), m4 (m1), m5"),
    ],
)  # fmt: skip
def test_a_model_that_is_not_there_is_answered_with_ids_and_labels(labelled, name, message):
    with pytest.raises(ConfigError) as caught:
        narrow(labelled, Narrowed(models=(name,)))
    assert message in str(caught.value)


def test_a_limit_takes_the_models_in_turn(inputs):
    assert keys(inputs, max_trials=5) == [
        ("m1", 1, "a"), ("m1", 1, "b"), ("m1", 1, "c"), ("m2", 1, "a"), ("m2", 1, "b"),
    ]  # fmt: skip
    assert len(keys(inputs, max_trials=99)) == 12


@pytest.mark.parametrize("parts", [1, 2, 5, 12, 20])
def test_shards_are_a_partition_of_the_plan(inputs, parts):
    whole = keys(inputs)
    shards = [keys(inputs, shard=f"{number}/{parts}") for number in range(1, parts + 1)]

    assert sorted(key for shard in shards for key in shard) == sorted(whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(ConfigError, match="--shard takes i/n"):
        parse_shard(text)


def test_a_trial_keeps_its_number_and_fingerprint_in_a_shard(inputs):
    whole = {trial.trial_no: trial for trial in make_plan(inputs, "r")}
    part = make_plan(narrow(inputs, Narrowed(shard="2/3")), "r")

    assert all(trial == whole[trial.trial_no] for trial in part)


def config_of(project, endpoint, tmp_path, run_id, labels=(), **flags):
    request = RunRequest(tmp_path / "runs", run_id=run_id, labels=labels, as_json=True)
    with no_mirrors():
        start(narrow(project.load(), Narrowed(**flags)), request)
    path = tmp_path / "runs" / run_id / "config.json"
    return RunConfig.model_validate_json(path.read_bytes())


def test_shards_of_one_plan_share_their_group(project, endpoint, tmp_path, capsys):
    project.case("a")
    project.case("b")
    project.model(base_url=endpoint.base_url)

    one, two, three = (
        config_of(project, endpoint, tmp_path, f"r{n}", shard=shard)
        for n, shard in enumerate(("1/2", "2/2", "1/3"))
    )
    whole = config_of(project, endpoint, tmp_path, "whole", labels=("nightly",), max_trials=1)

    assert one.run_group == two.run_group != three.run_group
    assert (one.n_planned, two.n_planned) == (1, 1)
    assert whole.run_group is None
    assert whole.labels == ("nightly",)
    assert whole.narrowed.max_trials == 1
    assert len(endpoint.requests) == 4
