"""Small wrong changes to a source file: where they can be made, and which are chosen.

A mutant is text: a stretch of one line or of a few is replaced. It is known by its file, the line,
which of several equal lines that is, and where on it the stretch begins, so that a written list
still finds it after other lines were changed. The order in which mutants are taken is a hash of
these with the seed: a change elsewhere does not shuffle it.

Left out is what could not change what the program does, by its form: docstrings, annotations,
decorators, `assert` (it narrows types), `__all__`, `__slots__`, `if TYPE_CHECKING`, and every text
that is neither a key, nor compared, nor SQL.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}

SQL = re.compile(
    r"\s*\(?(?:select|with|from|where|update|insert|delete|set|attach|copy|create|drop)\b",
    re.IGNORECASE,
)
SQL_WORDS = {
    " and ": " or ",
    " or ": " and ",
    "min(": "max(",
    "max(": "min(",
    " desc": "",
    "distinct ": "",
    " not ": " ",
    "true": "false",
    "false": "true",
    " left join ": " join ",
    ">=": ">",
    "<=": "<",
}


@dataclass(frozen=True)
class Mutant:
    """One wrong change to one file."""

    file: str
    """Path below the checkout."""
    line_text: str
    """The whole line on which the change begins."""
    occurrence: int
    """Which of the file's equal lines it is, from 0."""
    column: int
    """Characters before the change on that line."""
    original: str
    replacement: str
    operator: str
    line: int
    """Number of the line in the text it was found in; for people."""

    @property
    def key(self) -> str:
        """Return what tells mutants apart, whatever stands on other lines."""
        facts = (
            self.file,
            self.line_text,
            self.occurrence,
            self.column,
            self.original,
            self.replacement,
        )
        return "\0".join(map(str, facts))

    def place(self, text: str) -> int | None:
        """Return where in a file's text the change begins; None where the line is gone."""
        offset, occurrence = 0, 0
        for line in text.splitlines(keepends=True):
            if line.rstrip("\n") == self.line_text:
                if occurrence == self.occurrence:
                    start = offset + self.column
                    return start if text.startswith(self.original, start) else None
                occurrence += 1
            offset += len(line)
        return None

    def applied(self, text: str) -> str | None:
        """Return a file's text with the change made; None where the line is gone."""
        start = self.place(text)
        if start is None:
            return None
        return text[:start] + self.replacement + text[start + len(self.original) :]


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of its lines; all of them can be compiled."""
    return list(_Finder(file, text).found())


def in_order(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """Return mutants in the order of a seed, at most one a line."""
    ordered = sorted(
        mutants, key=lambda one: hashlib.sha256(f"{seed}\0{one.key}".encode()).digest()
    )
    lines = set()
    chosen = []
    for one in ordered:
        line = one.file, one.line_text, one.occurrence
        if line not in lines:
            lines.add(line)
            chosen.append(one)
    return chosen


def share_out(total: int, sizes: Sequence[int]) -> list[int]:
    """Return how many of `total` each room gets: as many as the others, or all that it has."""
    given = [0] * len(sizes)
    left = min(total, sum(sizes))
    while left:
        for place, size in enumerate(sizes):
            if left and given[place] < size:
                given[place] += 1
                left -= 1
    return given


class _Finder:
    """Finds the mutants of one file."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._defaults: set[ast.AST] = set()
        seen: dict[str, int] = defaultdict(int)
        self._occurrences = []
        for line in self._lines:
            self._occurrences.append(seen[line.rstrip("\n")])
            seen[line.rstrip("\n")] += 1

    def found(self) -> Iterator[Mutant]:
        for node in self._nodes(ast.parse(self._text)):
            for start, end, replacement, operator in self._of(node):
                mutant = self._mutant(start, end, replacement, operator)
                if mutant.original != replacement and self._compiles(mutant):
                    yield mutant

    def _nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that matter; annotations, docstrings and the like are passed over."""
        if isinstance(node, ast.Assert) or _is_docstring(node):
            return
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(getattr(one, "id", None) in {"__all__", "__slots__"} for one in targets):
                return
        yield node
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            if name == "values" and isinstance(node, ast.JoinedStr):
                value = [one for one in value if not isinstance(one, ast.Constant)]  # noqa: PLW2901
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._nodes(child)

    def _of(self, node: ast.AST) -> Iterator[tuple[int, int, str, str]]:
        if isinstance(node, ast.arguments):
            self._defaults.update(one for one in (*node.defaults, *node.kw_defaults) if one)
        elif isinstance(node, ast.Compare):
            left = node.left
            for op, right in zip(node.ops, node.comparators, strict=True):
                sign, others = COMPARISONS[type(op)]
                span = self._between(left, right, sign)
                for other in others if span else ():
                    yield *span, other, "comparison"
                left = right
            for side in (node.left, *node.comparators):
                yield from self._text_of(side, "compared text")
        elif isinstance(node, ast.BoolOp):
            sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                if span := self._between(left, right, sign):
                    yield *span, other, "boolean"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield *self._span(node), f"({self._source(node.operand)})", "not"
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            sign, other = ARITHMETIC[type(node.op)]
            is_text = any(isinstance(one, ast.JoinedStr) for one in (node.left, node.right))
            if not is_text and (span := self._between(node.left, node.right, sign)):
                yield *span, other, "arithmetic"
        elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            sign, other = ARITHMETIC[type(node.op)]
            if span := self._between(node.target, node.value, f"{sign}="):
                yield *span, f"{other}=", "arithmetic"
        elif isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Break):
            yield *self._span(node), "continue", "break"
        elif isinstance(node, ast.Continue):
            yield *self._span(node), "break", "continue"
        elif isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield *self._span(node), "return None", "returned value"
        elif isinstance(node, ast.Expr):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(call, ast.Call):
                yield *self._span(node), "pass", "removed call"
        elif isinstance(node, ast.Raise):
            yield *self._span(node), "pass", "removed raise"
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield *self._span(node.test), f"(not ({self._source(node.test)}))", "condition"
        elif isinstance(node, ast.Subscript):
            yield from self._text_of(node.slice, "key")
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                yield from self._text_of(key, "key")
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None)
            if name in {"get", "pop", "setdefault"} and node.args:
                yield from self._text_of(node.args[0], "key")

    def _constant(self, node: ast.Constant) -> Iterator[tuple[int, int, str, str]]:
        value, span = node.value, self._span(node)
        operator = "default argument" if node in self._defaults else "constant"
        if isinstance(value, bool):
            yield *span, str(not value), operator
        elif isinstance(value, int):
            yield *span, str(value + 1), operator
            yield *span, str(value - 1), operator
        elif isinstance(value, float):
            yield *span, repr(value * 1.1 if value else 0.1), operator
        elif isinstance(value, str) and SQL.match(value):
            for word, other in SQL_WORDS.items():
                if (at := self._text.find(word, *span)) >= 0:
                    yield at, at + len(word), other, "SQL"

    def _text_of(self, node: ast.AST | None, operator: str) -> Iterator[tuple[int, int, str, str]]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            other = node.value + ("_" if isinstance(node.value, str) else b"_")  # type: ignore[operator]
            yield *self._span(node), repr(other), operator

    def _mutant(self, start: int, end: int, replacement: str, operator: str) -> Mutant:
        number = next(n for n, at in enumerate(self._starts[1:]) if at > start)
        return Mutant(
            file=self._file,
            line_text=self._lines[number].rstrip("\n"),
            occurrence=self._occurrences[number],
            column=start - self._starts[number],
            original=self._text[start:end],
            replacement=replacement,
            operator=operator,
            line=number + 1,
        )

    def _compiles(self, mutant: Mutant) -> bool:
        text = mutant.applied(self._text)
        try:
            compile(text or "", self._file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        return text is not None

    def _between(self, left: ast.expr, right: ast.expr, sign: str) -> tuple[int, int] | None:
        """Return where an operator stands between its operands, whose brackets are not theirs."""
        start, end = self._span(left)[1], self._span(right)[0]
        words = sign.split()
        pattern = r"\s+".join(re.escape(word) for word in words)
        if sign[0].isalpha():
            pattern = rf"\b{pattern}\b"
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment.group()), self._text[start:end])
        match = re.search(pattern, gap)
        return None if match is None else (start + match.start(), start + match.end())

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _offset(self, line: int, column: int) -> int:
        """Return the place in the text of a column, which the parser counts in bytes."""
        before = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    def _source(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._text[start:end]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
