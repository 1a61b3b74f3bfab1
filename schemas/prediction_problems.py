"""What is wrong with predictions for SWE-bench: one by one, and among themselves.

The harness reads lines of JSON, a list, or an object whose values carry `instance_id`. The object
that sb-cli documents has the id as its key alone; we read that too, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas.finding import Finding, error, is_valid, pointer, warning
from schemas.formats.swebench import Prediction
from schemas.json_values import described, key_part, shown
from schemas.misfits import misfits


class Checked(NamedTuple):
    """One prediction of a file, and what is wrong with it."""

    prediction: Prediction | None
    """None when one of the findings is an error."""
    findings: tuple[Finding, ...]


class PredictionCheck:
    """Looks at the predictions of one file in turn, and remembers what may stand only once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._model: str | None = None
        self._several = False

    def look(self, value: object, where: str = "", line: int | None = None) -> Checked:
        """Return the next prediction, and what is wrong with it.

        Args:
            value: parsed JSON, of any kind.
            where: its pointer, in a document that holds all predictions.
            line: its number, in a file of lines.
        """
        found: tuple[Finding, ...] = ()
        if isinstance(value, dict) and "model_patch" not in value:
            value = value | {"model_patch": None}
            message = "this field is absent; the harness takes that for an empty patch"
            found = (warning("patch_absent", where + pointer("model_patch"), message, line),)
        if wrong := misfits(Prediction, value, where, line):
            return Checked(None, (*found, *wrong))
        prediction = Prediction.model_validate(value)
        found = (*found, *self._among_others(prediction, where, line))
        return Checked(prediction if is_valid(found) else None, found)

    def _among_others(self, one: Prediction, where: str, line: int | None) -> Iterator[Finding]:
        if one.instance_id in self._seen:
            message = f"a prediction for {shown(one.instance_id)} stands before this one"
            yield error("duplicate_instance_id", where + pointer("instance_id"), message, line)
        self._seen.add(one.instance_id)
        if self._model is None:
            self._model = one.model_name_or_path
        elif one.model_name_or_path != self._model and not self._several:
            self._several = True
            message = (
                f"predictions of {shown(one.model_name_or_path)} after those of "
                f"{shown(self._model)}; the harness names its report after the first model"
            )
            yield warning("several_models", where + pointer("model_name_or_path"), message, line)


def prediction_problems(value: object) -> tuple[Finding, ...]:
    """Return every problem of a JSON document of predictions, a list or an object.

    Files of lines go through `PredictionCheck`, a line at a time.

    Args:
        value: parsed JSON, of any kind.
    """
    return tuple(finding for one in document_predictions(value) for finding in one.findings)


def document_predictions(value: object) -> Iterator[Checked]:
    """Yield the predictions of a JSON document, in its order, with what is wrong with each.

    Args:
        value: parsed JSON, of any kind.
    """
    check = PredictionCheck()
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield check.look(one, pointer(number))
    elif isinstance(value, dict):
        for key, one in value.items():
            where = pointer(key_part(key))
            of_key = _key_problems(key, one, where)
            filled = {"instance_id": key} | one if isinstance(one, dict) else one
            checked = check.look(filled, where)
            yield checked._replace(findings=(*of_key, *checked.findings))
    else:
        message = f"a list or an object of predictions is needed, found {described(value)}"
        yield Checked(None, (error("wrong_type", "", message),))


def _key_problems(key: object, value: object, where: str) -> tuple[Finding, ...]:
    if not isinstance(value, dict):
        return ()
    if "instance_id" not in value:
        message = "the id is this prediction's key alone: sb-cli reads that, the harness does not"
        return (warning("id_in_key", where, message),)
    if value["instance_id"] != key:
        message = f"the key is {described(key)}, and the harness goes by `instance_id`"
        return (warning("id_in_key", where + pointer("instance_id"), message),)
    return ()
