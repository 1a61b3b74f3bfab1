"""What every record is made of: a frozen base class and the few types all of them share."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from schemas.errors import UnknownVersion

SCHEMA_VERSION = 1
"""Version of the files we write; a reader refuses newer ones by name."""

SLUG_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
CLUSTER_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"


def refuse_newer(path: Path, schema_version: int) -> None:
    """Let a file of ours pass that this program can read.

    Raises:
        UnknownVersion: a newer benchlake wrote it.
    """
    if schema_version > SCHEMA_VERSION:
        message = (
            f"{path}: schema_version {schema_version}, this benchlake reads up to {SCHEMA_VERSION}"
        )
        raise UnknownVersion(message)


class Record(BaseModel):
    """A value that crosses a border: frozen, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class OpenRecord(BaseModel):
    """A record whose document lets extra fields pass through."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, defer_build=True)


_SETS: dict[frozenset[str], set[str]] = {}


def slim(record: BaseModel) -> None:
    """Let a record share the set of its given fields with others: 216 bytes of each of thousands.

    For records that are kept for long and never changed, as frozen ones are.
    """
    given = record.model_fields_set
    shared = _SETS.setdefault(frozenset(given), given)
    object.__setattr__(record, "__pydantic_fields_set__", shared)


def _exactly_one(value: object) -> object:
    """Let the integer 1 through; `true`, `1.0` and `"1"` are other things."""
    if type(value) is not int or value != 1:
        kind, message = "schema_version", "must be the integer 1"
        raise PydanticCustomError(kind, message)
    return value


def slugify(text: str) -> str:
    """Return `text` as a slug: lower case, every other character folded into one `_`.

    Text without a single letter or digit of ASCII becomes `x_` and the start of its hash.
    """
    slug = re.sub(r"[^a-z0-9_-]+", "_", text.lower()).strip("_-")
    return slug or f"x_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


LONGEST_SLUG = 128

Key = TypeVar("Key")


def fitting(slug: str, text: str) -> str:
    """Return a slug that is not too long, by a hash of `text` at its end where it was."""
    return slug if len(slug) <= LONGEST_SLUG else _hashed(slug, text)


def _hashed(slug: str, text: str) -> str:
    return f"{slug[: LONGEST_SLUG - 9]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def set_apart(slugs: Mapping[Key, str], text_of: Callable[[Key], str]) -> dict[Key, str]:
    """Return slugs of which no two are the same and none is too long, by a hash at their end.

    Args:
        slugs: of each key.
        text_of: what tells a key from the others; the hash is made of it.
    """
    taken = Counter(slugs.values())
    return {
        key: slug if taken[slug] == 1 and len(slug) <= LONGEST_SLUG else _hashed(slug, text_of(key))
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


SchemaVersion = Annotated[Literal[1], BeforeValidator(_exactly_one)]
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=LONGEST_SLUG)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
MOST = 2**40
"""Above any time in ms, count or tokens there is; its sum over millions of rows still fits."""

Count = Annotated[int, Field(ge=0, le=MOST)]
Positive = Annotated[int, Field(ge=1, le=MOST)]
Millis = Annotated[int, Field(ge=0, le=MOST), Unit("ms")]
EpochMillis = Annotated[int, Field(ge=0, le=2**53), Unit("ms since 1970-01-01 UTC")]
Tokens = Annotated[int, Field(ge=0, le=MOST), Unit("tokens")]
Usd = Annotated[float, Field(ge=0, le=1e6), Unit("USD")]
"""Of one trial, or a limit."""

UsdSum = Annotated[float, Field(ge=0), Unit("USD")]
"""Of many trials, which is not bounded by what bounds one."""
Rate = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
JsonText = Annotated[JsonValue, JsonTextMarker()]
Metadata = dict[str, Any]
