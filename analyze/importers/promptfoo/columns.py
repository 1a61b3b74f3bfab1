"""Columns and rows of promptfoo's table: what is compared there, and what is asked of each.

A column is a provider with a prompt. Where an evaluation has one prompt it is the provider alone.
A case is a test by its description and variables, so that it is the same one in the next
evaluation; tests that differ in their assertions alone are told apart by these.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from analyze.importers.defaults import slugs_of
from analyze.importers.lenient import number, object_in, text, whole
from analyze.importers.promptfoo.files import Eval, Row
from schemas.base import slugify
from schemas.redact import redact
from schemas.run.import_record import VERDICTS, Headline

KINDS = frozenset(
    {"chat", "completion", "completions", "responses", "messages", "embedding", "embeddings",
     "image", "realtime", "assistant", "text", "moderation", "agents"}
)  # fmt: skip
"""Between the provider and the model in an id, as in `openai:chat:gpt-4o`."""

COUNTS = ("testPassCount", "testFailCount", "testErrorCount")

HIDDEN_VARS = frozenset({"sessionId"})
"""Variables that are made anew for each request; those that begin with `_` are, too."""

PROMPT_HASH = re.compile(r"[0-9a-f]{64}")

MAX_NAME = 60
"""Characters of a description or prompt in an id."""


class Column(NamedTuple):
    """A provider with a prompt, in the order of the table."""

    provider: str
    """Its label, or else its id."""
    prompt: str
    """Id of the prompt, or else its label."""
    nth: int
    """From 0; of columns with the same provider and prompt."""


Place = tuple[str, str, int]
"""Provider, prompt and position of a column, as rows name it; -1: they do not."""


class Names(NamedTuple):
    """What ids and results call the parts of an evaluation."""

    model_ids: dict[Column, str]
    columns: dict[Place, Column]
    metrics_at: dict[Column, int]
    """Where the file has the numbers of a column."""
    twice: frozenset[str]
    """Tests by description and variables that have several sets of assertions."""
    by_place: frozenset[str]
    """Tests without their variables, which stand where they are in the table."""


def provider_of(row: Row) -> tuple[str, str]:
    """Return id and label of a row's provider; the label is the id where it has none."""
    named = row.get("provider")
    if isinstance(named, dict):
        provider_id = text(named.get("id")) or "unknown"
        return provider_id, text(named.get("label")) or provider_id
    return text(named) or "unknown", text(named) or "unknown"


def model_of(provider_id: str) -> tuple[str, str]:
    """Return how a provider is reached, and its model: `openai:chat:m` is (openai, m)."""
    reached, colon, rest = provider_id.partition(":")
    if not colon or not rest or rest.startswith("//"):
        return (reached if colon else "promptfoo"), provider_id
    kind, colon, model = rest.partition(":")
    return reached, model if colon and model and kind in KINDS else rest


def prompt_of(row: Row) -> tuple[str, str]:
    """Return id and label of a row's prompt, before its variables were filled in."""
    prompt = object_in(row.get("prompt"))
    label = text(prompt.get("label")) or text(prompt.get("display"))
    return text(row.get("promptId")) or text(prompt.get("id")) or label, label


def names_of(rows: Iterable[Row], prompts: list[dict[str, Any]]) -> Names:
    """Look through the rows for what stands in them.

    Args:
        rows: all of them.
        prompts: the columns, as far as the file has them.
    """
    places: dict[tuple[str, str], set[int]] = {}
    labels: dict[str, str] = {}
    tests: dict[str, set[str]] = {}
    nameless: dict[str, set[int]] = {}
    for row in rows:
        label = prompt_of(row)[1]
        *pair, index = place_of(row)
        labels.setdefault(pair[1], label)
        places.setdefault((pair[0], pair[1]), set()).add(index)
        base = base_of(row)
        tests.setdefault(base, set()).add(digest(_asserted(row)))
        if not vars_of(row) and "{{" in label:
            nameless.setdefault(base, set()).add(whole(row.get("testIdx")) or 0)
    heads: dict[Place, int] = {}
    for index, one in enumerate(prompts):
        provider, label = text(one.get("provider")) or "unknown", text(one.get("label"))
        prompt = text(one.get("id")) or label
        labels.setdefault(prompt, label)
        every = places.setdefault((provider, prompt), set())
        at = -1 if every == {-1} else index
        every.add(at)
        heads.setdefault((provider, prompt, at), index)
    columns = {
        (*pair, index): Column(*pair, nth)
        for pair, every in places.items()
        for nth, index in enumerate(sorted(every))
    }
    return Names(
        _model_ids(columns.values(), labels),
        columns,
        {columns[place]: index for place, index in heads.items()},
        frozenset(base for base, every in tests.items() if len(every) > 1),
        frozenset(base for base, at in nameless.items() if len(at) > 1),
    )


def place_of(row: Row) -> Place:
    """Return the column of a row as the row names it."""
    index = whole(row.get("promptIdx"))
    return provider_of(row)[1], prompt_of(row)[0], -1 if index is None else index


def _model_ids(columns: Iterable[Column], labels: dict[str, str]) -> dict[Column, str]:
    every = list(columns)
    has_prompts = len({one.prompt for one in every}) > 1
    names = {}
    for one in every:
        words = [redact(one.provider)]
        if has_prompts:
            mark = one.prompt if PROMPT_HASH.fullmatch(one.prompt) else digest(one.prompt)
            words += [slugify(redact(labels[one.prompt]))[:MAX_NAME], mark[:8]]
        words += [str(one.nth + 1)] * (one.nth > 0)
        names[one] = " ".join(words)
    slugs = slugs_of(names.values())
    return {one: slugs[name] for one, name in names.items()}


def vars_of(row: Row) -> dict[str, Any]:
    """Return the variables of a row's test, each list of them taken apart already."""
    found = object_in(row.get("vars")) or object_in(row.get("testCase"), "vars")
    return {
        name: value
        for name, value in found.items()
        if not name.startswith("_") and name not in HIDDEN_VARS
    }


def base_of(row: Row) -> str:
    """Return a hash of what a test asks."""
    return digest([text(object_in(row.get("testCase")).get("description")), vars_of(row)])


def _asserted(row: Row) -> object:
    test = object_in(row.get("testCase"))
    return [test.get("assert"), test.get("threshold")]


def case_of(row: Row, names: Names) -> str:
    """Return the id of a row's case."""
    base = base_of(row)
    key: list[object] = [base]
    if base in names.twice:
        key.append(digest(_asserted(row)))
    if base in names.by_place:
        key.append(whole(row.get("testIdx")))
    label = slugify(redact(title_of(row)))[:MAX_NAME].strip("_-")
    return f"{label}_{digest(key)[:10]}"


def title_of(row: Row) -> str:
    """Return what a test is called: its description, or the first of its variables."""
    described = text(object_in(row.get("testCase")).get("description"))
    first = next((text(value) for value in vars_of(row).values()), "")
    return described or first or "test"


def digest(value: object) -> str:
    """Return the sha256 of a JSON value, whatever the order of its keys."""
    try:
        written = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        written = "(no JSON)"
    return hashlib.sha256(written.encode()).hexdigest()


class Tally:
    """Counts of one column, as promptfoo would write them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.score = 0.0

    def add(self, outcome: str, row: Row) -> None:
        """Count a row by its `pass`, `fail` or `error`."""
        self.counts[outcome] += 1
        self.score += number(row.get("score")) or 0.0


def headlines_of(source: Eval, names: Names, tallies: dict[Column, Tally]) -> Iterator[Headline]:
    """Yield the numbers of each column: its counts, its scores, and the rate at its head."""
    for column, model_id in names.model_ids.items():
        index = names.metrics_at.get(column)
        metrics = {} if index is None else object_in(source.prompts[index], "metrics")
        yield from _of_column(model_id, metrics, tallies.get(column, Tally()))


def _of_column(model_id: str, metrics: dict[str, Any], tally: Tally) -> Iterator[Headline]:
    is_computed = not any(name in metrics for name in COUNTS)
    if is_computed:
        own = dict(
            zip(COUNTS, (tally.counts[one] for one in ("pass", "fail", "error")), strict=True)
        )
        metrics = {**own, "score": tally.score, **metrics}
    counts = [number(metrics.get(name)) or 0.0 for name in COUNTS]
    rate = counts[0] / sum(counts) if sum(counts) else None
    yield Headline(
        model_id=model_id, name=VERDICTS, metric="pass rate", value=rate, is_computed=True
    )
    for name, value in zip(COUNTS, counts, strict=True):
        yield Headline(
            model_id=model_id, name=VERDICTS, metric=name, value=value, is_computed=is_computed
        )
    yield Headline(
        model_id=model_id, name="score", metric="sum", value=number(metrics.get("score")),
        is_computed=is_computed,
    )  # fmt: skip
    weights = object_in(metrics, "namedScoreWeights") or object_in(metrics, "namedScoresCount")
    for name, value in object_in(metrics, "namedScores").items():
        total = number(value)
        yield Headline(model_id=model_id, name=redact(name), metric="sum", value=total)
        weight = number(weights.get(name))
        if total is not None and weight:
            yield Headline(
                model_id=model_id, name=redact(name), metric="mean", value=total / weight,
                is_computed=True,
            )  # fmt: skip
