"""A validator and a check that a package adds to benchlake."""

from typing import Literal

from collect.checks.base import verdict
from schemas.config.checks import CheckRecord, CheckSpec
from schemas.config.validators import ValidatorRecord, ValidatorSpec


class Shouted(ValidatorRecord):
    """The text holds a word in capitals."""

    type: Literal["shouted"]
    word: str


def shouted(validator, answer):
    """Pass when the word is there; an empty one is a mistake."""
    wanted = validator.word[0].upper() + validator.word[1:].upper()
    return verdict(wanted in answer.text, f"not_shouted want={wanted!r}", answer.text)


class ShorterThan(CheckRecord):
    """The answer has at most as many characters as a file beside test.yaml."""

    kind: Literal["shorter_than"]
    path: str


def shorter(check, trial):
    """Pass when the answer is no longer than the file; an empty file is a mistake."""
    limit = len((trial.folder / check.path).read_text())
    return len(trial.final_text) / limit <= 1, f"{len(trial.final_text)} of {limit} characters"


SHOUTED = ValidatorSpec(Shouted, shouted)
SHORTER_THAN = CheckSpec(ShorterThan, shorter, ("efficiency",), needs_files=True)
