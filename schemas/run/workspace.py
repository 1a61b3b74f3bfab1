r"""workspace.json: which files a trial has left, what of them is kept, and what has changed.

The names are a model's, so they may be any bytes. As text a name is its UTF-8, and a byte that is
none is `\xNN`; so is the backslash of a name that would look like that, and no two names are the
same text.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from schemas.base import SCHEMA_VERSION, Count, Positive, Record, Sha256, Unit, require

EntryKind = Literal["file", "folder", "link", "other"]

LeftOut = Literal[
    "too_large",
    "too_many",
    "too_deep",
    "unreadable",
    "leads_out",
    "device",
    "pipe",
    "socket",
]
"""Why something is not in the copy."""

Change = Literal["added", "modified", "deleted", "renamed"]

Bytes = Annotated[int, Field(ge=0, le=2**63 - 1), Unit("bytes")]
"""Size of a file, which a model may make as large as any file can be."""

_SPELLED = re.compile(rb"\\x([0-9a-f]{2})")


def spelled(name: bytes) -> str:
    """Return a name or path of any bytes as text, which no other one has."""
    whole = _SPELLED.sub(rb"\\x5cx\1", name)
    return whole.decode("utf-8", "backslashreplace")


def unspelled(text: str) -> bytes:
    r"""Return the name or path that a text stands for; one without `\xNN` is its own UTF-8."""
    raw = text.encode("utf-8", "surrogatepass")
    return _SPELLED.sub(lambda found: bytes([int(found[1], 16)]), raw)


class WorkspaceEntry(Record):
    """One thing that was there when a trial had ended, or before it began."""

    path: str = Field(
        description="Below the workspace, with `/`; absolute, as the sandbox sees it, for what a "
        "check names elsewhere. Bytes that are not UTF-8 are `\\xNN`."
    )
    kind: EntryKind = Field(description="`file`, `folder`, `link`, or `other`.")
    size: Bytes = Field(default=0, description="Bytes of a file; of anything else 0.")
    sha256: Sha256 | None = Field(default=None, description="Of a file that was read, else null.")
    is_binary: bool | None = Field(
        default=None, description="It holds a NUL or is not UTF-8; null: it was not read."
    )
    is_executable: bool = Field(default=False, description="Its owner may execute the file.")
    target: str | None = Field(default=None, description="What a link leads to, as it says.")
    left_out: LeftOut | None = Field(
        default=None,
        description="Why it is not in the copy: `too_large`, `too_many`, `too_deep`, "
        "`unreadable`, `leads_out` (a link), `device`, `pipe`, `socket`; null: it is there.",
    )


class WorkspaceChange(Record):
    """What has become of one path."""

    path: str = Field(description="As of an entry.")
    change: Change = Field(description="`added`, `modified`, `deleted`, or `renamed`.")
    old_path: str | None = Field(default=None, description="Of a renamed file, where it was.")
    kind: EntryKind = Field(description="Of what is there now; of what is deleted, what it was.")
    size: Bytes = Field(default=0, description="Bytes of a file; of anything else 0.")
    is_binary: bool | None = Field(
        default=None, description="The old or the new file is no text; null: neither was read."
    )
    left_out: LeftOut | None = Field(default=None, description="As of the entry.")

    @model_validator(mode="after")
    def _renamed_from(self) -> Self:
        is_renamed = self.change == "renamed"
        require(is_renamed == (self.old_path is not None), "`old_path` is for what was renamed")
        return self


class Workspace(Record):
    """What a trial has left."""

    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this file.")
    entries: tuple[WorkspaceEntry, ...] = Field(
        description="Everything that was there, by path, but for `n_unlisted`."
    )
    changes: tuple[WorkspaceChange, ...] = Field(
        description="In the workspace, against what it began with, by path."
    )
    is_complete: bool = Field(description="Nothing was left out.")
    n_unlisted: Count = Field(
        default=0, description="Things left out that are in no entry, since they were too many."
    )
    diff_truncated: bool = Field(description="workspace.diff does not show all of the text.")
