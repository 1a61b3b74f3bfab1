"""Where a suite's model is asked, which key may go there, and what other processes see of keys.

Transports and their addresses are those of D-E10, the rules for keys those of D-H4. Processes that
a run starts get this one's environment without its keys.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urlsplit

from collect.config.resolved import ResolvedModel
from schemas.errors import ConfigError, Problem
from schemas.redact import SECRET_NAME, holds_key
from schemas.registry import Registry

LOOKALIKES = ("ollama", "local", "lmstudio", "vllm", "llamacpp", "claude", "responses")
"""Names that mean a local server or a CLI to people, never a vendor on OpenRouter."""


KEY_SUFFIXES = ("_API_KEY", "_TOKEN")

KEY_FIELDS = frozenset({"api_key", "apikey", "key", "token", "authorization", "headers"})
"""Parts of a request body that would hold a key, by name in lower case."""

KEY_ADVICE = "keys live in environment variables; name one with `api_key_env`"

OAUTH_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - a name
"""What the Claude Code CLI takes instead of a key when it is paid by subscription."""

SAMPLING = frozenset({"temperature", "top_p", "seed", "seed_per_repetition"})
OF_HTTP = frozenset({"stream", "transport"})
EVERYWHERE = frozenset({"max_tokens", "timeout_seconds", "retries", "max_turns"})


@dataclass(frozen=True)
class Transport:
    """What is known of a transport without asking anyone."""

    opens: str
    """`module:class` of the provider that speaks it, loaded where a model wants it."""
    base_url_env: str | None
    default_base_url: str
    api_key_env: str | None
    own_hosts: frozenset[str]
    applies: frozenset[str]
    """The settings it can send or act by (D-E1)."""
    thinking_levels: tuple[str, ...] | None = None
    """Those it can ask for, least first; None: the server decides."""
    takes_names: bool = True
    """Whether a message may carry the name of who says it."""
    takes_dialogue: bool = True
    """Whether a conversation may hold earlier answers of an assistant."""
    takes_tools: bool = False
    """Whether a model can be offered tools, whose calls come back to us."""
    executable: str | None = None
    """The command it runs, where it is one."""
    loads_late: bool = False
    """Its servers load a model at the first request, or read the rest of it then."""
    is_embedded: bool = False
    """A run starts its server and ends it: the address holds no port before."""
    may_be_ollama: bool = False
    """Its server may be an Ollama, which tells digests of weights and unloads models."""
    has_upstreams: bool = False
    """Its service lets others serve a model, unless one of them is named."""
    is_anthropic: bool = False
    """Its server speaks Anthropic's API rather than OpenAI's."""
    adds_prompts: bool = False
    """It sends prompts of its own around ours, and asks more than once."""
    limits: tuple[str, ...] = ("max_completion_tokens", "max_tokens")
    """Request options that limit an answer."""
    needs_limit: bool = False
    """Its server refuses a request that limits no answer."""
    takes_late_system: bool = True
    """Whether a system message may stand behind what others say."""

    def base_url(self, written: str | None) -> str:
        """Return where to ask: as it is written, as the environment says, or the usual address."""
        named = os.environ.get(self.base_url_env) if self.base_url_env is not None else None
        return (written or named or self.default_base_url).rstrip("/")


_CHAT = "collect.providers.openai_chat:ChatCompletions"

PROVIDERS = Registry(
    "providers",
    Transport,
    {
        "ollama_openai": Transport(
            _CHAT,
            "OLLAMA_OPENAI_BASE",
            "http://localhost:11434/v1",
            None,
            frozenset(),
            EVERYWHERE | OF_HTTP | SAMPLING,
            takes_tools=True,
            loads_late=True,
            may_be_ollama=True,
        ),
        "openai_chat": Transport(
            _CHAT,
            "OPENAI_BASE_URL",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            frozenset({"api.openai.com"}),
            EVERYWHERE | OF_HTTP | SAMPLING,
            takes_tools=True,
        ),
        "openai_responses": Transport(
            "collect.providers.openai_responses:OpenAIResponses",
            "OPENAI_BASE_URL",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            frozenset({"api.openai.com"}),
            EVERYWHERE | OF_HTTP | {"temperature", "top_p"},
            takes_tools=True,
            takes_names=False,
            limits=("max_output_tokens",),
        ),
        "openrouter": Transport(
            "collect.providers.openrouter:OpenRouter",
            "OPENROUTER_BASE_URL",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            frozenset({"openrouter.ai"}),
            EVERYWHERE | OF_HTTP | SAMPLING,
            takes_tools=True,
            thinking_levels=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
            has_upstreams=True,
        ),
        "anthropic_messages": Transport(
            "collect.providers.anthropic_messages:AnthropicMessages",
            "ANTHROPIC_BASE_URL",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            frozenset({"api.anthropic.com"}),
            EVERYWHERE | OF_HTTP | {"temperature", "top_p"},
            thinking_levels=("none", "low", "medium", "high", "xhigh", "max"),
            takes_names=False,
            takes_tools=True,
            is_anthropic=True,
            limits=("max_tokens",),
            needs_limit=True,
            takes_late_system=False,
        ),
        "claude_code_cli": Transport(
            "collect.providers.claude_code.provider:ClaudeCode",
            "ANTHROPIC_BASE_URL",
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            frozenset({"api.anthropic.com"}),
            EVERYWHERE,
            thinking_levels=("low", "medium", "high", "xhigh", "max"),
            takes_names=False,
            takes_dialogue=False,
            executable="claude",
            is_anthropic=True,
            adds_prompts=True,
        ),
        "embedded": Transport(
            _CHAT,
            None,
            "http://127.0.0.1/v1",
            None,
            frozenset(),
            EVERYWHERE | OF_HTTP | SAMPLING,
            takes_tools=True,
            loads_late=True,
            is_embedded=True,
        ),
    },
)
"""Every transport, by name (D-E10); a new one is a file and an entry."""

ROUTER = "openrouter"
"""Whom a vendor's name means, and who is asked where nobody is named."""


@cache
def standard_keys() -> frozenset[str]:
    """Return the keys of known services, which go to their own hosts and nowhere else."""
    known = (PROVIDERS[name].api_key_env for name in PROVIDERS)
    return frozenset(one for one in (*known, OAUTH_TOKEN) if one is not None)


def looks_like_transport(provider: str) -> str | None:
    """Return the transport or local server that a vendor prefix was probably meant to be."""
    word = provider.lower().replace("-", "_")
    for name in (*PROVIDERS.names, *LOOKALIKES):
        reach = 2 if len(name) > 4 else 1
        if abs(len(word) - len(name)) <= reach and distance(word, name) <= reach:
            return name
    return None


def distance(one: str, other: str) -> int:
    """Return how many letters must be added, dropped or changed (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def host_of(base_url: str) -> str:
    """Return the host of a URL, lower case; empty when it has none."""
    try:
        return (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


VARIABLE = re.compile(r"_{0,2}[A-Za-z][A-Za-z0-9]{0,31}(?:_{1,2}[A-Za-z0-9]{1,31}){1,9}")
"""What people call a variable: words with `_` between them."""

LONG_WORD = re.compile(r"(?=[^_]*\d[^_]*\d[^_]*\d)[A-Za-z0-9]{16,}")
"""A word of no language, in the name of a variable."""

KEY_LIKE = re.compile(
    r"[0-9a-fA-F]{40,}"  # longer than the 32 digits of an account, as in the paths of Cloudflare
    r"|(?=[^\d]*\d)(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9]{20,}"
)
"""A word of an address that is part of no name, and a key as far as anybody can tell."""


def url_problem(base_url: str) -> str | None:
    """Return what is wrong with a base URL, or None; repeats nothing of it."""
    try:
        parts = urlsplit(base_url)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_ok:
        return "is not an http(s) URL"
    if "@" in parts.netloc:
        return "holds a user name or password; keys live in environment variables"
    if parts.query or parts.fragment or "?" in base_url or "#" in base_url:
        return "must end with its path; keys live in environment variables"
    if _is_key_like(base_url):
        return "holds what looks like a key; keys live in environment variables"
    return None


def shown_url(base_url: str) -> str | None:
    """Return a URL for a message; None where it may hold a secret."""
    may_hold = any(char in base_url for char in "@?#") or _is_key_like(base_url)
    return None if may_hold else f"`{base_url}`"


def _is_key_like(base_url: str) -> bool:
    """Return whether a part of a URL is like a key, however it is encoded."""
    plain = unquote(base_url)
    return holds_key(plain) or any(KEY_LIKE.fullmatch(part) for part in re.split(r"[\W_]+", plain))


def name_problem(api_key_env: str | None) -> str | None:
    """Return what is wrong with the name of a key variable, or None.

    A name is repeated only where it can be one: people paste the key itself.
    """
    if api_key_env is None:
        return None
    is_name = VARIABLE.fullmatch(api_key_env) is not None and not holds_key(api_key_env)
    if not is_name or any(LONG_WORD.fullmatch(word) for word in api_key_env.split("_")):
        return (
            "must be the name of an environment variable that ends in _API_KEY or _TOKEN; what "
            "stands there is none, and is not repeated since it may be the key itself"
        )
    if not api_key_env.endswith(KEY_SUFFIXES):
        found = f", not {api_key_env}" if api_key_env.isupper() else ""
        return f"the name of a key variable ends in _API_KEY or _TOKEN{found}"
    return None


def key_problem(
    transport: Transport, base_url: str, api_key_env: str | None, allowed_hosts: frozenset[str]
) -> str | None:
    """Return why no key may go to this host, or None when all is well (D-H4)."""
    host = host_of(base_url)
    if what := name_problem(api_key_env):
        return what
    if is_loopback(host):
        return None
    sends_key = (api_key_env or transport.api_key_env) is not None
    if sends_key and urlsplit(base_url).scheme != "https":
        return f"a key is sent to `{host}` over https only"
    if host in transport.own_hosts:
        own = {transport.api_key_env}
        if transport.api_key_env == "ANTHROPIC_API_KEY":
            own.add(OAUTH_TOKEN)
        foreign = api_key_env in standard_keys() and api_key_env not in own
        return f"`{host}` must not get the key of another service" if foreign else None
    if api_key_env is None:
        if transport.api_key_env is None:
            return None  # nothing secret is sent
        return (
            f"`{host}` is not a host of this transport, so {transport.api_key_env} is not sent "
            f"there; name its own key with `api_key_env` and pass `--allow-host {host}`"
        )
    if api_key_env in standard_keys():
        return (
            f"`{host}` needs a key variable of its own whose name ends in _API_KEY or _TOKEN, "
            f"not {api_key_env}"
        )
    if host not in allowed_hosts:
        return f"`{host}` may not get a key yet; pass `--allow-host {host}`"
    return None


def key_of(model: ResolvedModel) -> str:
    """Return a model's key; empty when it has none, or none is set.

    Raises:
        ConfigError: what is set cannot be a key.
    """
    key = (os.environ.get(model.api_key_env) or "").strip() if model.api_key_env else ""
    if not (key.isascii() and key.isprintable()) or " " in key:
        what = f"environment variable {model.api_key_env} holds characters that no key has"
        raise ConfigError([Problem(None, what)])
    return key


def refuse_unusable_keys(models: Iterable[ResolvedModel]) -> None:
    """Look at every key before anything is written or asked.

    Raises:
        ConfigError: naming each variable that holds no key.
    """
    problems = []
    for model in models:
        try:
            key_of(model)
        except ConfigError as exc:
            problems += [problem for problem in exc.problems if problem not in problems]
    if problems:
        raise ConfigError(problems)


def without_secrets() -> dict[str, str]:
    """Return the environment without variables whose names look like secrets.

    A process that needs one of them is given that one by name (D-H4).
    """
    return {name: value for name, value in os.environ.items() if not SECRET_NAME.search(name)}
