"""The Claude Code CLI: one process a request, without tools, as close to a question as it goes.

Its arguments and whole environment were checked on the wire with 2.1.197. Tools, settings, memory,
hooks and MCP servers are off. So is what the CLI does by itself that would change what is measured:
sending another model than the one named (`claude-opus-4-0` goes out as a newer one, a refusal to a
fallback), asking again without streaming, repeating (our own repeats are counted), and reading
files that a prompt mentions as `@path`.

What the CLI adds all the same: the sentence that it is a Claude agent before the system prompt,
today's date before the prompt, and effort `high` where no thinking_level is set; for the vendor's
own host a line for its accounts, too. A request without a system message sends an empty one, since
the CLI would name its working directory and the date there.

It asks a proxy of ours, not the server: see `collect.providers.claude_code.proxy`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.endpoints import OAUTH_TOKEN, PROVIDERS, host_of
from collect.config.resolved import as_json
from collect.http_client.pool import CompletionQueue
from collect.providers.base import Prepared, Reply, Request
from collect.providers.claude_code.parse import ClaudeAnswer
from collect.providers.claude_code.process import Exit, run_command
from collect.providers.claude_code.proxy import Proxy, with_the_wire
from collect.providers.http import carrier_of
from collect.providers.http_reply import error_text

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

START_S = 30.0
"""How long a start may take, which is not the model's time: 0.4 s here when all is quiet."""

MESSAGES = "/v1/messages"
"""All that the CLI may post to."""

SLASH = (
    "a prompt that begins with `/` is sent with a line break before it: "
    "the CLI takes it for one of its own commands"
)


def command(model: ResolvedModel, *, is_subscription: bool) -> tuple[str, ...]:
    """Return the command as configured and its arguments; nothing in them is secret.

    A subscription is paid by a token, which `--bare` never reads.
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
    return host_of(model.base_url) in PROVIDERS["claude_code_cli"].own_hosts


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


class ClaudeCode:
    """One model behind the Claude Code CLI."""

    def __init__(
        self, model: ResolvedModel, api_key: str | None, completions: CompletionQueue | None = None
    ) -> None:
        """Start nothing yet.

        The key is added to a request after it left the CLI, which never sees it; it is the token of
        a subscription if `api_key_env` says so.

        Raises:
            ConfigError: the proxy that the environment names cannot be used.
        """
        self.model = model
        is_subscription = model.api_key_env == OAUTH_TOKEN and api_key is not None
        self._key_name = OAUTH_TOKEN if is_subscription else "ANTHROPIC_API_KEY"
        secret = {}
        if api_key is not None:
            bearer = {"authorization": f"Bearer {api_key}"}
            secret = bearer if is_subscription else {"x-api-key": api_key}
        self._proxy = Proxy(model.base_url, MESSAGES, secret, carrier_of(model, completions))
        self._command = command(model, is_subscription=is_subscription)
        self._said_slash = False

    async def aclose(self) -> None:
        """Close the proxy; each request had a process of its own."""
        await self._proxy.aclose()

    def prepare(self, request: Request) -> Prepared:
        """Return the command, our variables and the texts, without the key."""
        body: dict[str, JsonValue] = {
            "command": list(self._command),
            "environment": dict(variables(self.model, request)),
            "system": _joined(request, "system"),
            "messages": [as_json(message) for message in request.messages],
            "stream": True,
        }
        return Prepared(request, body, orjson.dumps(body))

    async def ask(self, prepared: Prepared) -> Reply:
        """Run the CLI once and return what came of it."""
        prompt = _joined(prepared.request, "user")
        if not prompt.strip():
            message = "no message of a user holds text, and the CLI takes no such prompt"
            return Reply(failure_type="invalid_messages", error_message=message, accepted=False)
        is_slash = prompt.startswith("/")
        reply = await self._run(prepared, f"\n{prompt}" if is_slash else prompt)
        if is_slash and not self._said_slash:
            self._said_slash = True
            return replace(reply, notes=(*reply.notes, SLASH))
        return reply

    async def _run(self, prepared: Prepared, prompt: str) -> Reply:
        name, *arguments = self._command
        found = _command_path(name)
        if found is None:
            return _not_found(name)
        request = prepared.request
        answer = ClaudeAnswer(request.timeout_s)
        url = await self._proxy.url()
        with (
            TemporaryDirectory(prefix="benchlake-", ignore_cleanup_errors=True) as folder,
            self._proxy.call(request.timeout_s) as call,
        ):
            home = Path(folder)  # only this user may enter it
            system = home / SYSTEM_FILE
            system.touch(mode=0o600)
            system.write_bytes(_joined(request, "system").encode())
            try:
                exit_ = await run_command(
                    [found, *arguments],
                    environment=environment(self.model, request, home)
                    | {"ANTHROPIC_BASE_URL": url, self._key_name: call.password},
                    home=home,
                    stdin=prompt.encode(),
                    start_s=START_S,
                    on_line=answer.add,
                )
            except OSError as exc:
                exit_ = Exit(None, f"`{name}` cannot be started: {exc.strerror}")
        reply = answer.reply(exit_, is_own_host=is_own_host(self.model))
        return with_the_wire(reply, call)


def _joined(request: Request, role: str) -> str:
    """Return what is said in one role, with a blank line between messages."""
    said = (message["content"] for message in request.messages if message["role"] == role)
    return "\n\n".join(said)


def _command_path(name: str) -> str | None:
    """Return the absolute path of a command, since it runs in another directory."""
    found = shutil.which(name)
    return None if found is None else os.path.abspath(found)  # noqa: PTH100 - links stay


def _not_found(name: str) -> Reply:
    """Return why a command cannot be run: it is not there, or it is no program."""
    is_there = os.sep in name and Path(name).exists()
    message = f"`{name}` cannot be run" if is_there else f"there is no command `{name}`"
    failure_type = "cli_error" if is_there else "cli_missing"
    return Reply(
        failure_type=failure_type,
        error_code=failure_type,
        error_message=error_text(message),
        accepted=False,
    )
