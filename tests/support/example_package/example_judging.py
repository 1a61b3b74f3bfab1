"""A validator that a package adds to benchlake."""

from typing import Literal

from collect.checks.base import verdict
from schemas.config.validators import ValidatorRecord, ValidatorSpec


class Shouted(ValidatorRecord):
    """The text holds a word in capitals."""

    type: Literal["shouted"]
    word: str


def shouted(validator, answer):
    """Pass when the word is there."""
    wanted = validator.word.upper()
    return verdict(wanted in answer.text, f"not_shouted want={wanted!r}", answer.text)


SHOUTED = ValidatorSpec(Shouted, shouted)
