"""A model that searches the web in a run: what it reads, what is kept, and whose an outage is."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.endpoint import Endpoint
from tests.support.kept_run import Kept, collect
from tests.support.tool_endpoint import ToolModel

SUITE = ("--suite", "s", "--run-profile", "p")

HITS = [
    {"title": "Lighthouses", "url": "https://en.example.org/lighthouse", "content": "Tall."},
    {"title": "Answers of gold-bench", "url": "https://leak.example.org/", "content": "42"},
    {"title": "Data", "url": "https://data.example.net/gold.json", "content": "all of it"},
]


@pytest.fixture
def engine():
    engine = Endpoint()
    engine.queries = []

    def answer(wire, request):
        engine.queries.append(parse_qs(urlsplit(request.line.split()[1]).query)["q"][0])
        wire.answer({"query": "q", "results": HITS, "unresponsive_engines": []})

    engine.script = answer
    yield engine
    engine.close()


@pytest.fixture
def work(project, endpoint, engine):
    endpoint.script = ToolModel([("web_search", {"query": "tallest lighthouse"})], text="Jeddah")
    context = {"llm_probe": {"tools": ["web_search"]}}
    messages = [{"role": "user", "content": "Which is the tallest lighthouse?"}]
    project.case(
        "light", input={"messages": messages, "context": context},
        validator={"type": "exact", "value": "Jeddah"},
    )  # fmt: skip
    project.model(base_url=endpoint.base_url)
    project.profile(runner_defaults={"retries": 0})
    url = engine.base_url.replace("/v1", "/search")
    search = {"url": url, "blocked": ["gold-bench", "data.example.net"]}
    project.write("benchlake.yaml", {"schema_version": 1, "tools": {"web_search": search}})
    return project


def result_of(work):
    kept = Kept(work.root / "runs" / "r")
    row = kept.results()[-1]
    events = [one for one in kept.artifact(row).trace if one.event_type == "tool_result"]
    return row, events[0]


def test_a_model_reads_what_was_found_and_nothing_of_what_was_kept_back(work, endpoint, engine):
    done = collect(work.root, "run", *SUITE, "--run-id", "r")

    assert done.returncode == 0, done.stderr
    row, event = result_of(work)
    assert (row["passed"], row["tool_calls"]) == (True, ["web_search"])
    assert engine.queries == ["tallest lighthouse"]
    message = json.loads(endpoint.requests[1].body["messages"][2]["content"])
    assert message["status"] == "success"
    assert [hit["url"] for hit in message["output"]["results"]] == [HITS[0]["url"]]
    assert "drop" not in json.dumps(message)
    assert {hit["url"]: hit["names"] for hit in event.output["dropped"]} == {
        HITS[1]["url"]: "gold-bench", HITS[2]["url"]: "data.example.net",
    }  # fmt: skip
    assert json.loads((work.root / "runs/r/config.json").read_text())["sandbox"] is None


def test_without_an_address_no_model_is_asked(work, endpoint):
    (work.root / "benchlake.yaml").unlink()

    for command in ("plan", "run", "validate"):
        done = collect(work.root, command, *(() if command == "validate" else SUITE))
        assert done.returncode == 2
        said = done.stdout + done.stderr
        assert "light/test.yaml" in said
        assert "`web_search` is offered, and no benchlake.yaml says where to search" in said
        assert "tools: {web_search: {url: http" in said
    assert endpoint.requests == []


def test_an_outage_is_nobodys_failure_and_is_made_again(work, endpoint, engine):
    answers, engine.script = engine.script, lambda wire, request: wire.answer({}, status=502)

    done = collect(work.root, "run", *SUITE, "--run-id", "r")

    assert done.returncode == 1, done.stderr
    row, event = result_of(work)
    assert (row["failure_type"], row["passed"]) == ("tool_unavailable", None)
    assert "the search endpoint answers: HTTP 502" in row["error_message"]
    assert event.status == "error"
    assert len(endpoint.requests) == 1, "the trial has ended"

    engine.script = answers
    done = collect(work.root, "run", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert result_of(work)[0]["passed"] is True


def test_a_run_goes_on_only_where_searches_are_asked_as_before(work, endpoint, engine):
    endpoint_answers = endpoint.script
    endpoint.script = lambda wire, request: wire.answer({"error": {"message": "no"}}, status=503)
    collect(work.root, "run", *SUITE, "--run-id", "r")
    endpoint.script = endpoint_answers
    asked = len(endpoint.requests)
    other = {"url": "http://127.0.0.1:9/search", "max_results": 1}
    work.write("benchlake.yaml", {"schema_version": 1, "tools": {"web_search": other}})

    done = collect(work.root, "run", "--resume", "r")

    assert done.returncode == 2, done.stderr
    assert "the tools of case `light` changed since it was planned" in done.stderr
    assert len(endpoint.requests) == asked
