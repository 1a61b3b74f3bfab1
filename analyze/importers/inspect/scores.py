"""What scorers said of a sample, as numbers by name; what is no number is null, never 0.

The tool makes 0 of lists, objects and words that it cannot convert, with a warning in its console.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from analyze.importers.inspect.values import Json, mapping, rows, words

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""The tool's own words: correct, incorrect, partial, no answer."""

YES_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
NOT_SCORED = object()
UNNAMED = "88F74D2C"
"""The tool's name of the one score that its first logs had."""

Number = float | None


def scores_of(sample: Json) -> Json:
    """Return the scores of a sample by scorer, also those of the oldest logs, which had one."""
    scores = sample.get("scores")
    if isinstance(scores, dict):
        return scores
    old = sample.get("score")
    return {} if old is None else {UNNAMED: old}


def values_of(scores: Json) -> Iterator[tuple[str, Any]]:
    """Yield each value by its name: the scorer's, and behind a `/` the part of it."""
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        unscored = is_unscored(score)
        if isinstance(value, dict):
            for key, one in value.items():
                yield f"{scorer}/{key}", NOT_SCORED if unscored else one
        elif isinstance(value, list):
            for place, one in enumerate(value):
                yield f"{scorer}/{place}", NOT_SCORED if unscored else one
        else:
            yield scorer, NOT_SCORED if unscored else value


def is_unscored(score: Any) -> bool:
    """Return whether a scorer gave up, as logs said it before they wrote NaN."""
    return isinstance(score, dict) and bool(mapping(score.get("metadata")).get("unscored_reason"))


def number_of(value: Any) -> Number:
    """Return a value as the tool converts it; None: not scored, or nothing it can convert.

    Raises:
        ValueError: it is no number, and the tool would count it as 0.
    """
    if isinstance(value, str):
        if value in GRADES:
            return GRADES[value]
        lower = value.lower()
        if lower in YES_NO:
            return YES_NO[lower]
        number = float(value)
    elif isinstance(value, bool | int | float):
        number = float(value)
    elif value is None or value is NOT_SCORED:
        return None
    else:
        message = f"a {type(value).__name__} in a score"
        raise ValueError(message)
    if math.isnan(number) and not isinstance(value, str):
        return None
    if not math.isfinite(number):
        message = "no finite number"
        raise ValueError(message)
    return number


def headline_names(header: Json) -> tuple[str, str] | None:
    """Return scorer and score of the first number that the tool shows; None: its head has none."""
    results = mapping(header.get("results"))
    scores = [one for one in rows(results.get("scores")) if isinstance(one, dict)]
    declared = mapping(mapping(header.get("eval")).get("headline_metric"))
    for key, field in (("reducer", "reducer"), ("scorer", "scorer"), ("score", "name")):
        wanted = declared.get(key)
        scores = (
            [one for one in scores if one.get(field) == wanted] if wanted and scores else scores
        )
    if scores:
        scorer = words(scores[0].get("scorer")) or words(scores[0].get("name"))
        return None if scorer is None else (scorer, words(scores[0].get("name")) or scorer)
    if name := words(mapping(results.get("scorer")).get("name")):
        return name, name
    for one in rows(mapping(header.get("eval")).get("scorers")):
        if name := words(mapping(one).get("name")):
            return name, name
    return None


def headline_column(header: Json, scores: Json) -> str | None:
    """Return the name, as in `values_of`, of the value that decides on a trial, if there is one."""
    names = [name for name, _ in values_of(scores)]
    shown = headline_names(header)
    if shown is None or shown[0] not in scores:
        first = next(iter(scores), None)
        return first if first in names else None
    scorer, score = shown
    if f"{scorer}/{score}" in names:
        return f"{scorer}/{score}"
    return scorer if scorer in names else None
