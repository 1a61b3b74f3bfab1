"""What a judge may answer: the JSON Schema it is shown, and its answer held against that.

Read is the last JSON object of the answer, since a judge may quote the subject's before its own.
What does not fit is a sentence that the judge is shown, so that it can answer again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError, create_model

from collect.checks.json_object import read_last_object
from schemas.base import Record
from schemas.config.case import RubricScale
from schemas.config.checks import Dimension
from schemas.run.judgement import MAX_SCORE, ExpectationVerdict, Opinion

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

MAX_SHOWN_CHARS = 80
"""Of a wrong value, in the sentence that says so."""

MAX_SHOWN_FAULTS = 3


class InvalidAnswer(Exception):
    """An answer that does not fit; its text is a sentence for the judge."""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """An answer that fits."""

    opinion: Opinion
    """On 0-10."""
    overall: float
    """On the scale that the judge was shown."""
    summary: str
    evidence: Mapping[str, tuple[str, ...]]
    """Of `overall`, of each dimension, and of each expectation by its name."""


@dataclass(frozen=True)
class AnswerForm:
    """What an answer about one case has to look like.

    Attributes:
        scale: of the scores.
        expectations: names of those that want a verdict.
    """

    scale: RubricScale
    expectations: tuple[str, ...] = ()

    @cached_property
    def _model(self) -> type[BaseModel]:
        # as floats, so that a scale that was stored and read is shown as it was
        least, most = float(self.scale.min), float(self.scale.max)
        bounds = Field(ge=least, le=most, allow_inf_nan=False)
        scored = answer_record("Scored", {"score": Annotated[float, bounds], "evidence": Texts})
        verdict = answer_record("Verdict", {"verdict": ExpectationVerdict, "evidence": Texts})
        parts: dict[str, Any] = {
            "summary": Said,
            "dimensions": answer_record("Dimensions", dict.fromkeys(DIMENSIONS, scored)),
            "overall": scored,
        }
        if self.expectations:
            named = dict.fromkeys(self.expectations, verdict)
            parts["expectations"] = answer_record("Expectations", named)
        return answer_record("Judgement", parts)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema, as strict structured outputs take it."""
        return self._model.model_json_schema()

    @cached_property
    def schema_text(self) -> str:
        """The same as a prompt shows it."""
        return json.dumps(self.schema, ensure_ascii=False)

    def parsed(self, text: str) -> JudgeAnswer:
        """Return what an answer says.

        Raises:
            InvalidAnswer: it holds no JSON object, or the last one does not fit; what is wrong.
        """
        return self._said(read_answer(text, self._model))

    def _said(self, value: Any) -> JudgeAnswer:
        """Return what a JSON value says that fits."""
        verdicts = value.get("expectations", {})
        named = {"overall": value["overall"]} | value["dimensions"] | verdicts
        scores = value["dimensions"]
        opinion = Opinion.of(
            self._rescaled(value["overall"]["score"]),
            {name: self._rescaled(scores[name]["score"]) for name in DIMENSIONS},
            {name: one["verdict"] for name, one in verdicts.items()},
        )
        return JudgeAnswer(
            opinion=opinion,
            overall=value["overall"]["score"],
            summary=value["summary"],
            evidence={name: tuple(one["evidence"]) for name, one in named.items()},
        )

    def _rescaled(self, score: float) -> float:
        """Return a score on 0-10."""
        share = (score - self.scale.min) / (self.scale.max - self.scale.min)
        return min(MAX_SCORE, max(0.0, MAX_SCORE * share))


MAX_QUOTES = 3
"""Texts of evidence that are asked for; more are taken all the same."""

Texts = Annotated[tuple[str, ...], Field(json_schema_extra={"maxItems": MAX_QUOTES})]


def read_answer(text: str, model: type[BaseModel]) -> Any:
    """Return the last JSON object of an answer, which fits a model.

    Raises:
        InvalidAnswer: it holds none, or the last one does not fit; what is wrong.
    """
    reading = read_last_object(text)
    if reading.problem is not None:
        what = f"it holds no JSON object that can be read: {reading.problem}"
        raise InvalidAnswer(what)
    try:
        model.model_validate_json(json.dumps(reading.value), strict=True)
    except ValidationError as exc:
        raise InvalidAnswer(_faults(exc)) from exc
    return reading.value


def _said_something(text: str) -> str:
    """Refuse an empty text; in the schema, not every API takes a shortest length."""
    if not text.strip():
        message = "it is empty"
        raise ValueError(message)
    return text


Said = Annotated[str, AfterValidator(_said_something)]


def answer_record(name: str, parts: Mapping[str, Any]) -> type[BaseModel]:
    """Return a record whose every field is required, and that has no other."""
    fields: dict[str, Any] = {field: (kind, ...) for field, kind in parts.items()}
    return create_model(name, __base__=Record, **fields)


def _faults(exc: ValidationError) -> str:
    """Return the first things that are wrong, in a sentence."""
    faults = exc.errors(include_url=False, include_context=False)
    said = [
        f"`{'.'.join(map(str, fault['loc'])) or 'the answer'}`: {fault['msg']}, found "
        f"{_shown(fault['input'])}"
        for fault in faults[:MAX_SHOWN_FAULTS]
    ]
    more = len(faults) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more else "")


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
