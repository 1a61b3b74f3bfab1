"""What the columns of a table are, and the first validator of every row.

Columns are the input, the expected answer, the id, the system message. Names that other tools use
are known: `question` and `answer` of GSM8K, Inspect's `input` and `target`, `messages` and `ideal`
of OpenAI's evals, promptfoo's `__expected`. Two that could be the same thing are a question to the
user, never a guess.

A validator is chosen from the expected answers. It is a proposal: shown on the screen and in the
suite, so that it gets reviewed. Where no comparison of texts can be right, answers are not judged
at all rather than judged wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from collect.checks.text import read_number
from collect.tables.rows import Table
from schemas.errors import ConfigError, Problem, counted, nearest

NONE = "none"
KNOWN = {
    "input": ("input", "prompt", "question", "query", "instruction", "problem", "messages"),
    "expected": (
        *("expected", "expected_output", "expected_answer", "target", "answer", "ideal"),
        *("reference", "reference_answer", "ground_truth", "gold", "label", "correct_answer"),
        *("solution", "output"),
    ),
    "id": ("id", "case_id", "prompt_id", "question_id", "task_id", "test_id", "idx", "index"),
    "system": ("system", "system_prompt", "system_message"),
}
"""Names of each role, spelt with `_` and in lower case."""

ASSERTIONS = re.compile(r"__expected\d*")

Validator = dict[str, JsonValue]
Answers = tuple[str, ...]
"""The expected answers of a row, any of which is right."""

MAX_LABELS = 20
MAX_LABEL_CHARS = 40
MAX_COMMON_CHARS = 3
"""Characters of an answer that is found in many a sentence by accident."""

MIN_FREE_TEXT_CHARS = 100
"""Characters from which no two people would write the same answer."""

FOUND = "the expected answer stands somewhere in the answer, letter by letter"

FINAL = re.compile(r"####[ \t]*(?P<answer>\S[^\n]*)")
"""How GSM8K ends its worked answers."""


@dataclass(frozen=True)
class Roles:
    """The column of each role; None where the table has none."""

    input: str
    expected: str | None
    id: str | None
    system: str | None

    def unused(self, table: Table) -> tuple[str, ...]:
        """Return the columns that no role has."""
        used = {self.input, self.expected, self.id, self.system}
        return tuple(name for name in table.columns if name not in used)


def roles_of(table: Table, named: Mapping[str, str | None]) -> Roles:
    """Return the role of each column; those that a user named are given by role.

    Raises:
        ConfigError: a named column is not there, or what is not named cannot be told.
    """
    problems: list[Problem] = []
    found: dict[str, str | None] = {}
    for role in KNOWN:
        wish = named.get(role)
        taken = {named.get(other) for other in KNOWN if other != role}
        try:
            found[role] = (
                _named(table, role, wish) if wish else _recognized_column(table, role, taken)
            )
        except ConfigError as exc:
            problems += exc.problems
    if problems:
        raise ConfigError(problems)
    if (column := found["input"]) is None:
        raise ConfigError([_unknown(table, "input", "no column is known to be what is asked")])
    roles = Roles(column, found["expected"], found["id"], found["system"])
    columns = [name for name in found.values() if name is not None]
    if twice := [name for name in dict.fromkeys(columns) if columns.count(name) > 1]:
        raise ConfigError([Problem(table.path, "has two roles", name) for name in twice])
    if roles.expected is None and named.get("expected") is None and roles.unused(table):
        problem = _unknown(table, "expected", "no column is known to be the expected answer")
        raise ConfigError([problem])
    return roles


def _named(table: Table, role: str, wish: str) -> str | None:
    if wish in table.columns:
        return wish
    if wish == NONE and role != "input":
        return None
    alike = [name for name in table.columns if name.casefold() == wish.casefold()]
    if len(alike) == 1:
        return alike[0]
    near = nearest(wish, table.columns)
    allowed = None if near else ", ".join(table.columns)
    what = f"--{role}: the table has no such column"
    raise ConfigError([Problem(table.path, what, found=f"`{wish}`", allowed=allowed, nearest=near)])


def _recognized_column(table: Table, role: str, taken: set[str | None]) -> str | None:
    """Return the one column whose name says that it has the role."""
    columns = [name for name in table.columns if name not in taken]
    if role == "expected" and (several := [c for c in columns if ASSERTIONS.fullmatch(c)]):
        if len(several) > 1:
            raise ConfigError([_unknown(table, role, f"a case has one validator, not {several}")])
        return several[0]
    found = [name for name in columns if re.sub(r"[\s-]+", "_", name.casefold()) in KNOWN[role]]
    if len(found) > 1:
        candidates = " or ".join(f"`{name}`" for name in found)
        raise ConfigError([_unknown(table, role, f"{candidates} could be the {role} column")])
    return found[0] if found else None


def _unknown(table: Table, role: str, what: str) -> Problem:
    """Return the question which column has a role, with those that there are."""
    columns = ", ".join(f"`{name}`" for name in table.columns)
    hint = f"; `--{role} {NONE}` says that there is none" * (role != "input")
    advice = f"`--{role} COLUMN` names it{hint}; the first line has to name the columns"
    return Problem(table.path, what, found=f"the columns {columns}", advice=advice)


@dataclass(frozen=True)
class Choice:
    """A validator for each row, in order, and sentences that say why."""

    validators: tuple[Validator, ...]
    reasons: tuple[str, ...]


def last_lines(answers: Sequence[Answers]) -> list[Answers] | None:
    """Return what stands behind `####`, where every answer ends so; else None."""
    finals = []
    for row in answers:
        texts = [FINAL.fullmatch(one[max(one.rfind("####"), 0) :]) for one in row]
        if not texts or None in texts:
            return None
        finals.append(tuple(match["answer"] for match in texts if match is not None))
    return finals or None


def choose(answers: Sequence[Answers], wish: str | None = None) -> Choice:
    """Return validators for rows with an expected answer each.

    Args:
        answers: of each row, none of them empty.
        wish: a validator that a user chose in place of what the data say; where it is `number`,
            rows that are none get null as value.
    """
    numbers = [read_number(row[0]) if len(row) == 1 else None for row in answers]
    if wish == "noop":
        return no_verdicts(len(answers), "as asked for")
    if wish == "number" or (wish is None and None not in numbers):
        validators: list[Validator] = [{"type": "number", "value": value} for value in numbers]
        why = "every expected answer is a number; the last number of an answer is compared"
        return Choice(tuple(validators), (_reason("number", len(answers), why),))
    if wish == "exact" or (wish is None and _are_labels(answers)):
        labels = counted(len({label for row in answers for label in row}), "short label")
        why = "the whole answer is the expected one" if wish else f"there are {labels}"
        reason = _reason("exact", len(answers), f"{why}; `Yes.` is not `Yes`")
        return Choice(tuple(map(_exact, answers)), (reason,))
    if wish == "contains":
        return Choice(tuple(map(_contains, answers)), (_reason("contains", len(answers), FOUND),))
    return _by_length(answers)


def _reason(kind: str, rows: int, why: str) -> str:
    return f"validator `{kind}`, {counted(rows, 'row')}: {why}"


def _are_labels(answers: Sequence[Answers]) -> bool:
    """Tell whether few short answers come again and again."""
    labels = {label for row in answers for label in row}
    few = len(labels) <= MAX_LABELS and 2 * len(labels) <= len(answers)
    return few and all(len(label) <= MAX_LABEL_CHARS and "\n" not in label for label in labels)


def _by_length(answers: Sequence[Answers]) -> Choice:
    """Choose for each row: a long text cannot be compared, a very short one is found anywhere."""
    validators: list[Validator] = []
    for row in answers:
        longest, shortest = max(map(len, row)), min(map(len, row))
        if longest > MIN_FREE_TEXT_CHARS or any("\n" in text for text in row):
            validators.append({"type": "noop"})
        else:
            validators.append(_exact(row) if shortest <= MAX_COMMON_CHARS else _contains(row))
    kinds = [str(one["type"]) for one in validators]
    n_found, n_long = kinds.count("contains"), kinds.count("noop")
    n_exact = len(kinds) - n_found - n_long
    reasons = [_reason("contains", n_found, FOUND)] * bool(n_found)
    if n_exact:
        why = f"at most {MAX_COMMON_CHARS} characters would be found in many an answer by accident"
        reasons.append(_reason("exact", n_exact, why))
    if n_long:
        reasons += no_verdicts(
            n_long, f"texts of over {MIN_FREE_TEXT_CHARS} characters cannot be compared"
        ).reasons
    return Choice(tuple(validators), tuple(reasons))


def no_verdicts(rows: int, why: str) -> Choice:
    """Return the choice for rows that nothing can judge, and why not."""
    advice = "no verdict: read the answers yourself, or give them to an LLM as a judge"
    validator: Validator = {"type": "noop"}
    return Choice((validator,) * rows, (_reason("noop", rows, f"{why}; {advice}"),))


def _exact(row: Answers) -> Validator:
    if len(row) > 1:
        return {"type": "one_of", "values": [*row]}
    return {"type": "exact", "value": row[0]}


def _contains(row: Answers) -> Validator:
    if len(row) > 1:
        return {"type": "contains", "values": [*row], "match": "any"}
    return {"type": "contains", "value": row[0]}
