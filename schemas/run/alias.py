"""Two case ids of a suite joined into one: the lake's table of them, and what a command prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import SCHEMA_VERSION, EpochMillis, Positive, Record

AliasOrigin = Literal["person", "prompt_list"]


class AliasRow(Record):
    """What became of an id of a case; of its rows the one with the highest recorded_at_ms counts.

    A row is never changed. Each says the newest id at its time, so that nobody has to follow a
    chain: when `b` is joined to `c`, every id that was joined to `b` gets a row as well.
    """

    suite_id: str = Field(description="Suite of the case; ids of two suites are never joined.")
    old_case_id: str = Field(description="Id that older runs wrote.")
    joined_to: str | None = Field(
        description="Id it was joined to, as somebody said; null: taken back."
    )
    case_id: str | None = Field(
        description="Newest id of the case, at the end of every chain; null: taken back."
    )
    origin: AliasOrigin = Field(
        description="Who joined them: a `person`, or a `prompt_list` whose ids lost their prefix."
    )
    recorded_at_ms: EpochMillis = Field(
        description="When this row was made; of an old id's rows the one with the highest counts."
    )


class Alias(Record):
    """An old id of a case that stands for a newer one."""

    old_case_id: str
    joined_to: str = Field(description="As somebody said.")
    case_id: str = Field(description="Newest id, at the end of the chain.")
    origin: AliasOrigin
    recorded_at_ms: EpochMillis
    apart_in: tuple[str, ...] = Field(
        default=(), description="Runs that asked both ids: two cases there, and not joined."
    )


class Rename(Record):
    """A case that has the content of another id, which is gone."""

    suite_id: str
    old_case_id: str
    case_id: str = Field(description="The id that came with the same content.")
    command: str = Field(description="That joins them.")


class Aliases(Record):
    """The aliases of one suite, and the renames that are not joined."""

    schema_version: Positive = SCHEMA_VERSION
    suite_id: str
    aliases: tuple[Alias, ...] = Field(description="In order of the old id.")
    renames: tuple[Rename, ...] = Field(
        description="Ids that have the content of one which is gone, and are joined to none."
    )
