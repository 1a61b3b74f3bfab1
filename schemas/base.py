"""What every record is made of: a frozen base class, shared types, findings, and intervals.

A finding says what is wrong with a document that somebody else may have written, as a value rather
than an error; it names its place by JSON pointer, and in files of lines by line: an editor finds
it. Intervals and pass@k stand apart from the summary, since a comparison holds them too and would
load all of it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, LiteralString, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import CoreSchema, tagged_union_schema

from schemas.errors import UnknownVersion
from schemas.registry import Registry

SCHEMA_VERSION = 1
"""Version of the files we write; a reader refuses newer ones by name."""

SLUG_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
CLUSTER_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"

Model = TypeVar("Model", bound=BaseModel)

Severity = Literal["error", "warning"]

DocumentKind = Literal[
    "report-v2",
    "report-v1",
    "swebench",
    "predictions",
    "results",
    "evaluations",
    "summary",
    "unknown",
]
"""Kinds of documents that `analyze validate` knows by their content."""

APART = 0.001
"""A tenth of a point: a rate this near to the estimate of its interval is shown as the same."""


def read_stored(model: type[Model], path: Path) -> Model:
    """Return a file of ours as a record; fields of a later patch of its version are passed over.

    Raises:
        UnknownVersion: a newer benchlake wrote it.
        ValidationError: it does not fit its declaration.
        OSError: it cannot be read.
    """
    record = model.model_validate_json(path.read_bytes(), extra="ignore")
    version: int = getattr(record, "schema_version", SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        message = f"{path}: schema_version {version}, this benchlake reads up to {SCHEMA_VERSION}"
        raise UnknownVersion(message)
    return record


class Record(BaseModel):
    """A value that crosses a border: frozen, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class OpenRecord(BaseModel):
    """A record whose document lets extra fields pass through."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, defer_build=True)


def same_fields(source: object, names: str) -> dict[str, Any]:
    """Return what a record takes over from another value as it is; `names` are words."""
    return {name: getattr(source, name) for name in names.split()}


class RecordOf:
    """Marks a value that is a record of one of a registry's parts, by the name in its field `tag`.

    Who adds parts is asked where the first such value is read.
    """

    def __init__(self, registry: Registry[Any], tag: str) -> None:
        self._registry = registry
        self._tag = tag

    @property
    def records(self) -> dict[str, type[BaseModel]]:
        """Return what may be written, by name."""
        return {name: self._registry[name].record for name in self._registry}

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a union of all records, which `tag` tells apart."""
        choices = {name: handler.generate_schema(one) for name, one in self.records.items()}
        return tagged_union_schema(choices, self._tag)


_SETS: dict[frozenset[str], set[str]] = {}


def slim(record: BaseModel) -> None:
    """Let a record share the set of its given fields with others: 216 bytes of each of thousands.

    For records that are kept for long and never changed, as frozen ones are.
    """
    given = record.model_fields_set
    shared = _SETS.setdefault(frozenset(given), given)
    object.__setattr__(record, "__pydantic_fields_set__", shared)


def require(holds: bool, message: LiteralString, **context: object) -> None:
    """Refuse a value of a record unless something holds; `context` fills the `{name}`s.

    Raises:
        PydanticCustomError: it does not.
    """
    if not holds:
        raise PydanticCustomError(_REFUSED, message, context)


def exactly_one(one: str, other: str) -> Any:
    """Return the validator of a record in which exactly one of two fields is given."""

    def validated(record: Model) -> Model:
        n_given = sum(getattr(record, name) not in (None, ()) for name in (one, other))
        require(n_given == 1, f"needs exactly one of `{one}` and `{other}`")
        return record

    return model_validator(mode="after")(validated)


def _integer_1(value: object) -> object:
    """Let the integer 1 through; `true`, `1.0` and `"1"` are other things."""
    require(type(value) is int and value == 1, "must be the integer 1")
    return value


def slugify(text: str) -> str:
    """Return `text` as a slug: lower case, every other character folded into one `_`.

    Text without a single letter or digit of ASCII becomes `x_` and the start of its hash.
    """
    slug = re.sub(r"[^a-z0-9_-]+", "_", text.lower()).strip("_-")
    return slug or f"x_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


MAX_SLUG_CHARS = 128

Key = TypeVar("Key")

_REFUSED: LiteralString = "refused"


def bounded_slug(slug: str, text: str) -> str:
    """Return a slug that is not too long, by a hash of `text` at its end where it was."""
    return slug if len(slug) <= MAX_SLUG_CHARS else _hashed(slug, text)


def _hashed(slug: str, text: str) -> str:
    return f"{slug[: MAX_SLUG_CHARS - 9]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def set_apart(slugs: Mapping[Key, str], text_of: Callable[[Key], str]) -> dict[Key, str]:
    """Return slugs of which no two are the same and none is too long.

    A hash at their end sees to it, of the text that tells a key from the others.
    """
    taken = Counter(slugs.values())
    return {
        key: slug
        if taken[slug] == 1 and len(slug) <= MAX_SLUG_CHARS
        else _hashed(slug, text_of(key))
        for key, slug in slugs.items()
    }


class Unit:
    """Marks a numeric field with its unit; carried into Arrow metadata and the docs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Unit({self.name!r})"


class JsonTextMarker:
    """Marks a field that holds any JSON value and is stored as JSON text in columns."""


SchemaVersion = Annotated[Literal[1], BeforeValidator(_integer_1)]
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=MAX_SLUG_CHARS)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
MAX_QUANTITY = 2**40
"""Above any time in ms, count or tokens there is; its sum over millions of rows still fits."""

Count = Annotated[int, Field(ge=0, le=MAX_QUANTITY)]
Positive = Annotated[int, Field(ge=1, le=MAX_QUANTITY)]
Millis = Annotated[int, Field(ge=0, le=MAX_QUANTITY), Unit("ms")]
EpochMillis = Annotated[int, Field(ge=0, le=2**53), Unit("ms since 1970-01-01 UTC")]
Tokens = Annotated[int, Field(ge=0, le=MAX_QUANTITY), Unit("tokens")]
Usd = Annotated[float, Field(ge=0, le=1e6), Unit("USD")]
"""Of one trial, or a limit."""

UsdSum = Annotated[float, Field(ge=0), Unit("USD")]
"""Of many trials, which is not bounded by what bounds one."""
Rate = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
JsonText = Annotated[JsonValue, JsonTextMarker()]
Metadata = dict[str, Any]


class Finding(Record):
    """One thing wrong with one place of a document."""

    severity: Severity
    code: str = Field(description="Stable name of the kind of finding, such as `wrong_type`.")
    pointer: str = Field(description="RFC 6901, from the document's root; empty: the root.")
    line: Positive | None = Field(default=None, description="In files of lines, from 1.")
    message: str = Field(description="One sentence: what was found, and what is allowed.")


class ValidatedFile(Record):
    """What `analyze validate` found in one file."""

    path: str
    kind: DocumentKind
    valid: bool = Field(description="No finding is an error.")
    n_errors: Count
    n_warnings: Count
    findings: tuple[Finding, ...]


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer of a place (RFC 6901): `/instances/3/status`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def error(code: str, where: str, message: str, line: int | None = None) -> Finding:
    """Return a finding that makes its document invalid."""
    return Finding(severity="error", code=code, pointer=where, line=line, message=message)


def warning(code: str, where: str, message: str, line: int | None = None) -> Finding:
    """Return a finding that leaves its document valid."""
    return Finding(severity="warning", code=code, pointer=where, line=line, message=message)


def is_valid(findings: Iterable[Finding]) -> bool:
    """Return whether no finding is an error."""
    return all(one.severity != "error" for one in findings)


def is_apart(rate: float | None, estimate: float | None) -> bool:
    """Return whether an interval is of something else than the rate beside it, and must say so."""
    return rate is not None and estimate is not None and abs(rate - estimate) > APART


class Interval(Record):
    """A confidence interval of a mean of rates over cases, and how it was made."""

    low: Rate
    high: Rate
    estimate: Rate | None = Field(
        default=None,
        description="What it is the interval of: the mean over units of passed / trials with a "
        "verdict, or of pass@k. It differs from passed / trials where units have unequal numbers "
        "of trials; null: written before it was kept.",
    )
    method: Literal["wilson_shrunk", "wilson_clustered"] = Field(
        default="wilson_shrunk",
        description="`wilson_clustered` in documents of before: the spread of the cases alone, of "
        "passed / trials.",
    )
    n_cases: Count
    n_clusters: Count | None = Field(
        default=None,
        description="Units, where cases are in clusters; null: each case is a unit of its own.",
    )
    n_trials: Count
    n_eff: float = Field(description="Effective number of independent trials.")


class PassK(Record):
    """pass@k (at least one of k passes) or pass^k (all of k pass), mean over cases."""

    k: Positive
    value: Rate
    ci95: Interval | None
    n_cases: Count = Field(description="Cases with at least k independent scored trials.")
    n_cases_short: Count = Field(description="Cases left out because they have fewer.")
