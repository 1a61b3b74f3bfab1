"""A resolved model as providers get it, without a project around it, and asking one."""

import asyncio

from collect.config.resolved import ResolvedModel
from collect.providers.base import Request
from schemas.run.config import EffectiveSetting

HTTPX = {"transport": EffectiveSetting(value="httpx", origin="runner_defaults")}
"""Settings that ask for httpx itself."""


def model(base_url, **fields):
    facts = {
        "model_id": "m",
        "label": None,
        "provider": "openai_chat",
        "model": "real-m",
        "thinking_level": None,
        "base_url": base_url,
        "api_key_env": None,
        "key_required": False,
        "max_concurrency": 2,
        "request_options": {},
        "settings": {},
        "is_loopback": True,
    }
    return ResolvedModel(**facts | fields)


def ask(opened, messages, *, times=1, stream=True, timeout_s=5.0, settings=()):
    """Ask once, or several times over one provider; return the last reply.

    Args:
        opened: makes the provider, on the loop.
    """

    async def go():
        provider = opened()
        try:
            for _ in range(times):
                request = Request(messages, timeout_s, stream, **dict(settings))
                reply = await provider.ask(provider.prepare(request))
            return reply
        finally:
            await provider.aclose()

    return asyncio.run(go())
