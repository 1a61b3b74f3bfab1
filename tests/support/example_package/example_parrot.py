"""A provider that a package adds to benchlake: it says what it was told, and asks nobody."""

from collect.config.endpoints import EVERYWHERE, Transport
from collect.providers.base import Prepared, Reply


class Parrot:
    """One model, which has no server."""

    def __init__(self, model, api_key, completions):
        """Take what every provider is given."""

    def prepare(self, request):
        """Return what would be sent."""
        return Prepared(request, {"messages": list(request.messages)}, b"")

    async def ask(self, prepared):
        """Return the last message."""
        return Reply(text=prepared.request.messages[-1]["content"], e2e_ms=1, ttft_ms=1)

    async def aclose(self):
        """Let go of nothing."""


PARROT = Transport(
    opens="example_parrot:Parrot",
    base_url_env=None,
    default_base_url="http://127.0.0.1:9/v1",
    api_key_env="PARROT_API_KEY",
    own_hosts=frozenset({"parrot.example"}),
    applies=EVERYWHERE,
)
