"""An agent by configuration: how its program is started, what it answers, and where its log is."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from schemas.base import NonEmpty, Record, require

PLACEHOLDERS = (
    "prompt", "prompt_file", "model", "base_url", "address", "api_key", "session_id", "turn",
    "workspace", "home", "program",
)  # fmt: skip
"""What may stand in braces in a command line, a variable and a file."""

Meaning = Literal["done", "limit", "agent_error", "infrastructure"]
"""Of an exit code: the agent did what it does, reached a limit of its own, failed itself, or could
not work for no fault of the model's."""

JsonPath = Annotated[str, StringConstraints(pattern=r"^[^.\s]+(\.[^.\s]+)*$")]
"""Keys and positions with dots between them: `payloads.-1.text`."""

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

STDOUT = "stdout"


def unknown_names(text: str) -> Iterator[str]:
    """Yield what stands in braces and is no placeholder; braces themselves are written twice."""
    try:
        for _, name, spec, conversion in string.Formatter().parse(text):
            if name is not None and (name not in PLACEHOLDERS or spec or conversion):
                yield name or "{}"
    except ValueError:
        yield text[:40]


def _check(text: str) -> None:
    name = next(unknown_names(text), None)
    require(
        name is None,
        "`{name}` in braces is none of {allowed}; braces of your own are written twice",
        name=name,
        allowed=", ".join(PLACEHOLDERS),
    )


class AnswerSource(Record):
    """Where the agent's answer is found after a turn."""

    source: Literal["stdout", "file", "json"] = Field(
        default="stdout", description="`json`: a value in the last JSON object on stdout."
    )
    path: NonEmpty | None = Field(
        default=None, description="Of the file, from the workspace on; of the value, with dots."
    )

    @model_validator(mode="after")
    def _has_path(self) -> AnswerSource:
        needs = self.source != STDOUT
        require(needs == (self.path is not None), "`path` is for `file` and `json`, which need it")
        if self.source == "json":
            is_path = re.fullmatch(r"[^.\s]+(\.[^.\s]+)*", self.path or "") is not None
            require(is_path, "`path` is keys with dots between them, like `result.text`")
        return self


class DeclaredUsage(Record):
    """Tokens that the agent tells of itself; read where none of its requests came by the door."""

    source: Literal["stdout", "file"] = Field(
        default="stdout", description="Where the JSON object is; the last that has the values."
    )
    path: NonEmpty | None = Field(default=None, description="Of the file.")
    input_tokens: JsonPath
    output_tokens: JsonPath
    cached_input_tokens: JsonPath | None = None
    cache_write_tokens: JsonPath | None = None
    reasoning_tokens: JsonPath | None = None
    cost_usd: JsonPath | None = None
    counts: Literal["cumulative", "delta"] = Field(
        description="Whether a turn's counts hold those of the turns before it."
    )
    cached: Literal["inside", "beside"] = Field(
        description="Whether `input_tokens` holds the cached ones."
    )

    @model_validator(mode="after")
    def _has_path(self) -> DeclaredUsage:
        require((self.source == "file") == (self.path is not None), "`path` is for `file`")
        return self


class AgentLogs(Record):
    """The agent's own log, which says what it did."""

    format: NonEmpty = Field(
        description="Of its lines: openclaw, claude, codex, opencode, mini-swe-agent, atif, plain."
    )
    paths: tuple[NonEmpty, ...] = Field(
        min_length=1,
        description="`stdout`, or files as the agent sees them, with `*` and `**` in their names.",
    )

    @field_validator("paths")
    @classmethod
    def _are_inside(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            is_inside = path == STDOUT or path.startswith(("{home}/", "{workspace}/", "/tmp/"))  # noqa: S108
            require(
                is_inside,
                "`{path}` is neither `stdout` nor below {home}/, {workspace}/ or /tmp/",
                path=path,
            )
        return paths


class CommandAgent(Record):
    """How the program of an agent is started, in each turn anew, and read."""

    argv: tuple[str, ...] = Field(min_length=1, description="Command line of the first turn.")
    next_argv: tuple[str, ...] = Field(
        default=(), description="Of the later turns, which go on; empty: cases have one turn."
    )
    prompt: Literal["stdin", "file", "argument"] = Field(
        description="`file`: {prompt_file}; `argument`: {prompt}."
    )
    environment: dict[VariableName, str] = Field(default_factory=dict)
    files: dict[NonEmpty, str] = Field(
        default_factory=dict, description="That its home begins with: path to text."
    )
    version: tuple[NonEmpty, ...] = Field(
        default=(), description="Command line by which it says its version, before a run."
    )
    answer: AnswerSource = Field(default_factory=AnswerSource)
    exit_codes: dict[Annotated[int, Field(ge=0, le=255)], Meaning] = Field(
        default_factory=dict,
        description="What others than 0 mean; unnamed ones are an error of the agent's, or of the "
        "place where no model had answered yet.",
    )
    usage: DeclaredUsage | None = None
    logs: AgentLogs | None = Field(
        default=None, description="Without it steps are made of what was seen on the wire."
    )

    @field_validator("argv", "next_argv")
    @classmethod
    def _lines(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            _check(word)
        return words

    @field_validator("environment", "files")
    @classmethod
    def _texts(cls, texts: dict[str, str]) -> dict[str, str]:
        for text in texts.values():
            _check(text)
        return texts

    @field_validator("files")
    @classmethod
    def _stay_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for path in files:
            parts = path.split("/")
            is_inside = all(part not in {"", ".", ".."} for part in parts) and "\0" not in path
            require(is_inside, "`{path}` is no path below the home", path=path[:80])
        return files

    @model_validator(mode="after")
    def _gives_the_prompt(self) -> CommandAgent:
        wanted = {"argument": "{prompt}", "file": "{prompt_file}"}.get(self.prompt)
        for name, words in (("argv", self.argv), ("next_argv", self.next_argv)):
            is_given = wanted is None or not words or any(wanted in word for word in words)
            require(
                is_given,
                "`prompt: {way}` and no {word} in `{name}`",
                way=self.prompt,
                word=wanted,
                name=name,
            )
            others = [one for one in ("{prompt}", "{prompt_file}") if one != wanted]
            twice = next((one for one in others if any(one in word for word in words)), None)
            require(
                twice is None,
                "{word} in `{name}`, and `prompt: {way}` gives it otherwise",
                word=twice,
                name=name,
                way=self.prompt,
            )
        return self
