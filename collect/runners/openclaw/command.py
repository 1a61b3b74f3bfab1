"""What openclaw is told in each turn (D-E16), its command lines inside, and what it printed.

Inside there is no network but loopback: a few lines of JavaScript listen there, carry each
connection to the socket of the trial's door, and run openclaw. What it prints goes to files, of
which one answer may be longer than what the sandbox keeps of a command's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from collect.config import LoadedCase
from collect.config.resolved import WireMessage
from collect.runners.agents.log import json_object
from collect.sandbox.base import Command
from collect.workspace import TMP
from collect.workspace.files import Tree, Unreadable

FORWARD = r"""
const net=require("net"),fs=require("fs"),os=require("os"),cp=require("child_process");
const [socket,port,out,err,...argv]=process.argv.slice(1);
const fail=(code)=>(e)=>{process.stderr.write(String(e.message)+"\n");process.exit(code)};
const server=net.createServer({allowHalfOpen:true},(inner)=>{
  const outer=net.connect({path:socket,allowHalfOpen:true});
  const end=()=>{inner.destroy();outer.destroy()};
  inner.on("error",end);outer.on("error",end);
  inner.pipe(outer);outer.pipe(inner);
});
server.on("error",fail(126));
server.listen(Number(port),"127.0.0.1",()=>{
  const child=cp.spawn(argv[0],argv.slice(1),
    {stdio:["ignore",fs.openSync(out,"w"),fs.openSync(err,"w")],env:{...process.env,
     OPENCLAW_CONFIG_PATH:process.env.HOME+"/.openclaw/openclaw.json",
     OPENCLAW_STATE_DIR:process.env.HOME+"/.openclaw",NO_COLOR:"1"}});
  child.on("error",fail(127));
  child.on("exit",(code,signal)=>process.exit(signal?128+os.constants.signals[signal]:code));
});
"""
"""For `node -e`: socket, port, two files, and the command line."""

STATE = ".openclaw"
"""Below the home."""

CONFIG = f"{STATE}/openclaw.json"
DOOR = "/run/benchlake"
"""Where the folder of the socket is bound, read-only: no command of the agent removes it."""

SOCKET = "model.sock"

PORT = 18_790
"""On which the model is asked inside; with the network of the host a free one is taken."""

MAX_PRINTED_BYTES = 64_000_000
MAX_SAID_CHARS = 2_000

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

HINTS = "[openclaw_hints]"

MAX_MESSAGE_BYTES = 131_000
"""Of one turn: Linux takes no longer word on a command line (MAX_ARG_STRLEN)."""

NOT_FOUND = 127
"""Exit code of `node` or `openclaw` that is not there."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where node and openclaw are found inside, and what is bound there from this machine."""

    node: str = "node"
    openclaw: tuple[str, ...] = ("openclaw",)
    binds: tuple[tuple[str, str], ...] = ()

    def command(
        self,
        arguments: tuple[str, ...],
        *,
        name: str,
        timeout_s: float,
        door: Path | None = None,
        port: int = PORT,
        network: bool = False,
    ) -> Command:
        """Return the command that runs openclaw, with the way to the model beside it.

        Args:
            arguments: of openclaw.
            name: of the files in /tmp to which it prints.
            timeout_s: after which all of it is ended.
            door: folder of the socket by which the model is asked; None: it is not asked.
            port: on which the model is asked.
            network: it may reach more than that.
        """
        files = (f"{DOOR}/{SOCKET}", str(port), f"{TMP}/{name}.out", f"{TMP}/{name}.err")
        return Command(
            argv=(self.node, "-e", FORWARD, *files, *self.openclaw, *arguments),
            network=network,
            timeout_s=timeout_s,
            binds=self.binds if door is None else (*self.binds, (str(door), DOOR)),
        )


def turns_of(case: LoadedCase) -> list[str]:
    """Return the text of each turn, of which there is at least one.

    Messages come before the first turn, or are one; attachments are among them.
    """
    rendered = [_rendered(number, one) for number, one in enumerate(case.messages, start=1)]
    turns = [turn["content"] for turn in case.turns]
    first = [*rendered, *turns[:1], *_hints(case)]
    return ["\n\n".join(first), *turns[1:]]


def message_problem(turns: Sequence[str]) -> str:
    """Return why a turn cannot be a word of a command line; empty: each can."""
    if any("\0" in text for text in turns):
        return "a turn holds a NUL, which no command line takes"
    if any(len(text.encode("utf-8", "replace")) > MAX_MESSAGE_BYTES for text in turns):
        return f"a turn is longer than {MAX_MESSAGE_BYTES:,} bytes, which no command line takes"
    return ""


def _rendered(number: int, message: WireMessage) -> str:
    name = f" ({message['name']})" if message.get("name") else ""
    return f"[{number}] {message['role']}{name}: {message['content']}"


def _hints(case: LoadedCase) -> Iterator[str]:
    hints = case.context.openclaw.model_dump(mode="json", exclude_none=True)
    if hints:
        yield f"{HINTS}\n{orjson.dumps(hints).decode()}"


def turn_arguments(agent: str, session_id: str, text: str, timeout_s: float) -> tuple[str, ...]:
    """Return the arguments of one turn; our own limit is the one that ends it, just before."""
    return (
        *("agent", "--local", "--json", "--agent", agent, "--session-id", session_id),
        *("--timeout", str(round(timeout_s) + 60), "--message", text),
    )


@dataclass(frozen=True, slots=True)
class Printed:
    """What openclaw has printed."""

    out: str
    err: str
    payload: Mapping[str, Any] | None
    """The JSON object on standard output; None: there is none."""

    @property
    def text(self) -> str:
        """What the agent answered last; empty: nothing."""
        if self.payload is None:
            return ""
        meta = self.payload.get("meta")
        visible = meta.get("finalAssistantVisibleText") if isinstance(meta, dict) else None
        if isinstance(visible, str) and visible.strip():
            return visible
        said = self.payload.get("payloads")
        texts = (
            [one.get("text") for one in said if isinstance(one, dict)]
            if isinstance(said, list)
            else []
        )
        return next((one for one in reversed(texts) if isinstance(one, str) and one.strip()), "")

    @property
    def problem(self) -> str:
        """The last line of standard error that says something."""
        lines = [line.strip() for line in ANSI.sub("", self.err).splitlines()]
        return next((line for line in reversed(lines) if line), "")[:MAX_SAID_CHARS]


def read_printed(tmp: Path, name: str) -> Printed:
    """Return what a command of `Programs` has printed, as far as it can be read."""
    tree = Tree(tmp)
    out, err = (_text(tree, f"{name}.{end}") for end in ("out", "err"))
    return Printed(out, err, json_object(out))


def _text(tree: Tree, name: str) -> str:
    try:
        return tree.content(name, MAX_PRINTED_BYTES).decode("utf-8", "replace")
    except Unreadable:
        return ""


def version_of(text: str) -> str:
    """Return the version that openclaw says; empty: none is in the text."""
    found = re.search(r"\b(\d{4}\.\d+\.\d+\S*)(?: \(([0-9a-f]+)\))?", text)
    return "" if found is None else found[1]


def config_problems(printed: Printed) -> str:
    """Return what openclaw says against its configuration, in one line."""
    issues = (printed.payload or {}).get("issues")
    if isinstance(issues, list):
        said = [
            f"{one.get('path') or 'openclaw.json'}: {one.get('message')}"
            for one in issues
            if isinstance(one, dict)
        ]
        if said:
            return "; ".join(said)[:MAX_SAID_CHARS]
    return printed.problem or "no reason given"
