"""A resolved model as providers get it, without a project around it."""

from collect.config.loaded import ResolvedModel
from schemas.run_config import EffectiveSetting

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
