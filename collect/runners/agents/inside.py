"""Command lines of agents as they run inside: environment, output in files, the way to the model.

Where an agent runs in bubblewrap, the collector itself listens on loopback inside; in a container a
few lines of JavaScript or Python do, and carry each connection to the socket of the trial's door.
What an agent prints goes to files: an answer may be longer than what is kept of a command's output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from collect.sandbox.base import Command
from collect.workspace import TMP
from collect.workspace.files import Tree, Unreadable
from schemas.formats.agent_logs.log import json_object

DOOR = "/run/benchlake"
"""Where the folder of the socket is bound, read-only: no command of the agent removes it."""

SOCKET = "model.sock"

PORT = 18_790
"""On which the model is asked inside; with the network of the host another one is."""

MAX_PRINTED_BYTES = 64_000_000

START = (
    *("/bin/sh", "-c"),
    'out=$1 err=$2; shift 2; while [ "$1" != -- ]; do export "$1"; shift; done; shift; '
    'exec "$@" >"$out" 2>"$err"',
    "sh",
)
"""For two files, variables, `--` and the command line."""

JAVASCRIPT = r"""
const net=require("net"),os=require("os"),cp=require("child_process");
const [socket,port,...argv]=process.argv.slice(1);
const fail=(code)=>(e)=>{process.stderr.write(String(e.message)+"\n");process.exit(code)};
const server=net.createServer({allowHalfOpen:true},(inner)=>{
  const outer=net.connect({path:socket,allowHalfOpen:true});
  const end=()=>{inner.destroy();outer.destroy()};
  inner.on("error",end);outer.on("error",end);
  inner.pipe(outer);outer.pipe(inner);
});
server.on("error",fail(126));
server.listen(Number(port),"127.0.0.1",()=>{
  const child=cp.spawn(argv[0],argv.slice(1),{stdio:"inherit"});
  child.on("error",fail(127));
  child.on("exit",(code,signal)=>process.exit(signal?128+os.constants.signals[signal]:code));
});
"""

PYTHON = r"""
import os,socket,subprocess,sys,threading
path,port,*argv=sys.argv[1:]
def carry(one,other):
    try:
        while data:=one.recv(65536): other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (one,other):
            try: end.shutdown(socket.SHUT_RDWR)
            except OSError: pass
def visit(inner):
    outer=socket.socket(socket.AF_UNIX)
    try: outer.connect(path)
    except OSError: inner.close(); return
    back=threading.Thread(target=carry,args=(outer,inner),daemon=True)
    back.start(); carry(inner,outer); back.join(); inner.close(); outer.close()
def serve(server):
    while True:
        inner,_=server.accept()
        threading.Thread(target=visit,args=(inner,),daemon=True).start()
server=socket.create_server(("127.0.0.1",int(port)),backlog=128)
threading.Thread(target=serve,args=(server,),daemon=True).start()
code=subprocess.call(argv)
os._exit(code if code>=0 else 128-code)
"""

FORWARDERS: Mapping[str, tuple[str, ...]] = {
    "node": ("node", "-e", JAVASCRIPT),
    "python3": ("python3", "-c", PYTHON),
}
"""What carries connections in a container, by the program that has to be in its image; each takes
the socket, the port, and the command line."""

Way = Literal["listener", "socket", "port"]
"""How the model is reached: on a socket of the collector's inside, through the door's socket, or on
a port of this machine."""


@dataclass(frozen=True, slots=True)
class Inside:
    """How commands are started where an agent runs."""

    way: Way = "listener"
    forwarder: tuple[str, ...] = ()
    """Of `socket`."""
    binds: tuple[tuple[str, str], ...] = ()
    """Of this machine's files, read-only."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(
        self,
        argv: Sequence[str],
        *,
        name: str,
        timeout_s: float,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        binds: Sequence[tuple[str, str]] = (),
        door: Path | None = None,
        network: bool = False,
    ) -> Command:
        """Return a command that starts a program of the agent's.

        Args:
            argv: as it is found inside.
            name: of the files in /tmp to which it prints.
            timeout_s: after which all of it is ended.
            environment: beside what every command is given.
            stdin: what it reads.
            binds: of this machine's files beside those of all, read-only.
            door: folder of the socket by which the model is asked; None: it is not asked.
            network: it may reach more than that.
        """
        variables = {**self.environment, **(environment or {})}
        words = (f"{TMP}/{name}.out", f"{TMP}/{name}.err")
        line = (*START, *words, *(f"{key}={one}" for key, one in variables.items()), "--", *argv)
        binds = (*self.binds, *binds)
        if door is not None and self.way == "socket":
            line = (*self.forwarder, f"{DOOR}/{SOCKET}", str(PORT), *line)
            binds = (*binds, (str(door), DOOR))
        return Command(
            argv=line,
            stdin=stdin,
            network=network,
            timeout_s=timeout_s,
            port=PORT if door is not None and self.way == "listener" else None,
            binds=binds,
        )


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command of an agent's has printed."""

    out: str
    err: str

    @property
    def payload(self) -> dict[str, object] | None:
        """The JSON object on standard output; None: there is none."""
        return json_object(self.out)


def read_printed(tmp: Path, name: str) -> Printed:
    """Return what a command of `Inside` has printed, as far as it can be read."""
    tree = Tree(tmp)
    return Printed(*(_text(tree, f"{name}.{end}") for end in ("out", "err")))


def _text(tree: Tree, name: str) -> str:
    try:
        return tree.content(name, MAX_PRINTED_BYTES).decode("utf-8", "replace")
    except Unreadable:
        return ""
