"""What becomes of a trial when its place, its disk or its server fails; its agent is a function."""

import asyncio
import itertools
import json
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from collect.http_client.pool import CompletionQueue
from collect.limits import Gate, Limiter
from collect.plan.plan import make_plan
from collect.runners.agents.inside import Inside
from collect.runners.agents.place import AgentPlace
from collect.runners.agents.template import make_template
from collect.runners.base import RunnerContext
from collect.runners.loop_clock import LoopClock
from collect.runners.openclaw.command import CONFIG, STATE
from collect.runners.openclaw.runner import OpenClaw
from collect.sandbox.base import Completed, Folders, Output, SandboxError
from collect.workspace.record import keep_workspace
from collect.workspace.snapshot import Budget
from tests.support.endpoint import chunk, sse, usage

EMPTY = Output(b"", 0)


def ended(code=0, ended_by="exit"):
    return Completed(exit_code=code, signal=None, ended_by=ended_by, stdout=EMPTY, stderr=EMPTY,
                     wall_ms=5)  # fmt: skip


class Place:
    """A sandbox in which a function of the test is the agent."""

    def __init__(self, root, agent):
        self.root, self.agent = root, agent
        self.calls = Counter()
        self.fails = {}
        self.validated = {"valid": True}

    async def folders(self):
        self.calls["folders"] += 1
        if (wrong := self.fails.get("folders")) is not None:
            raise wrong
        trial = self.root / f"trial-{self.calls['folders']}"
        for part in ("workspace", "home", "tmp"):
            (trial / part).mkdir(parents=True)
        return Folders(trial / "workspace", trial / "home", trial / "tmp")

    async def run(self, folders, command, serve=None):
        if "validate" in command.argv:
            self.calls["validate"] += 1
            await asyncio.sleep(0.02)
            (folders.tmp / "validate.out").write_text(json.dumps(self.validated))
            return ended(0 if self.validated["valid"] else 1)
        self.calls["turns"] += 1
        if (wrong := self.fails.get("run")) is not None:
            raise wrong
        text, completed = await self.agent(folders, command)
        number = self.calls["turns"]
        name = next(one for one in command.argv if one.endswith(".out")).rpartition("/")[2]
        said = {"payloads": [{"text": text}]} if text is not None else {}
        (folders.tmp / name).write_text(json.dumps(said) if number else "")
        return completed

    async def keep(self, folders, target, named=(), before=None):
        if (wrong := self.fails.get("keep")) is not None:
            raise wrong
        budget = Budget(size=1 << 30, files=1_000, file_size=1 << 30)
        return keep_workspace(folders.workspace, target, budget, named=named, before=before)

    async def remove(self, folders):
        self.calls["removed"] += 1


async def asked(folders, n=1, **fields):
    """Ask the model as an agent does, over the socket of its trial; return the statuses."""
    config = json.loads((folders.home / CONFIG).read_text())
    (service,) = config["models"]["providers"].values()

    async def one():
        reader, writer = await asyncio.open_unix_connection(
            str(folders.workspace.parent / "door/model.sock")
        )
        body = {"model": "x", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        raw = json.dumps(body | fields).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nConnection: close\r\n"
            f"Authorization: Bearer {service['apiKey']}\r\nContent-Length: {len(raw)}\r\n\r\n"
        )
        writer.write(head.encode() + raw)
        status = int((await reader.readline()).split()[1])
        await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        return status

    return await asyncio.gather(*(one() for _ in range(n)))


async def simple(folders, command):
    await asked(folders)
    return "Hello.", ended()


@pytest.fixture
def ran(project, endpoint, tmp_path):
    """Run one case, and return the executions of its trials and the place."""

    def run(agent=simple, *, repetitions=1, prepare=lambda place: None, case=None, **model):
        project.write("configs/agents/a/agent.yaml",
                      {"schema_version": 1, "agent_id": "a", "title": "A"})  # fmt: skip
        project.write("configs/agents/a/workspace/SOUL.md", "x")
        project.case(**({"runner": {"type": "openclaw"}} | (case or {})))
        project.model(provider="openai_chat", base_url=endpoint.base_url, **model)
        block = {"agent_id": "a", "image": "i:1", "timeout_seconds": 20}
        project.profile(openclaw=block, execution_policy={"run_repetitions": repetitions,
                                                         "max_concurrency": 8})  # fmt: skip
        inputs = project.load()
        place = Place(tmp_path / "place", agent)
        prepare(place)
        run_dir = tmp_path / "run"
        run_dir.mkdir()
        loaded = inputs.loaded_agents["a"]
        host = AgentPlace(
            inputs.profile.openclaw, place, Inside(way="socket"), {"a": loaded}, {"one": "a"},
            {"a": "2026.5.28"}, {"a": make_template(loaded, tmp_path / "template")},
        )  # fmt: skip

        async def trials():
            clock = LoopClock()
            context = RunnerContext(run_dir, clock, CompletionQueue(), hosts={"openclaw": host})
            runner = OpenClaw(inputs.models[0], context)
            limiter = Limiter(Gate(8), 8, inputs.models[0].requests_per_minute)
            place.limiter = limiter

            async def one(trial):
                slot = await limiter.enter()
                try:
                    return await runner.run(trial, inputs.cases[0], slot)
                finally:
                    slot.leave()

            async with clock:
                try:
                    return await asyncio.gather(*map(one, make_plan(inputs, "r")))
                finally:
                    await runner.aclose()

        return SimpleNamespace(trials=asyncio.run(trials()), place=place, run_dir=run_dir)

    return run


def test_a_trial_is_answered_and_its_folders_go(ran, endpoint):
    found = ran(temperature=0.5, max_tokens=9)

    (trial,) = found.trials
    assert (trial.outcome.text, trial.outcome.failure_type) == ("Hello.", None)
    assert (trial.turns_completed, trial.ended_by, trial.attempt_count) == (1, "exit", 1)
    assert trial.outcome.usage.input_tokens == 7
    assert {"set_up", "agent", "keep"} <= trial.phases.keys()
    assert found.place.calls["removed"] == 1
    (request,) = endpoint.requests
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.5, 9)
    assert request.body["model"] == "r"


def test_one_configuration_is_checked_once(ran):
    found = ran(repetitions=6)

    assert found.place.calls["validate"] == 1
    assert all(one.outcome.failure_type is None for one in found.trials)


def test_a_configuration_that_is_refused_is_told_by_name(ran):
    refused = {"valid": False, "issues": [{"path": "agents.x", "message": "Unknown"}]}
    found = ran(prepare=lambda place: setattr(place, "validated", refused), repetitions=3)

    for trial in found.trials:
        assert trial.outcome.failure_type == "config_invalid"
        assert trial.outcome.error_message.endswith("agent `a`: agents.x: Unknown")
    assert found.place.calls["turns"] == 0


@pytest.mark.parametrize("where", ["folders", "run"])
def test_a_place_that_is_gone_is_no_fault_of_the_models(ran, where):
    wrong = SandboxError("the helper ended")
    found = ran(prepare=lambda place: place.fails.update({where: wrong}), retries=0)

    (trial,) = found.trials
    assert trial.outcome.failure_type == "container_error"
    assert "the helper ended" in trial.outcome.error_message
    assert trial.attempt_count == 0


def test_a_disk_that_is_full_costs_the_files_and_not_what_was_paid_for(ran):
    full = OSError(28, "No space left on device")
    found = ran(prepare=lambda place: place.fails.update(keep=full))

    (trial,) = found.trials
    assert trial.outcome.failure_type == "container_error"
    assert trial.outcome.usage.input_tokens == 7
    assert (trial.workspace, trial.attempt_count) == (None, 1)
    assert any(one["event_type"] == "message" for one in trial.trace)


def test_what_fails_before_a_word_is_tried_again_and_all_requests_are_counted(ran, endpoint):
    def script(wire, request):
        if len(endpoint.requests) < 3:
            wire.answer({"error": "busy"}, status=503)
        else:
            endpoint.answers(wire, request)

    endpoint.answers, endpoint.script = endpoint.script, script

    async def agent(folders, command):
        (status,) = await asked(folders)
        return ("Hello.", ended()) if status == 200 else (None, ended(1))

    found = ran(agent, retries=5)

    (trial,) = found.trials
    assert (trial.outcome.failure_type, trial.attempt_count) == (None, 3)
    assert found.place.calls["folders"] == found.place.calls["removed"] == 3
    retries = [one for one in trial.trace if one.get("name") == "retry_scheduled"]
    assert [one["detail"]["failure_type"] for one in retries] == ["http_503", "http_503"]


def test_what_fails_after_a_word_is_not_a_second_chance(ran, endpoint):
    async def agent(folders, command):
        await asked(folders)
        return None, ended(1)

    (trial,) = ran(agent, retries=5).trials

    assert trial.outcome.failure_type == "agent_error"
    assert trial.outcome.failure.counts_against_model
    assert trial.attempt_count == 1


def test_what_ends_before_the_model_said_a_word_is_not_the_models(ran):
    async def agent(folders, command):
        return None, ended(1)

    (trial,) = ran(agent).trials

    assert trial.outcome.failure_type == "cli_error"
    assert not trial.outcome.failure.counts_against_model


@pytest.mark.parametrize("limit", ["memory", "processes", "workspace", "output"])
def test_a_limit_is_the_models_and_not_tried_again(ran, limit):
    async def agent(folders, command):
        return None, ended(None, limit)

    found = ran(agent, retries=5)

    (trial,) = found.trials
    assert (trial.outcome.failure_type, trial.outcome.error_code) == ("limit_exceeded", limit)
    assert trial.ended_by == limit
    assert found.place.calls["turns"] == 1


@pytest.mark.parametrize(("asks", "cause"), [(True, "model"), (False, "provider")])
def test_whose_a_time_out_is_hangs_on_whether_the_server_heard(ran, asks, cause):
    async def agent(folders, command):
        if asks:
            await asked(folders)
        return None, ended(None, "time")

    (trial,) = ran(agent, retries=5).trials

    assert trial.outcome.failure_type == "timeout"
    assert trial.outcome.failure.cause == cause


ANSWERED, FAILED = "answered", "failed"


@pytest.mark.parametrize(
    ("turns", "failure", "cause"),
    [
        ([[FAILED, FAILED]], "http_500", "provider"),
        ([[ANSWERED], [FAILED, FAILED]], "http_500", "provider"),
        ([[ANSWERED], [ANSWERED, FAILED]], "timeout", "model"),
        ([[FAILED, ANSWERED]], "timeout", "model"),
        ([[FAILED, ANSWERED], []], "timeout", "model"),
    ],
)
def test_time_that_goes_by_with_failures_of_the_server_is_the_servers(
    ran, endpoint, turns, failure, cause
):
    """The last turn never ends; the ones before it do."""
    answers = iter([one for turn in turns for one in turn])

    def script(wire, request):
        if next(answers) == FAILED:
            wire.answer({"error": "broken"}, status=500)
        else:
            endpoint.answers(wire, request)

    endpoint.answers, endpoint.script = endpoint.script, script
    left = [len(turn) for turn in turns]

    async def agent(folders, command):
        for _ in range(left.pop(0)):
            await asked(folders)
        return "Hello.", ended(None, "time") if not left else ended()

    case = {"input": {"turns": [{"role": "user", "content": "hi"} for _ in turns]}}

    (trial,) = ran(agent, case=case, retries=5).trials

    assert (trial.outcome.failure_type, trial.ended_by) == (failure, "time")
    assert trial.outcome.failure.cause == cause


def test_a_flood_of_requests_waits_for_its_turn(ran, endpoint):
    at_once, most = Counter(), []

    def script(wire, request):
        at_once["now"] += 1
        most.append(at_once["now"])
        wire.sleep(0.05)
        at_once["now"] -= 1
        endpoint.answers(wire, request)

    endpoint.answers, endpoint.script = endpoint.script, script

    async def agent(folders, command):
        assert set(await asked(folders, n=40)) == {200}
        return "Hello.", ended()

    (trial,) = ran(agent).trials

    assert trial.attempt_count == 40
    assert max(most) <= 16


def test_who_does_not_know_the_password_asks_nothing(ran, endpoint):
    async def agent(folders, command):
        path = folders.home / CONFIG
        config = json.loads(path.read_text())
        (service,) = config["models"]["providers"].values()
        service["apiKey"] = "guessed"
        path.write_text(json.dumps(config))
        assert await asked(folders) == [401]
        return "Hello.", ended()

    (trial,) = ran(agent).trials

    assert endpoint.requests == []
    assert trial.attempt_count == 0


@pytest.mark.parametrize(
    ("content", "said"), [("x" * 140_000, "131,000 bytes"), ("a\0b", "holds a NUL")]
)
def test_a_turn_that_no_command_line_takes_is_refused_before_it_is_sent(ran, content, said):
    case = {"input": {"messages": [{"role": "user", "content": content}]}}

    found = ran(case=case)

    (trial,) = found.trials
    assert trial.outcome.failure_type == "invalid_messages"
    assert said in trial.outcome.error_message
    assert found.place.calls["turns"] == 0


def test_the_pace_of_a_model_holds_from_the_first_requests_on(ran, endpoint):
    asked_at = []

    def script(wire, request):
        asked_at.append(time.monotonic())
        endpoint.answers(wire, request)

    endpoint.answers, endpoint.script = endpoint.script, script

    async def agent(folders, command):
        assert await asked(folders, n=3) == [200, 200, 200]
        return "Hello.", ended()

    ran(agent, requests_per_minute=300)

    gaps = [after - before for before, after in itertools.pairwise(sorted(asked_at))]
    assert min(gaps) > 0.1  # 0.2 s, less what a busy machine loses


def test_a_run_that_is_stopped_lets_an_agent_finish_at_its_pace(ran):
    places = []

    async def agent(folders, command):
        await asked(folders)
        places[0].limiter.close()
        assert await asked(folders) == [200]
        return "Hello.", ended()

    (trial,) = ran(agent, requests_per_minute=600, prepare=places.append).trials

    assert (trial.outcome.failure_type, trial.attempt_count) == (None, 2)


def test_a_request_that_nobody_can_write_again_is_refused(ran, endpoint):
    async def agent(folders, command):
        deep = []
        for _ in range(300):
            deep = [deep]
        assert await asked(folders, metadata=deep) == [400]
        return "Hello.", ended()

    ran(agent)

    assert endpoint.requests == []


def test_names_that_an_agent_chose_are_no_reason_to_lose_its_files(ran):
    name = "\U0001d400" * 62

    async def agent(folders, command):
        await asked(folders)
        sessions = folders.home / STATE / "agents/a/sessions"
        sessions.mkdir(parents=True)
        own = command.argv[command.argv.index("--session-id") + 1]
        index = {"k": {"sessionId": own}, "c": {"sessionId": name, "spawnedBy": "k"}}
        (sessions / "sessions.json").write_text(json.dumps(index))
        for one in (own, name):
            (sessions / f"{one}.jsonl").write_text('{"type":"session"}\n')
        return "Hello.", ended()

    found = ran(agent)

    (trial,) = found.trials
    assert trial.outcome.failure_type is None
    kept = [one.name for one in (found.run_dir / trial.workspace / "agent").iterdir()]
    assert f"session-{'_' * 62}.jsonl" in kept


def test_what_an_agent_prints_does_not_grow_by_its_depth(ran):
    depth = 180
    deep = "[" * depth + "1," * 600_000 + "1" + "]" * depth

    async def agent(folders, command):
        await asked(folders)
        return "Hello.", ended()

    def prints(place):
        run = place.run

        async def printed(folders, command, serve=None):
            completed = await run(folders, command)
            if "validate" not in command.argv:
                (folders.tmp / "turn-1.out").write_text(
                    f'{{"payloads": [{{"text": "a"}}], "x": {deep}}}'
                )
            return completed

        place.run = printed

    found = ran(agent, prepare=prints)

    (trial,) = found.trials
    path = found.run_dir / trial.workspace / "agent" / "raw_session_trace.json"
    assert path.stat().st_size < 2_000_000


def test_an_answer_that_only_thought_is_paid_for_and_not_asked_again(ran, endpoint):
    def script(wire, request):
        thought = {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}
        wire.stream(sse(thought, chunk(finish="length"), {"choices": [], "usage": usage(7, 50)}))

    endpoint.script = script

    async def agent(folders, command):
        await asked(folders)
        return None, ended(1)

    (trial,) = ran(agent, retries=2).trials

    assert trial.outcome.failure_type == "agent_error"
    assert (trial.attempt_count, trial.outcome.usage.output_tokens) == (1, 50)
