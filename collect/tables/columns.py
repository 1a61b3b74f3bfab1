"""Which column of a table is the input, the expected answer, the id, the system message.

Names that other tools use are known: `question` and `answer` of GSM8K, Inspect's `input` and
`target`, `messages` and `ideal` of OpenAI's evals, promptfoo's `__expected`. Two that could be the
same thing are a question to the user, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collect.tables.rows import Table
from schemas.errors import ConfigError, Problem, nearest

NONE = "none"
KNOWN = {
    "input": ("input", "prompt", "question", "query", "instruction", "problem", "messages"),
    "expected": (
        "expected",
        "expected_output",
        "expected_answer",
        "target",
        "answer",
        "ideal",
        "reference",
        "reference_answer",
        "ground_truth",
        "gold",
        "label",
        "correct_answer",
        "solution",
        "output",
    ),
    "id": ("id", "case_id", "prompt_id", "question_id", "task_id", "test_id", "idx", "index"),
    "system": ("system", "system_prompt", "system_message"),
}
"""Names of each role, spelt with `_` and in lower case."""

ASSERTIONS = re.compile(r"__expected\d*")


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


@dataclass(frozen=True)
class Named:
    """The columns that a user named on the command line."""

    input: str | None = None
    expected: str | None = None
    id: str | None = None
    system: str | None = None


def roles_of(table: Table, named: Named) -> Roles:
    """Return the role of each column.

    Raises:
        ConfigError: a named column is not there, or what is not named cannot be told.
    """
    problems: list[Problem] = []
    found: dict[str, str | None] = {}
    for role in KNOWN:
        wish = getattr(named, role)
        taken = {getattr(named, other) for other in KNOWN if other != role}
        try:
            found[role] = _named(table, role, wish) if wish else _known(table, role, taken)
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
    if roles.expected is None and named.expected is None and roles.unused(table):
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


def _known(table: Table, role: str, taken: set[str | None]) -> str | None:
    """Return the one column whose name says that it has the role."""
    columns = [name for name in table.columns if name not in taken]
    if role == "expected" and (several := [c for c in columns if ASSERTIONS.fullmatch(c)]):
        if len(several) > 1:
            raise ConfigError([_unknown(table, role, f"a case has one validator, not {several}")])
        return several[0]
    found = [name for name in columns if re.sub(r"[\s-]+", "_", name.casefold()) in KNOWN[role]]
    if len(found) > 1:
        which = " or ".join(f"`{name}`" for name in found)
        raise ConfigError([_unknown(table, role, f"{which} could be the {role} column")])
    return found[0] if found else None


def _unknown(table: Table, role: str, what: str) -> Problem:
    """Return the question which column has a role, with those that there are."""
    columns = ", ".join(f"`{name}`" for name in table.columns)
    hint = f"; `--{role} {NONE}` says that there is none" * (role != "input")
    advice = f"`--{role} COLUMN` names it{hint}; the first line has to name the columns"
    return Problem(table.path, what, found=f"the columns {columns}", advice=advice)
