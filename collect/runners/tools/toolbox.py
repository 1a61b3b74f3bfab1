"""The tools of a run: opened where a trial first offers them, closed with the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import orjson

from collect.config.tools import TOOLS
from collect.runners.tools.base import Tool, ToolContext, ToolResult, ToolServices, failed
from collect.runners.tools.calls import ParsedCall, misfit
from schemas.registry import load_object


@dataclass
class Toolbox:
    """Carries out calls."""

    services: ToolServices = field(default_factory=ToolServices)
    _tools: dict[str, Tool] = field(default_factory=dict)

    async def answer(
        self, call: ParsedCall, offered: Sequence[str], context: ToolContext
    ) -> tuple[ToolResult, int]:
        """Return what one call brought and how many ms it took; each is answered just once."""
        if call.name not in offered:
            there = ", ".join(offered)
            return failed(f"there is no tool `{call.name}`; there are: {there}", "unknown_tool"), 0
        if call.arguments is None:
            return failed(call.problem or "no arguments", "invalid_arguments"), 0
        if (what := misfit(call.arguments, TOOLS[call.name].parameters)) is not None:
            return failed(what, "invalid_arguments"), 0
        began = time.perf_counter()
        try:
            result = await self.open(call.name).call(call.arguments, context)
            orjson.dumps(result.output)  # a package's may hold anything
        except Exception as exc:  # noqa: BLE001 - a mistake of a tool's costs the trial its verdict
            what = f"tool `{call.name}`: {type(exc).__name__}: {exc}"
            result = replace(failed(what, "exception"), outage=what)
        return result, round(1000 * (time.perf_counter() - began))

    def open(self, name: str) -> Tool:
        """Return a tool, which is loaded where it was not before."""
        if name not in self._tools:
            self._tools[name] = load_object(TOOLS[name].opens)(self.services)
        return self._tools[name]

    async def aclose(self) -> None:
        """Close every tool that was opened."""
        for tool in self._tools.values():
            await tool.aclose()
        self._tools.clear()
