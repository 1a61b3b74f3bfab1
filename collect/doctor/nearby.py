"""Which servers of models answer on this machine, for the suite file that `collect init` writes.

Nothing is sent but a look at the list of models, and nobody waits long: no answer is an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collect.config.endpoints import TRANSPORT, host_of, is_loopback
from collect.doctor.probe import Place, usual_places, visit
from schemas.base import slugify

OTHER_PORTS = (8080, 1234, 8000)
"""Of llama.cpp, LM Studio and vLLM, as they come."""

LOOK_S = 0.8
"""A server of this machine answers within milliseconds."""

MOST_MODELS = 20
"""Named in a suite file; of more, only how many there are."""

NOT_CHAT = ("embed", "rerank", "whisper")
"""In the names of models that answer no question."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server that answers, with its models."""

    base_url: str
    kind: str
    """What answers, such as `Ollama`."""
    models: tuple[str, ...]

    @property
    def summary(self) -> str:
        """Return one line about it for people."""
        n_models = len(self.models)
        return f"{self.kind} at {self.base_url}, {n_models:,} model{'s' * (n_models != 1)}"


def servers_nearby() -> tuple[Nearby, ...]:
    """Return the servers of this machine that answer in about a second; never raises for them."""
    places = [place for place in usual_places() if is_loopback(host_of(place.base_url))]
    for port in OTHER_PORTS:
        url = f"http://127.0.0.1:{port}/v1"
        places.append(Place(url, is_claude=False, api_key_env=None, key=""))
    try:
        return asyncio.run(_look(places))
    except OSError:  # no sockets, no network at all
        return ()


async def _look(places: Sequence[Place]) -> tuple[Nearby, ...]:
    if not places:
        return ()
    tasks = [asyncio.create_task(visit(place)) for place in places]
    await asyncio.wait(tasks, timeout=LOOK_S)
    found = []
    for place, task in zip(places, tasks, strict=True):
        if not task.done():
            task.cancel()
            continue
        if task.exception() is None and (names := _chat_models(task.result().names)):
            found.append(Nearby(place.base_url, task.result().kind or "a server", names))
    await asyncio.gather(*tasks, return_exceptions=True)
    return tuple(found)


def _chat_models(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(name for name in names if not any(word in name.lower() for word in NOT_CHAT))
    )


def commented_models(servers: Iterable[Nearby]) -> str:
    """Return the servers' models as lines of a suite file, ready to be uncommented."""
    lines: list[str] = []
    taken = Counter[str]()
    for server in servers:
        lines.append(f"  # Answered when this file was written: {server.summary}.")
        for name in server.models[:MOST_MODELS]:
            slug = slugify(name)
            taken[slug] += 1
            model_id = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
            lines += [f"  # {line}" for line in _model(server, name, model_id)]
        if more := len(server.models) - MOST_MODELS:
            lines += [f"  # and {more:,} more"] * (more > 0)
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _model(server: Nearby, name: str, model_id: str) -> list[str]:
    is_ollama = server.kind in {"Ollama", "llama.cpp"}
    lines = [
        f"- model_id: {model_id}",
        f"  provider: {'ollama_openai' if is_ollama else 'openai_chat'}",
        f"  requested_model: {_quoted(name)}",
    ]
    if not is_ollama or server.base_url != TRANSPORT["ollama_openai"].default_base_url:
        lines.append(f"  base_url: {_quoted(server.base_url)}")
    return lines


def _quoted(text: str) -> str:
    """Return a text of a server's as YAML that is one line and says nothing else."""
    return json.dumps(text)
