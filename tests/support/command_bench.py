"""A project whose cases run with an agent by configuration against a scripted model."""

import sys

from tests.support.agent_bench import AgentBench

AGENT = """
import json, os, subprocess, sys, urllib.request

def ask(messages):
    body = {"model": os.environ["MODEL"], "messages": messages, "stream": True}
    headers = {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"}
    url = os.environ["BASE"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    text, calls = "", {}
    for line in urllib.request.urlopen(request, timeout=60):
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                calls[call["index"]] = call
    return text, list(calls.values())

def act(call):
    given = json.loads(call["function"]["arguments"])
    if call["function"]["name"] == "write":
        with open(given["path"], "w") as file:
            file.write(given["content"])
        return "written"
    done = subprocess.run(given["command"], shell=True, capture_output=True, text=True)
    return done.stdout + done.stderr

past = os.path.expanduser("~/past.json")
messages = json.load(open(past)) if os.path.exists(past) else []
messages.append({"role": "user", "content": open(sys.argv[1]).read() if len(sys.argv) > 1 else sys.stdin.read()})
while True:
    text, calls = ask(messages)
    messages.append({"role": "assistant", "content": text, "tool_calls": calls})
    for call in calls:
        result = {"role": "tool", "tool_call_id": call["id"], "content": act(call)}
        messages.append(result)
    if not calls:
        break
json.dump(messages, open(past, "w"))
print(text)
"""  # noqa: E501
"""An agent in 40 lines: tools, a session in its home, the answer on standard output."""

ENVIRONMENT = {"BASE": "{base_url}", "KEY": "{api_key}", "MODEL": "{model}"}
COMMAND = {
    "argv": ["python3", "{program}/agent.py"],
    "next_argv": ["python3", "{program}/agent.py"],
    "prompt": "stdin",
    "environment": ENVIRONMENT,
    "version": ["python3", "--version"],
}


class CommandBench(AgentBench):
    """Runs the agent of `AGENT`, or another one, in bwrap."""

    def __init__(self, root):
        super().__init__(root, None)
        self.agent(COMMAND, {"agent.py": AGENT})

    def agent(self, command, program=(), agent_id="own"):
        """Write an agent; `command` is its block, `program` the files of its folder."""
        self.write(f"configs/agents/{agent_id}/agent.yaml", {
            "schema_version": 1, "agent_id": agent_id, "title": agent_id, "command": command,
        })  # fmt: skip
        for name, text in dict(program).items():
            self.write(f"configs/agents/{agent_id}/program/{name}", text)

    def profile(self, repetitions=1, concurrency=4, **block):
        """Write the run profile; the Python of these tests is among its programs."""
        base = {"agent_id": "own", "executable": "local", "timeout_seconds": 60,
                "programs": [sys.base_prefix]}  # fmt: skip
        agent = {name: one for name, one in (base | block).items() if one is not None}
        self.write("configs/run_profiles/p.yaml", {
            "schema_version": 1, "run_profile_id": "p", "title": "P",
            "execution_policy": {"max_concurrency": concurrency, "run_repetitions": repetitions},
            "runner_defaults": {"retries": 0}, "agent": agent,
        })  # fmt: skip

    def case(self, case_id, *turns, **fields):
        """Write a case of the agent."""
        super().case(case_id, *turns, **({"runner": {"type": "command"}} | fields))
