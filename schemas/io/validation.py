"""From pydantic's errors to sentences that name file, line, key, what was found and allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeVar, get_args, get_origin

import orjson
from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from schemas.base import CLUSTER_PATTERN, SLUG_PATTERN, RecordOf
from schemas.errors import ConfigError, Problem, counted, nearest
from schemas.io.yaml import MAX_PROBLEMS, KeyPath, Source, dotted, printable
from schemas.redact import holds_key

PATTERNS = {
    SLUG_PATTERN: "lower-case letters, digits, `_` and `-`; a letter or a digit first",
    CLUSTER_PATTERN: "letters, digits, `.`, `_`, `-` and `/`; a letter or a digit first",
}
"""What a pattern asks for, in words."""

Model = TypeVar("Model", bound=BaseModel)


CHECKED_APART = ("base_url", "api_key_env")
"""Where a key is looked for, and what can be written instead is said, by who resolves them."""

NO_KEYS = "holds a key or a password, which is not repeated here"
KEYS_LIVE = "keys live in environment variables; `api_key_env` names the variable"


def parse(model: type[Model], source: Source, *, is_prompt: bool = False) -> Model:
    """Return the file's data as a record; types are taken as written, nothing is coerced.

    In text for a model (`is_prompt`) something like a key may be part of the task.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    if not isinstance(source.data, dict):
        found = "nothing" if source.data is None else type(source.data).__name__
        problem = Problem(source.path, "must hold a mapping at its top level", line=1, found=found)
        raise ConfigError([problem])
    keys = [] if is_prompt else list(_key_problems(source.data, source, ()))
    try:
        record = model.model_validate_json(orjson.dumps(source.data), strict=True)
    except ValidationError as exc:
        raise ConfigError([*keys, *problems_of(exc, model, source)]) from exc
    if keys:
        raise ConfigError(keys)
    return record


def _key_problems(value: JsonValue, source: Source, at: KeyPath) -> Iterator[Problem]:
    """Yield a problem for each text that is, or holds, something like a key."""
    if at and at[-1] in CHECKED_APART:
        return
    if isinstance(value, str) and holds_key(value):
        line = source.line_of(at)
        yield Problem(source.path, NO_KEYS, dotted(at), line, advice=KEYS_LIVE)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _key_problems(item, source, (*at, number))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _key_problems(name, source, (*at, name))
            yield from _key_problems(item, source, (*at, name))


def problems_of(
    exc: ValidationError, model: type[BaseModel], source: Source, below: KeyPath = ()
) -> list[Problem]:
    """Return one problem an error of pydantic; `below` is where in the file the record stands."""
    errors = exc.errors(include_url=False)
    problems = [_problem(dict(error), model, source, below) for error in errors[:MAX_PROBLEMS]]
    if len(errors) > MAX_PROBLEMS:
        more = counted(len(errors) - MAX_PROBLEMS, "more problem")
        problems.append(Problem(source.path, f"and {more}"))
    return problems


def _problem(
    error: dict[str, Any], model: type[BaseModel], source: Source, below: KeyPath
) -> Problem:
    loc = tuple(error["loc"])
    key = _present(source.data, (*below, *loc), missing=error["type"] == "missing")
    context = error.get("ctx", {})
    facts: dict[str, Any] = {}
    what = error["msg"].removeprefix("Input ").removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        what = "unknown key"
        known = _fields_at(model, loc[:-1])
        facts["nearest"] = nearest(str(key[-1]), known) if key else None
        if known and not facts["nearest"]:
            facts["allowed"] = ", ".join(known)
    elif error["type"] == "missing":
        what = "required key is missing"
    elif error["type"] in {"union_tag_invalid", "literal_error"}:
        allowed = context.get("expected_tags") or context.get("expected", "")
        found = str(context.get("tag", error["input"]))
        key = (*key, _discriminator(context)) if "tag" in context else key
        names = [name.strip(" '") for name in allowed.replace(" or ", ", ").split(",")]
        what = "unknown value"
        facts = {"found": _short(found), "allowed": allowed, "nearest": nearest(found, names)}
    elif error["type"] == "string_pattern_mismatch" and context["pattern"] in PATTERNS:
        what = "cannot be used as a name"
        facts = {"found": _short(error["input"]), "allowed": PATTERNS[context["pattern"]]}
    elif error["type"] != "union_tag_not_found":
        facts["found"] = _short(error["input"])
        if error["type"] == "string_type" and isinstance(error["input"], bool | int | float):
            facts["advice"] = "text that looks like a number or a boolean goes in quotes"
    else:
        what = f"required key `{_discriminator(context)}` is missing"
    return Problem(source.path, what, key=dotted(key), line=source.line_of(key), **facts)


def _discriminator(context: dict[str, Any]) -> str:
    """Return the field that says which kind a record is: `type`, or `kind` of a check."""
    return str(context.get("discriminator", "type")).strip("'")


def _present(data: JsonValue, loc: KeyPath, *, missing: bool) -> KeyPath:
    """Return pydantic's location without the names of unions, which are not in the file."""
    key: KeyPath = ()
    for number, part in enumerate(loc):
        inside_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if (isinstance(data, dict) and part in data) or inside_list:
            data = data[part]  # type: ignore[index]
            key = (*key, part)
        elif number == len(loc) - 1 and (missing or isinstance(data, dict)):
            key = (*key, part) if missing else key
    return key


def _fields_at(model: type[BaseModel], loc: KeyPath) -> list[str]:
    """Return the field names allowed at one of pydantic's locations, as far as types tell."""
    here: list[type[BaseModel]] = [model]
    for part in loc:
        if isinstance(part, int):
            continue
        infos = [m.model_fields[part] for m in here if part in m.model_fields]
        if infos:
            here = [found for info in infos for found in _models_in(info.annotation)]
        else:  # the tag that was chosen among the kinds of a union
            here = [m for m in here if _has_tag(m, part)] or here
    return sorted({name for m in here for name in m.model_fields})


def _has_tag(model: type[BaseModel], tag: str) -> bool:
    return any(
        get_origin(info.annotation) is Literal and tag in get_args(info.annotation)
        for info in model.model_fields.values()
    )


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, RecordOf):
        return [*annotation.records.values()]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for arg in get_args(annotation) for found in _models_in(arg)]


def check_extras(
    extras: dict[str, Any], known: dict[str, FieldInfo], source: Source, at: KeyPath
) -> tuple[list[Problem], list[str]]:
    """Judge fields that may pass through.

    Returns:
        Problems for names so near a known one that they are typing errors, and a warning for
        each other name: it is kept in config.json, and nothing reads it.
    """
    problems, warnings = [], []
    for name in extras:
        key = (*at, name)
        if near := nearest(name, known, 0.75):
            line = source.line_of(key)
            problems.append(Problem(source.path, "unknown key", dotted(key), line, nearest=near))
        else:
            place = f"{source.path}:{source.line_of(key)}"
            warnings.append(f"{place}: `{dotted(key)}` is passed through, but nothing reads it")
    return problems, warnings


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return f"`{printable(text)}`"
