"""Names of models: no two the same, none another's id, and no field with an id that is missed."""

import dataclasses
import json
import typing

import pytest
from pydantic import BaseModel

from analyze.power.plan import PowerAnswer
from analyze.query.run_list import Listed
from analyze.show.run_page import RunPage
from schemas.output.comparison import Comparison
from schemas.output.regressions import Flaky, GateResult, Regressions
from schemas.output.report import RunReport
from schemas.run.model_names import NO_NAMES, ModelNames, hidden_id, id_of, with_id, with_names
from tests.support.made_report import MODELS, made_report

SHOWN = (RunReport, Comparison, GateResult, Regressions, Flaky, Listed, RunPage, PowerAnswer)
"""What renderers for people are given."""

NO_ID = {
    "model",
    "candidate_model",
    "models",
    "by_model",
    "served_models",
    "first_models",
    "last_models",
    "n_served_models",
    "served_model",
    "model_build",
    "requested_model",
    "counts_against_model",
    "model_ms",
}
"""Names of fields that speak of models and hold no model_id; some hold records."""

AS_THEY_STAND = {"command", "commands", "next_command", "sentence", "asked"}
"""Fields of a report in which an id stays: what is pasted, and what was made of names before."""


def test_equal_labels_and_labels_that_are_ids_are_told_apart():
    names = ModelNames(
        {"a": "X", "b": "X", "c": "X (b)", "d": "a", "e": " \n", "f": "f", "g": None, "h": "y"},
        ids=["y"],
    )

    assert [names.of(one) for one in "abcdefgh"] == [
        "X (a)", "X (b)", "X (b) (c)", "a (d)", "e", "f", "g", "y (h)",
    ]  # fmt: skip
    assert names.ids_of("X") == ["a", "b"]
    assert names.ids_of("X (a)") == names.ids_of(" X  (a)") == ["a"]
    assert names.ids_of("e") == names.ids_of("") == []
    assert [names.listed(one) for one in "ae"] == ["a (X)", "e"]


def test_a_label_is_one_line_that_nothing_obeys_and_that_ends():
    names = ModelNames({"a": "An\x1b[31m\n\tother\u202ename" + "x" * 10_000, "b": "y" * 80})

    assert names.of("a").isprintable()
    assert names.of("a").startswith("An [31m other name")
    assert len(names.of("a")) == len(names.of("b")) == 80


def test_a_name_knows_its_id():
    names = ModelNames({"a": "X", "b": "Y", "c": "Y"})

    assert (id_of(names.of("a")), hidden_id(names.of("a"))) == ("a", "a")
    assert (id_of(names.of("b")), hidden_id(names.of("b"))) == ("b", "")
    assert [with_id(names.of(one)) for one in "abz"] == ["X (a)", "Y (b)", "z"]
    assert hidden_id("z") == ""


def test_without_labels_a_record_is_itself():
    report = made_report()

    assert with_names(report, NO_NAMES) is report
    assert with_names(report, ModelNames({"other": "Another"})) is report


def test_a_whole_report_has_names_wherever_it_had_ids():
    report = made_report()
    named = with_names(report, ModelNames({one: f"Label {n}" for n, one in enumerate(MODELS)}))
    before, after = (json.loads(one.model_dump_json()) for one in (report, named))

    assert {name for name, text in texts_of(after) if is_id(text)} <= AS_THEY_STAND | NO_ID
    assert {name for name, text in texts_of(before) if is_id(text)} > {"model_id", "model_ids"}
    assert json.loads(report.model_dump_json()) == before


def is_id(text):
    return any(one == text or f"{one} (" in text for one in MODELS)


def texts_of(value, name=""):
    """Yield every text of a JSON value with the name of its field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_of(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner, name)
    elif isinstance(value, str):
        yield name, value


def records_in(kind, seen):
    """Add a record and every record that is in a field of it."""
    if kind in seen or not isinstance(kind, type):
        return
    if issubclass(kind, BaseModel):
        seen.add(kind)
        hints = [info.annotation for info in kind.model_fields.values()]
    elif dataclasses.is_dataclass(kind):
        seen.add(kind)
        hints = list(hints_of(kind).values())
    else:
        return
    while hints:
        hint = hints.pop()
        hints += typing.get_args(hint)
        records_in(hint, seen)


def hints_of(kind):
    module = vars(__import__(kind.__module__, fromlist=["*"]))
    known = module | {"RunSummaryRow": object, "ShownTrial": object}
    return typing.get_type_hints(kind, known)


def fields_of(kind):
    names = kind.model_fields if issubclass(kind, BaseModel) else hints_of(kind)
    return set(names) - {name for name in names if name.isupper()}


@pytest.mark.parametrize("shown", SHOWN, ids=lambda kind: kind.__name__)
def test_every_field_that_speaks_of_models_is_known(shown):
    seen = set()
    records_in(shown, seen)
    unknown = {
        f"{kind.__name__}.{name}"
        for kind in seen
        for name in fields_of(kind)
        if "model" in name
        and not name.endswith(("model_id", "model_ids"))
        and name not in {*NO_ID, *getattr(kind, "MODEL_FIELDS", ())}
    }

    assert len(seen) > 1
    assert unknown == set()
