"""From pydantic's errors on a document to findings: what was found there, and what is allowed.

The head of a report and its instances are checked apart, in portions: a list of millions of wrong
things is a bounded number of findings. `misfits` takes any declaration that a document of others
must meet. Places are JSON pointers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from schemas.base import Finding, error, pointer, slim, warning
from schemas.formats.report_v2 import ID_FIELDS, SUMMARY_TWINS, TWINS, EvaluationReport
from schemas.formats.report_v2_instance import InstanceResult, ValidationBreakdown
from schemas.io.json_text import MAX_FINDINGS, described, key_part, value_problems

MAX_PER_CODE = 10_000
"""Findings of one code in one report; instances after so many errors are not looked at."""

_PORTION = 1_000
_OTHER_NAME = {name: pair for pair in (*TWINS, *SUMMARY_TWINS) for name in pair}
_ALLOWED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "tuple_type": "a list",
    "finite_number": "a number, not NaN or Infinity",
}
_INSTANCES: TypeAdapter[tuple[InstanceResult, ...]] = TypeAdapter(
    Annotated[tuple[InstanceResult, ...], Field(strict=False)]
)
_PLAIN = ValidationBreakdown()

NEEDED = {
    "dict_type": "an object",
    "int_type": "a whole number",
    "model_type": "an object",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What a field holds, by pydantic's name for the lack of it."""


class Checked(NamedTuple):
    """What the fields of a report are."""

    findings: list[Finding]
    instances: tuple[InstanceResult, ...] | None
    """None when any of them is not readable."""


def check_fields(report: dict[str, Any]) -> Checked:
    """Return every field that is missing, or not what the schema declares."""
    findings: list[Finding] = []
    head = {key: value for key, value in report.items() if isinstance(key, str)}
    for name in ID_FIELDS:
        if isinstance(head.get(name), list | tuple):
            findings += _ids(name, head[name])
            head[name] = ()
    instances = head.get("instances")
    if isinstance(instances, list | tuple):
        head["instances"] = ()
    try:
        EvaluationReport.model_validate(head)
    except ValidationError as exc:
        findings += _findings(exc, head)
    if not isinstance(instances, list | tuple):
        return Checked(findings, None)
    wrong, read = _instances(instances)
    return Checked(findings + wrong, read if len(read) == len(instances) else None)


def _instances(instances: Sequence[object]) -> tuple[list[Finding], tuple[InstanceResult, ...]]:
    findings: list[Finding] = []
    read: list[InstanceResult] = []
    for start in range(0, len(instances), _PORTION):
        portion = instances[start : start + _PORTION]
        try:
            read += map(_slimmed, _INSTANCES.validate_python(portion))
        except ValidationError as exc:
            findings += _findings(exc, portion, "instances", start)
        if len(findings) >= MAX_PER_CODE and start + _PORTION < len(instances):
            message = f"more than {MAX_PER_CODE:,} errors: the instances from here on are not read"
            findings.append(error("wrong_type", pointer("instances", start + _PORTION), message))
            break
    return findings, tuple(read)


def _slimmed(one: InstanceResult) -> InstanceResult:
    """Let an instance share what says nothing: a validation without any field is 2 kB of it."""
    slim(one)
    if not one.validation.model_fields_set:
        object.__setattr__(one, "validation", _PLAIN)
    return one


def _ids(name: str, ids: Sequence[object]) -> list[Finding]:
    wrong = (number for number, one in enumerate(ids) if not isinstance(one, str))
    return [
        error("wrong_type", pointer(name, number), _differs(ids[number], "a text"))
        for number in islice(wrong, MAX_FINDINGS)
    ]


def _findings(
    exc: ValidationError, data: Any, prefix: str | None = None, start: int = 0
) -> list[Finding]:
    """Return one finding an error; those of values that we derived ourselves are none."""
    found: list[Finding] = []
    for one in exc.errors(include_url=False):
        loc, kind = one["loc"], one["type"]
        parts = [key_part(part) for part in loc]
        if prefix is not None and isinstance(loc[0], int):
            parts = [prefix, loc[0] + start, *parts[1:]]
        name = loc[-1] if loc and isinstance(loc[-1], str) else ""
        holder = _at(data, loc[:-1])
        if kind == "missing":
            if (message := _missing(name)) is not None:
                found.append(error("missing_field", pointer(*parts), message))
        elif name == "[key]" or (isinstance(holder, dict) and loc and loc[-1] not in holder):
            continue
        elif kind not in {"invalid_key", "string_unicode", "value_error"}:
            found.append(_field_finding(kind, one, name, pointer(*parts)))
    return found


def _at(data: Any, loc: Sequence[int | str]) -> Any:
    for part in loc:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _missing(name: str) -> str | None:
    """Return the sentence for a missing field; the second name of a pair adds nothing to it."""
    pair = _OTHER_NAME.get(name)
    if pair is None:
        return f"the field `{name}` is missing"
    if name != pair[0]:
        return None
    return f"the field `{name}` is missing, and its other name `{pair[1]}` as well"


def _field_finding(kind: str, one: Any, name: str, where: str) -> Finding:
    value, context = one["input"], one.get("ctx", {})
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "schema_version":
        return error("unsupported_version", where, _differs(value, 'the text "2.0"'))
    if kind == "literal_error":
        allowed = str(context.get("expected", "")).replace("'", "`")
        code = "unknown_status" if isinstance(value, str) else "wrong_type"
        return error(code, where, _differs(value, allowed))
    if kind in {"greater_than_equal", "less_than_equal"}:
        limit = context.get("ge", context.get("le"))
        bound = "at least" if kind == "greater_than_equal" else "at most"
        return error("bad_value", where, _differs(value, f"{bound} {limit:,.10g}"))
    allowed = _ALLOWED.get(kind, one["msg"].removeprefix("Input should be "))
    beyond = kind == "float_type" and is_number
    code = "bad_value" if beyond or kind == "finite_number" else "wrong_type"
    return error(code, where, _differs(value, "a smaller number" if beyond else allowed))


def _differs(value: object, allowed: str) -> str:
    return f"{described(value)} stands there; it has to be {allowed}"


def misfits(
    declaration: type[BaseModel], value: object, where: str = "", line: int | None = None
) -> tuple[Finding, ...]:
    """Return what JSON cannot carry in a value, then what a declaration refuses; empty if it fits.

    Unknown fields pass. The value lies at the pointer `where` of its document, or on a line.
    """
    found = [
        one.model_copy(update={"pointer": where + one.pointer, "line": line})
        for one in value_problems(value)
    ]
    if not isinstance(value, Mapping):
        message = f"an object is needed, found {described(value)}"
        return (*found, error("not_an_object", where, message, line))
    named = {one.pointer for one in found}
    declared = {name: value[name] for name in declaration.model_fields if name in value}
    try:
        declaration.model_validate(declared)
    except ValidationError as exc:
        found += [one for one in findings_of(exc, where, line) if one.pointer not in named]
    return tuple(found)


def findings_of(
    exc: ValidationError, where: str = "", line: int | None = None
) -> Iterator[Finding]:
    """Yield what a declaration refused, as `misfits` has it; unknown fields are warnings."""
    for refusal in exc.errors(include_url=False, include_context=False):
        yield _finding(refusal, where, line)


def _finding(refusal: Mapping[str, Any], where: str, line: int | None) -> Finding:
    kind, loc, rule = refusal["type"], refusal["loc"], refusal["msg"]
    place = loc[:-1] if loc[-1:] == ("[key]",) else loc
    at = where + pointer(*map(key_part, place))
    if kind == "missing":
        return error("missing_field", at, "this field is needed and absent", line)
    if kind == "extra_forbidden":
        return warning("unknown_field", at, "this field is unknown; readers pass over it", line)
    rule = rule[:1].lower() + rule[1:]
    if kind == "json_invalid":
        return error("not_json", at, rule, line)
    found = described(refusal["input"])
    if kind in NEEDED:
        return error("wrong_type", at, f"{NEEDED[kind]} is needed, found {found}", line)
    code = "wrong_type" if kind.endswith("_type") else "bad_value"
    return error(code, at, f"{rule}; found {found}", line)
