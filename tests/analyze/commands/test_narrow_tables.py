"""Tables on 80 columns: names that begin alike stay apart, nothing empty, the best model first."""

import re

import pytest

from analyze.render.text import Column, cells, fit_apart, table
from analyze.sql.ask import Column as SqlColumn
from analyze.sql.output import table as sql_table
from tests.support.analyze_cli import call
from tests.support.run_builder import DAY_MS

PREFIX = "anthropic-claude-sonnet-4-20250514-thinking"
MODELS = tuple(f"{PREFIX}-{level}" for level in ("high", "low", "medium"))
CASES = tuple(f"customer_support_ticket_classification_in_{name}" for name in ("german", "greek"))


@pytest.fixture(scope="module")
def runs(shared_run):
    """Two runs of three models and two cases whose names begin alike; the middle one is best."""
    for number in (1, 2):
        run = shared_run(f"night-{number}", started_at_ms=number * DAY_MS)

        def outcome(trial, number=number):
            place = MODELS.index(trial.model_id)
            passed = place == 1 or (place == 2 and number == trial.repetition == 1)
            calls = {"tool_calls": ("ls",), "tool_use_success": True} if passed else {}
            return {"passed": passed} | calls

        models = {name: {"model": f"vendor/{name}"} for name in MODELS}
        plan = {"expected_tools": ("ls",)}
        run.night(CASES, outcome, models=models, repetitions=2, plan=plan)
    call("sync", "--runs", run.runs_dir)
    return run.runs_dir


COMMANDS = {
    "run": ("show", "night-1"),
    "case": ("show", "night-2", CASES[0]),
    "runs": ("runs",),
    "tiers": ("tiers",),
    "flaky": ("flaky", "--all"),
    "compare": ("compare", "night-1", "night-2", "--by", "cell"),
    "gate": ("gate", "night-2", "--baseline", "night-1"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_names_that_begin_alike_are_told_apart(runs, name):
    text = call(*COMMANDS[name], "--runs", runs, columns=80).out
    alike = [MODELS, CASES, [f"vendor/{one}" for one in MODELS]]
    alike.append([f"{one} (ollama_openai vendor/{one})" for one in MODELS])
    cuts = [stump.partition("…") for stump in re.findall(r"\S+…\S*", text)]
    fitting = [
        [one for one in names if one.startswith(head) and one.endswith(tail)]
        for head, _, tail in cuts
        for names in alike
    ]

    assert text.count("\n") > 3
    assert max(map(len, fitting), default=0) <= 1
    assert name not in {"run", "case", "flaky", "compare"} or any(fitting)


def test_models_stand_best_first(runs):
    for words in (("show", "night-1"), ("tiers",)):
        lines = call(*words, "--runs", runs, columns=300).out.splitlines()
        start = next(n for n, line in enumerate(lines) if re.match("model|provider", line))
        found = [next(m for m in MODELS if m in line) for line in lines[start + 1 : start + 4]]
        assert found == [MODELS[1], MODELS[2], MODELS[0]], words
    runs_text = call("runs", "--runs", runs, "--limit", "1", columns=300).out
    places = [runs_text.index(f"{model}: passed%") for model in (MODELS[1], *MODELS[::2])]
    assert places == sorted(places)


def test_columns_without_anything_in_them_are_left_out(runs):
    page = call("show", "night-1", "--runs", runs).out
    case = call("show", "night-1", CASES[0], "--runs", runs).out

    assert "USD" not in page + case
    assert "thinking" not in call("tiers", "--runs", runs).out.splitlines()[0]
    assert table([Column("a"), Column("b")], [["x", ""], ["y", ""]], 80) == ["a", "x", "y"]
    assert table([Column("a"), Column("b")], [], 80) == ["a  b"]


@pytest.mark.parametrize("width", range(3, 30))
def test_a_name_is_cut_as_short_as_it_can_be_and_no_shorter(width):
    names = ["a-long-name-low", "a-long-name-high", "a-long-other", "水" * 9 + "a", "水" * 9 + "b"]
    cut = fit_apart(names, width)

    assert len(set(cut.values())) == len(names)
    assert width < 8 or max(map(cells, cut.values())) <= width
    assert fit_apart(["same", "same"], 3) == {"same": "…me"}


def test_headings_are_never_cut_to_the_same():
    columns = [Column("of the base", least=5), Column("of the candidate", least=5)]
    head, _ = table(columns, [["x" * 40, "y" * 40]], 12)

    assert head.split() == ["o…ase", "o…ate"]


@pytest.mark.parametrize("width", [40, 48, 60])
def test_headings_of_an_answer_stay_apart(width):
    names = ["previous_n_scored", "previous_n_passed", "previous_n_planned"]
    columns = [SqlColumn(name, "BIGINT") for name in names]
    lines = sql_table(columns, [[1, 2, 3]], width=width).splitlines()
    heads = lines[0].split() if len(lines) == 3 else [line.split()[0] for line in lines]

    assert len(set(heads)) == len(heads) == 3
    assert max(map(len, lines)) <= width


def test_what_takes_no_column_of_a_terminal_counts_for_none():
    columns = [SqlColumn("a", "VARCHAR"), SqlColumn("b", "BIGINT")]
    *_, marked, plain = sql_table(columns, [["\u2764\ufe0f", 1], ["xx", 2]]).splitlines()

    assert cells(marked) == cells(plain)
