"""What a judge is asked about two trials of one case, and what it may answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel

from collect.config.evaluation import LoadedEvaluation
from collect.config.resolved import LoadedCase
from collect.judges.answer import Said, Texts, answer_record, read_answer
from collect.judges.prompt import JudgedTrial, JudgePrompt, PromptSection, joined, wanted_section
from schemas.config.evaluation_profile import AnchorReference

Choice = Literal["first", "second", "tie", "cannot_say"]


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """An answer that fits."""

    choice: Choice
    summary: str
    evidence: Mapping[str, tuple[str, ...]]


class PairForm:
    """What an answer about two trials has to look like."""

    @cached_property
    def _model(self) -> type[BaseModel]:
        parts = {"summary": Said, "evidence": Texts, "preferred": Choice}
        return answer_record("Preference", parts)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema, as strict structured outputs take it."""
        return self._model.model_json_schema()

    @cached_property
    def schema_text(self) -> str:
        """The same as a prompt shows it."""
        return json.dumps(self.schema)

    def parsed(self, text: str) -> PairAnswer:
        """Return what an answer says.

        Raises:
            InvalidAnswer: it holds no JSON object, or the last one does not fit; what is wrong.
        """
        value = read_answer(text, self._model)
        evidence = {"preferred": tuple(value["evidence"])}
        return PairAnswer(value["preferred"], value["summary"], evidence)


FORM = PairForm()


def pair_system_prompt(evaluation: LoadedEvaluation) -> str:
    """Return the packaged system prompt, after that of a profile that has one of its own."""
    own = evaluation.system_prompt
    return _packaged() if own is None else f"{own.rstrip()}\n\n{_packaged()}"


@cache
def _packaged() -> str:
    return (files("collect.judges.pairs") / "pair_prompt.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class PairPrompt:
    """Writes the prompt about two trials.

    Attributes:
        case: as both were asked.
        first: what came of it, as it is shown first.
        second: and second.
        marker: of every fence in it.
        anchors: examples that calibrate; none where the profile shows none.
    """

    case: LoadedCase
    first: JudgedTrial
    second: JudgedTrial
    marker: str
    anchors: Sequence[AnchorReference] = ()

    def text(self) -> str:
        """Return the message to the judge."""
        one, two = (
            JudgePrompt(self.case, trial, self.marker, self.anchors)
            for trial in (self.first, self.second)
        )
        wanted = wanted_section(FORM.schema_text)
        sections = [*one.case_sections(), *_of("First", one), *_of("Second", two), wanted]
        return joined(sections)


def _of(place: str, prompt: JudgePrompt) -> list[PromptSection]:
    return [
        (f"{place} subject: {title[0].lower()}{title[1:]}", body)
        for title, body in prompt.trial_sections()
    ]
