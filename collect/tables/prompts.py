"""The rows of a table as entries of a prompt list, each with its messages and its validator.

Cells of promptfoo's `__expected` column become validators: `contains: Paris`, `is-json`, plain
text. What has no validator here (a judge, code, a similarity) is said, and never left out of a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import orjson
from pydantic import JsonValue, ValidationError

from collect.config.prompt_lists import MAX_ENTRY_BYTES, MAX_LIST_BYTES, TOO_LONG
from collect.tables import columns
from collect.tables.rows import Row, Table
from schemas.base import bounded_slug, slugify
from schemas.config.case import Prompt
from schemas.errors import ConfigError, Problem
from schemas.io.json_text import is_unicode
from schemas.io.yaml import MAX_PROBLEMS

ASSERTION = re.compile(
    r"(?P<name>[a-z]+(?:-[a-z]+)*)(?:\([0-9.]+\))?(?::\s*(?P<value>.*))?", re.DOTALL
)
NOT_HERE = frozenset(
    {"answer-relevance", "classifier", "context-faithfulness", "context-recall",
     "context-relevance", "cost", "factuality", "file", "fn", "grade", "icontains-all",
     "icontains-any", "javascript", "latency", "levenshtein", "llm-rubric",
     "model-graded-closedqa", "moderation", "perplexity", "python", "rouge-n", "similar", "webhook"}
)  # fmt: skip
"""Names before a colon that promptfoo takes for an assertion and no validator does."""

JUDGE = "no validator does this; name another column with --expected, or take it out of the row"


def _several(match: str) -> Callable[[str], columns.Validator]:
    def make(value: str) -> columns.Validator:
        parts = [part.strip() for part in value.split(",")]
        return {"type": "contains", "values": [*parts], "match": match}

    return make


MADE: Mapping[str, Callable[[str], columns.Validator]] = MappingProxyType(
    {
        "equals": lambda value: {"type": "exact", "value": value},
        "contains": lambda value: {"type": "contains", "value": value},
        "not-contains": lambda value: {"type": "not_contains", "value": value},
        "contains-all": _several("all"),
        "contains-any": _several("any"),
        "icontains": lambda value: {"type": "regex_search", "pattern": f"(?i){re.escape(value)}"},
        "starts-with": lambda value: {"type": "regex_search", "pattern": rf"\A{re.escape(value)}"},
        "regex": lambda value: {"type": "regex_search", "pattern": value},
        "is-json": lambda _value: {"type": "json_keys"},
        "contains-json": lambda _value: {"type": "json_keys"},
    }
)
ALONE = ("is-json", "contains-json")
"""Assertions that need no value."""


def name_of(cell: str) -> str | None:
    """Return the assertion's name; None where the cell is a plain text."""
    match = ASSERTION.fullmatch(cell.strip())
    if match is None:
        return None
    name = match["name"]
    if match["value"] is None:
        return name if name in ALONE else None
    return name if {name, name.removeprefix("not-")} & {*MADE, *NOT_HERE} else None


def validator_of(cell: str) -> columns.Validator | None:
    """Return a cell as a validator, a plain text as `exact`; None where there is none for it."""
    name = name_of(cell)
    if name is None:
        return {"type": "exact", "value": cell}
    match = ASSERTION.fullmatch(cell.strip())
    assert match is not None
    return MADE[name](match["value"] or "") if name in MADE else None


@dataclass(frozen=True)
class PromptList:
    """A prompt list as JSONL, and why its validators are what they are."""

    content: bytes
    n_prompts: int
    reasons: tuple[str, ...]


@dataclass
class _Cells:
    """Reads the cells of a table by role, and notes what is wrong with them."""

    table: Table
    roles: columns.Roles
    problems: list[Problem] = field(default_factory=list)

    def add_problem(self, row: Row, column: str | None, what: str, **facts: str | None) -> None:
        """Note a problem of one cell; too many of them end the reading."""
        self.problems.append(Problem(self.table.path, what, column or "", row.line, **facts))
        if len(self.problems) >= MAX_PROBLEMS:
            raise ConfigError(sorted(self.problems, key=lambda problem: problem.line or 0))

    def text(self, row: Row, column: str) -> str | None:
        """Return a cell as text; None, with a note, where it has none."""
        value = row.cells.get(column)
        if isinstance(value, bool):
            return "true" if value else "false"
        if _is_blank(value):
            what = "is empty" if column in row.cells else "is missing"
            self.add_problem(
                row, column, what, advice="fill it in, or take the row out of the table"
            )
        elif not isinstance(value, str):
            self.add_problem(
                row, column, "should be a text or a number", found=type(value).__name__
            )
        elif not is_unicode(value):
            self.add_problem(
                row, column, "holds half a character", advice="a lone \\ud800 is no text"
            )
        else:
            return value
        return None

    def id(self, row: Row, number: int) -> str | None:
        """Return a row's id, or one made of its number."""
        if self.roles.id is None:
            return f"row_{number:0{len(str(len(self.table.rows)))}d}"
        return self.text(row, self.roles.id)

    def messages(self, row: Row) -> list[JsonValue]:
        """Return what is asked: the input, or a list of messages, behind the system message."""
        sent: list[JsonValue] = []
        system = self.roles.system
        if system is not None and not _is_blank(row.cells.get(system)):
            sent.append({"role": "system", "content": self.text(row, system)})
        value = row.cells.get(self.roles.input)
        if not isinstance(value, list):
            return [*sent, {"role": "user", "content": self.text(row, self.roles.input)}]
        roles = [one.get("role") if isinstance(one, dict) else None for one in value]
        if not roles or roles[-1] != "user":
            found = f"role `{roles[-1]}`" if roles and roles[-1] else "none"
            what = "the last message should be the user's"
            self.add_problem(row, self.roles.input, what, found=found)
        return [*sent, *value]

    def answers(self, row: Row, column: str) -> columns.Answers:
        """Return the expected answers of a row, stripped; a list holds several right ones."""
        value = row.cells.get(column)
        if isinstance(value, list) and value:
            cells = [Row(row.line, {column: one}) for one in value]
        else:
            cells = [row]
        texts = [self.text(one, column) for one in cells]
        return tuple(dict.fromkeys(text.strip(" \t\r\n") for text in texts if text is not None))


def _is_blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def prompt_list(table: Table, roles: columns.Roles, wish: str | None = None) -> PromptList:
    """Return a table's rows as a prompt list.

    A wish is a validator to take in place of what the expected answers say.

    Raises:
        ConfigError: every cell that cannot be what its column is, with its line.
    """
    cells = _Cells(table, roles)
    choice = _choice(cells, wish)
    unjudged: columns.Validator = {"type": "noop"}
    validators = choice.validators or (unjudged,) * len(table.rows)  # there are problems
    taken: dict[str, int] = {}
    lines: list[bytes] = []
    for number, (row, validator) in enumerate(zip(table.rows, validators, strict=True), start=1):
        prompt_id = cells.id(row, number)
        messages = cells.messages(row)
        if prompt_id is None:
            continue
        case_id = bounded_slug(slugify(prompt_id), prompt_id)
        if (first := taken.setdefault(case_id, row.line)) != row.line:
            what = f"makes the case_id `{case_id}`, as line {first} does"
            advice = "ids differ in letters and digits, without capitals; `--id none` numbers rows"
            cells.add_problem(row, roles.id, what, found=f"`{prompt_id}`", advice=advice)
        entry: dict[str, JsonValue] = {
            "id": prompt_id,
            **_shorter_form(messages),
            "validator": validator,
        }
        lines.append(_line(cells, row, entry))
    if cells.problems:
        raise ConfigError(sorted(cells.problems, key=lambda problem: problem.line or 0))
    content = b"".join(lines)
    if len(content) > MAX_LIST_BYTES:
        what = f"makes a prompt list of {len(content):,} bytes"
        advice = "split the table"
        raise ConfigError([Problem(table.path, what, allowed=f"{MAX_LIST_BYTES:,}", advice=advice)])
    return PromptList(content, len(lines), choice.reasons)


def _shorter_form(messages: list[JsonValue]) -> dict[str, JsonValue]:
    """Return the shorter form where the user's message is the only one."""
    only = messages[0] if len(messages) == 1 else None
    if isinstance(only, dict) and only.keys() == {"role", "content"} and only["role"] == "user":
        return {"prompt": only["content"]}
    return {"messages": messages}


def _line(cells: _Cells, row: Row, entry: dict[str, JsonValue]) -> bytes:
    """Return an entry as a line that loads, or note why it does not."""
    if cells.problems:
        return b""
    try:
        line = orjson.dumps(entry) + b"\n"
        Prompt.model_validate_json(line, strict=True)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        is_judge = first["loc"][:1] == ("validator",)
        column = cells.roles.expected if is_judge else cells.roles.input
        cells.add_problem(row, column, first["msg"].removeprefix("Input "))
    except (TypeError, orjson.JSONEncodeError):
        cells.add_problem(row, cells.roles.input, "holds half a character")
    else:
        if len(line) > MAX_ENTRY_BYTES:
            cells.add_problem(row, None, TOO_LONG)
        return line
    return b""


def _choice(cells: _Cells, wish: str | None) -> columns.Choice:
    """Return the validators of all rows."""
    table, column = cells.table, cells.roles.expected
    if column is None:
        return columns.no_verdicts(len(table.rows), "the table has no expected answers")
    if columns.ASSERTIONS.fullmatch(column) and wish is None:
        texts = [cells.text(row, column) or "" for row in table.rows]
        if any(name_of(text) for text in texts):
            return _asserted(cells, column, texts)
    answers = [cells.answers(row, column) for row in table.rows]
    if cells.problems:
        return columns.Choice((), ())
    finals = columns.last_lines(answers)
    choice = columns.choose(finals or answers, wish)
    for row, validator in zip(table.rows, choice.validators, strict=True):
        if validator.get("value", "") is None:
            cells.add_problem(row, column, "is no number", advice="choose another --validator")
    if finals is None:
        return choice
    return columns.Choice(
        choice.validators, ("expected is what stands behind `####`", *choice.reasons)
    )


def _asserted(cells: _Cells, column: str, texts: Sequence[str]) -> columns.Choice:
    validators: list[dict[str, JsonValue]] = []
    for row, text in zip(cells.table.rows, texts, strict=True):
        validator = validator_of(text)
        if validator is None:
            cells.add_problem(row, column, f"`{name_of(text)}`: {JUDGE}")
        validators.append(validator or {"type": "noop"})
    reason = "validators: what the cell of each row says; a plain text is `exact`"
    return columns.Choice(tuple(validators), (reason,))
