"""How the Claude Code CLI is called: its arguments and its whole environment.

Checked on the wire with 2.1.197. Tools, settings, memory, hooks and MCP servers are off. So is
what the CLI does by itself that would change what is measured: sending another model than the one
named (`claude-opus-4-0` goes out as a newer one, a refusal to a fallback), asking again without
streaming, repeating (our own repeats are counted), and reading files that a prompt mentions as
`@path`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from collect.config import ResolvedModel
from collect.config.endpoints import TRANSPORT, host_of
from collect.providers.base import Request

SYSTEM_FILE = "system.txt"
"""In the home directory: a system prompt is no argument that other users could read."""

FLAGS = (
    "-p",
    "--output-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--max-turns=1",
    "--no-session-persistence",
    "--strict-mcp-config",
    "--disable-slash-commands",
    "--setting-sources=",
    f"--system-prompt-file={SYSTEM_FILE}",
)

SWITCHES: Mapping[str, str] = {
    "BUN_CONFIG_HTTP_IDLE_TIMEOUT": "0",
    "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE": "1000000000",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_COMPACT": "1",
    "DISABLE_TELEMETRY": "1",
}

KEPT = ("PATH", "LANG", "LANGUAGE", "TZ")
"""Variables of ours that the CLI gets, with those that begin with LC_; no others, least of all
secrets."""

ATTRIBUTION = "CLAUDE_CODE_ATTRIBUTION_HEADER"
"""Whether the system prompt begins with a line for the vendor's accounts: its version and a mark of
the prompt, which no other server takes out, and after which none finds a prefix in its cache."""


def command(model: ResolvedModel, *, is_subscription: bool) -> tuple[str, ...]:
    """Return the command as configured and its arguments; nothing in them is secret.

    Args:
        model: whom to ask.
        is_subscription: the key is the token of a subscription, which `--bare` never reads.
    """
    effort = model.thinking_level
    return (
        model.executable or "claude",
        *(() if is_subscription else ("--bare",)),
        *FLAGS,
        f"--model={model.model}",
        *((f"--effort={effort}",) if effort else ()),
        "--tools",  # last: it takes all words that follow, and none of them is a tool
        "",
    )


def is_own_host(model: ResolvedModel) -> bool:
    """Return whether the endpoint is the vendor's."""
    return host_of(model.base_url) in TRANSPORT["claude_code_cli"].own_hosts


def variables(model: ResolvedModel, request: Request) -> dict[str, str]:
    """Return what we set for the CLI, but for the key and its home."""
    own = dict(SWITCHES)
    own["ANTHROPIC_BASE_URL"] = model.base_url
    if not is_own_host(model):
        own[ATTRIBUTION] = "0"
    own["API_TIMEOUT_MS"] = str(round(request.timeout_s * 1000) + 60_000)  # our own limit is first
    if request.max_tokens is not None:
        own["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(request.max_tokens)
    if model.request_options:
        own["CLAUDE_CODE_EXTRA_BODY"] = orjson.dumps(dict(model.request_options)).decode()
    return own


def environment(model: ResolvedModel, request: Request, home: Path) -> dict[str, str]:
    """Return all that the CLI sees of an environment, but for the key."""
    kept = {
        name: value for name, value in os.environ.items() if name in KEPT or name.startswith("LC_")
    }
    places = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "TMPDIR": str(home)}
    return kept | places | variables(model, request)
