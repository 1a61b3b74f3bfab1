"""The runners by name: how the trials of a case are executed, known without executing one."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.registry import Registry


@dataclass(frozen=True)
class RunnerKind:
    """What is known of a runner before anybody is asked."""

    opens: str
    """`module:attribute` of what opens it, called with a model and a RunnerContext of
    collect.runners.base; loaded where a trial wants it."""
    asks_once: bool = False
    """A trial is one request, of the case's messages alone."""
    warms_up: bool = False
    """It can make a request whose answer is not counted, before a model's first trial."""
    offers_tools: bool = False
    """It offers the tools that a case names, and carries out what is called."""
    takes_turns: bool = False
    """A case may go on after the first answer."""
    has_workspace: bool = False
    """A trial leaves files, in which checks can look."""
    is_agent: bool = False
    """What a trial has left counts, however it ended: checks decide of a time-out too (D-E16)."""
    block: str = ""
    """Of an agent: the block of run profiles that says where it runs, and of suites that says which
    case has which."""
    place: str = ""
    """Of an agent: the module that opens where agents run (`open_place`), and asks them for their
    versions there (`ask_versions`)."""
    sees_hints: bool = False
    """It is told `input.context.openclaw` of a case."""


RUNNERS = Registry(
    "runners",
    RunnerKind,
    {
        "llm_probe": RunnerKind(
            "collect.runners.chat:LlmProbe", asks_once=True, warms_up=True, offers_tools=True
        ),
        "openclaw": RunnerKind(
            "collect.runners.openclaw.runner:OpenClaw",
            takes_turns=True,
            has_workspace=True,
            is_agent=True,
            block="openclaw",
            place="collect.runners.openclaw.install",
            sees_hints=True,
        ),
        "command": RunnerKind(
            "collect.runners.command.runner:CommandRunner",
            takes_turns=True,
            has_workspace=True,
            is_agent=True,
            block="agent",
            place="collect.runners.command.install",
        ),
    },
)
"""Every runner, as `runner.type` of a case names it; a new one is a file and an entry."""

AGENT_BLOCKS = ("openclaw", "agent")
"""What says in run profiles and suites where agents run."""


@dataclass(frozen=True)
class TraceFormat:
    """A form in which agents write their logs."""

    reads: str
    """`module:attribute` of what makes an AgentLog of files, by name."""
    is_nameless_on_stdout: bool = False
    """What is printed names neither answers nor calls: beside the wire each would count twice."""


TRACE_FORMATS = Registry(
    "trace_formats",
    TraceFormat,
    {
        "openclaw": TraceFormat("collect.runners.openclaw.log:read"),
        "claude": TraceFormat("schemas.formats.agent_logs.claude:read"),
        "codex": TraceFormat("schemas.formats.agent_logs.codex:read", is_nameless_on_stdout=True),
        "opencode": TraceFormat("schemas.formats.agent_logs.opencode:read"),
        "mini-swe-agent": TraceFormat("schemas.formats.agent_logs.mini_swe_agent:read"),
        "atif": TraceFormat("schemas.formats.agent_logs.atif:read"),
        "plain": TraceFormat("schemas.formats.agent_logs.plain:read"),
    },
)
"""By name, as `logs.format` of an agent has it."""
