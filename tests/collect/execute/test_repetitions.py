"""Repetitions at temperature 0 are one draw: `validate`, `plan` and `run` say so."""

from pathlib import Path

import pytest

from collect.commands.init import starter_configs
from collect.commands.validate import validate_paths

HOW = (
    "repeat one answer and are no independent draws; set `temperature` above 0 "
    "(with a `seed`, `seed_per_repetition: true` too), or `run_repetitions: 1`"
)


def greedy(project, **profile):
    project.case()
    policy = {"run_repetitions": 3}
    project.profile(**({"execution_policy": policy} | profile))
    loaded = [one for one in project.load().warnings if HOW in one]
    validated = [one for one in validate_paths([Path()], project.root).warnings if HOW in one]
    return loaded, validated


@pytest.mark.parametrize("more", [{}, {"seed": 1}, {"seed": 1, "seed_per_repetition": True}])
def test_it_is_said_where_it_stands_whatever_the_seed(project, more):
    (loaded,), (validated,) = greedy(project, runner_defaults={"temperature": 0} | more)

    assert "p.yaml:5: 3 repetitions at temperature 0 (model `m`) " in loaded
    assert "p.yaml:5: 3 repetitions at temperature 0 (`runner_defaults`) " in validated


def test_who_sets_it_does_not_matter(project):
    loaded, validated = greedy(project, model_overrides={"m": {"temperature": 0}})
    assert len(loaded) == len(validated) == 1

    project.model(temperature=0)
    loaded, _ = greedy(project)
    assert len(loaded) == 1


@pytest.mark.parametrize(
    "profile",
    [
        {"runner_defaults": {"temperature": 0.1}},
        {"runner_defaults": {}},
        {"runner_defaults": {"temperature": 0}, "execution_policy": {"run_repetitions": 1}},
    ],
)
def test_nothing_is_said_of_real_draws(project, profile):
    assert greedy(project, **profile) == ([], [])


def test_the_starter_project_warns_of_nothing():
    with starter_configs() as folder:
        assert validate_paths([folder], folder).warnings == ()
