"""`tools:` of benchlake.yaml: what a tool of a model needs beyond the sandbox."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.base import NonEmpty, Record, Unit, require

MAX_TERM_CHARS = 200

MIN_TERM_LETTERS = 2
"""Letters and digits are all that is compared: `c++` would drop every hit with the word `C`."""


def _term(text: str) -> str:
    """Return a blocked word, phrase or host that has enough in it to be compared."""
    has_words = sum(map(str.isalnum, text)) >= MIN_TERM_LETTERS
    require(has_words, "must hold at least two letters or digits, which are what is compared")
    return text.strip()


Term = Annotated[str, Field(max_length=MAX_TERM_CHARS), AfterValidator(_term)]


class WebSearchSettings(Record):
    """Where `web_search` asks, and what a model never sees of the answer."""

    url: NonEmpty = Field(
        description="Where searches are asked, as SearXNG answers them; https, or this machine."
    )
    max_results: Annotated[int, Field(ge=1, le=20)] = Field(
        default=5,
        description="Most results that a model sees of one search: 1 to 20, 5 if left out.",
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=120), Unit("s")] = Field(
        default=10.0,
        description="Wall clock of one search, a second try included: at most 120, 10 if left out.",
    )
    blocked: tuple[Term, ...] = Field(
        default=(), description="Words, phrases and hosts; a result that names one is dropped."
    )


class ToolSettings(Record):
    """`tools:` of benchlake.yaml, by the name of the tool."""

    web_search: WebSearchSettings | None = Field(
        default=None, description="Needed by cases that offer the tool; none: nothing is searched."
    )
