"""What a declaration refuses in a document of others, as findings with JSON pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from schemas.finding import Finding, error, pointer, warning
from schemas.json_values import described, key_part, value_problems

NEEDED = {
    "dict_type": "an object",
    "int_type": "a whole number",
    "model_type": "an object",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What a field holds, by pydantic's name for the lack of it."""


def misfits(
    declaration: type[BaseModel], value: object, where: str = "", line: int | None = None
) -> tuple[Finding, ...]:
    """Return what JSON cannot carry in a value, then what a declaration refuses; empty if it fits.

    Args:
        declaration: the record that the value should be; it lets unknown fields pass.
        value: any parsed JSON.
        where: pointer of the value in its document.
        line: of the value in a file of lines.
    """
    found = [
        one.model_copy(update={"pointer": where + one.pointer, "line": line})
        for one in value_problems(value)
    ]
    if not isinstance(value, Mapping):
        message = f"an object is needed, found {described(value)}"
        return (*found, error("not_an_object", where, message, line))
    named = {one.pointer for one in found}
    found.extend(
        one for one in _refused(declaration, value, where, line) if one.pointer not in named
    )
    return tuple(found)


def _refused(
    declaration: type[BaseModel], value: Mapping[str, object], where: str, line: int | None
) -> Iterator[Finding]:
    declared = {name: value[name] for name in declaration.model_fields if name in value}
    try:
        declaration.model_validate(declared)
    except ValidationError as exc:
        yield from findings_of(exc, where, line)


def findings_of(
    exc: ValidationError, where: str = "", line: int | None = None
) -> Iterator[Finding]:
    """Yield what a declaration refused, place by place; unknown fields are warnings.

    Args:
        exc: what validating raised.
        where: pointer of the value in its document.
        line: of the value in a file of lines.
    """
    for told in exc.errors(include_url=False, include_context=False):
        yield _finding(told, where, line)


def _finding(told: Mapping[str, Any], where: str, line: int | None) -> Finding:
    place = told["loc"][:-1] if told["loc"][-1:] == ("[key]",) else told["loc"]
    at = where + pointer(*(key_part(part) for part in place))
    if told["type"] == "missing":
        return error("missing_field", at, "this field is needed and absent", line)
    if told["type"] == "extra_forbidden":
        return warning("unknown_field", at, "this field is unknown; readers pass over it", line)
    rule = told["msg"][:1].lower() + told["msg"][1:]
    if told["type"] == "json_invalid":
        return error("not_json", at, rule, line)
    found = described(told["input"])
    if told["type"] in NEEDED:
        return error("wrong_type", at, f"{NEEDED[told['type']]} is needed, found {found}", line)
    code = "wrong_type" if told["type"].endswith("_type") else "bad_value"
    return error(code, at, f"{rule}; found {found}", line)
