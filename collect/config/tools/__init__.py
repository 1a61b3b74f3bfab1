"""The tools that a case may offer its model, by name: known without opening one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from collect.config.resolved import LoadedCase
from schemas.registry import Registry


@dataclass(frozen=True)
class ToolKind:
    """What is known of a tool before a trial calls it."""

    opens: str
    """`module:attribute` of what opens it once a run, called with the run's ToolServices of
    collect.runners.tools.base; loaded where a trial offers it."""
    description: str
    """What the model reads."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """JSON Schema of its arguments: an object whose properties have plain types."""
    needs: Literal["sandbox", "web_search"] | None = None
    """What a run must have for it; `web_search`: the block of benchlake.yaml."""


def _object(required: tuple[str, ...] = (), **properties: JsonValue) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_PATH: dict[str, JsonValue] = {
    "type": "string",
    "description": "Path of the file; a relative one begins in the working directory.",
}

TOOLS = Registry(
    "tools",
    ToolKind,
    {
        "exec_shell": ToolKind(
            "collect.runners.tools.shell:ExecShell",
            "Run a shell command in the working directory and return what it printed and its "
            "return code.",
            _object(("command",), command={"type": "string", "description": "The command to run."}),
            needs="sandbox",
        ),
        "read_file": ToolKind(
            "collect.runners.tools.files:ReadFile",
            "Return the content of a text file.",
            _object(("path",), path=_PATH),
            needs="sandbox",
        ),
        "write_file": ToolKind(
            "collect.runners.tools.files:WriteFile",
            "Write a text file, with the folders above it; what the file held before is replaced.",
            _object(
                ("path", "content"),
                path=_PATH,
                content={"type": "string", "description": "The whole content of the file."},
            ),
            needs="sandbox",
        ),
        "web_search": ToolKind(
            "collect.runners.tools.web_search:WebSearchTool",
            "Search the web and return results, each with a title, a URL and a snippet of the "
            "page's text.",
            _object(
                ("query",),
                query={
                    "type": "string",
                    "description": "What to search for, at most 400 characters.",
                },
            ),
            needs="web_search",
        ),
    },
)
"""Every tool, as `input.context.llm_probe.tools` names it; a new one is a file and an entry."""


CHOICES = ("auto", "none", "required")
"""What `tool_choice` may be beside the name of a tool."""


def needs_sandbox(case: LoadedCase) -> bool:
    """Return whether a case offers a tool that runs in a sandbox."""
    return any(TOOLS[name].needs == "sandbox" for name in case.context.llm_probe.tools)
