"""A search as a model makes it, of an endpoint on loopback: what comes back, and whose failure."""

import asyncio
import gzip
import json
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
import zstandard

from collect.config.tools import TOOLS
from collect.runners.tools import web_search
from collect.runners.tools.web_search import DroppedHit, SearchHit, WebSearch
from schemas.config.tools import WebSearchSettings
from tests.support.interpreter import run_without


def row(n=1, **fields):
    """Return a result as SearXNG writes one."""
    return {
        "title": f"Page {n}",
        "url": f"https://example.org/{n}",
        "content": f"Text of page {n}.",
        "engine": "brave",
        "engines": ["brave"],
        "score": 1.5,
        "category": "general",
    } | fields


def answer(*rows, **fields):
    """Return an answer as SearXNG writes one."""
    return {
        "query": "q",
        "number_of_results": 0,
        "results": list(rows),
        "answers": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    } | fields


def in_turn(*scripts):
    """Return a script that does one thing at each request, and the last of them from then on."""
    left = list(scripts)

    def script(wire, request):
        (left.pop(0) if len(left) > 1 else left[0])(wire, request)

    return script


def says(body, **fields):
    return lambda wire, request: wire.answer(body, **fields)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(web_search, "PAUSE_S", 0.01)


@pytest.fixture
def search(endpoint):
    """Search once, or several times one after another, with what an endpoint is scripted with."""

    def ask(*queries, script=None, of_suite=(), **settings):
        if script is not None:
            endpoint.script = script
        fields = {"url": f"http://127.0.0.1:{endpoint.port}/search"} | settings

        async def made():
            tool = WebSearch(WebSearchSettings(**fields), of_suite)
            try:
                return [await tool.search(query) for query in queries or ("cats",)]
            finally:
                await tool.aclose()

        outcomes = asyncio.run(made())
        return outcomes if len(queries) > 1 else outcomes[0]

    return ask


def asked(endpoint, number=0):
    """Return path and parameters of a request."""
    method, target, _ = endpoint.requests[number].line.split(" ")
    parts = urlsplit(target)
    return f"{method} {parts.path}", parse_qs(parts.query, strict_parsing=True)


# ---- what comes back


def test_results_are_titles_addresses_and_snippets(search, endpoint):
    outcome = search("what is a cat?", script=says(answer(row(1), row(2))))

    assert asked(endpoint) == ("GET /search", {"q": ["what is a cat?"], "format": ["json"]})
    assert outcome.results == (
        SearchHit("Page 1", "https://example.org/1", "Text of page 1."),
        SearchHit("Page 2", "https://example.org/2", "Text of page 2."),
    )
    assert (outcome.error, outcome.is_outage, outcome.tries) == (None, False, 1)
    assert outcome.shown() == {
        "query": "what is a cat?",
        "results": [
            {
                "title": f"Page {n}",
                "url": f"https://example.org/{n}",
                "snippet": f"Text of page {n}.",
            }
            for n in (1, 2)
        ],
    }


def test_no_results_are_an_answer(search):
    outcome = search(script=says(answer()))

    assert outcome.shown() == {"query": "cats", "results": []}
    assert not outcome.is_outage


@pytest.mark.parametrize(("settings", "n"), [({}, 5), ({"max_results": 2}, 2)])
def test_a_model_sees_so_many_results(search, settings, n):
    outcome = search(script=says(answer(*map(row, range(9)))), **settings)

    assert [hit.title for hit in outcome.results] == [f"Page {number}" for number in range(n)]


def test_dropped_results_make_room_and_are_told_to_the_trace_alone(search):
    rows = [
        row(1, title="Some_Benchmark"),
        row(2),
        row(3, url="https://sub.data.example/x"),
        row(4),
    ]

    outcome = search(
        script=says(answer(*rows)),
        max_results=2,
        blocked=["Some benchmark"],
    )
    by_host = search(script=says(answer(*rows)), blocked=["data.example"])

    assert [hit.title for hit in outcome.results] == ["Page 2", "Page 3"]
    assert outcome.dropped == (DroppedHit("https://example.org/1", "Some benchmark"),)
    assert by_host.dropped == (DroppedHit("https://sub.data.example/x", "data.example"),)
    assert "dropped" not in outcome.shown()
    assert "enchmark" not in json.dumps(outcome.shown())
    traced = json.loads(json.dumps(outcome.traced()))
    assert traced["dropped"] == [{"url": "https://example.org/1", "names": "Some benchmark"}]
    assert traced["results"] == outcome.shown()["results"]


def test_the_settings_block_beside_the_suite(search):
    rows = [row(1, title="alpha bench"), row(2, title="beta bench"), row(3)]

    outcome = search(script=says(answer(*rows)), blocked=["alpha bench"], of_suite=["beta bench"])

    assert [hit.names for hit in outcome.dropped] == ["alpha bench", "beta bench"]
    assert [hit.title for hit in outcome.results] == ["Page 3"]


def test_a_name_beyond_what_is_shown_of_a_snippet_counts(search):
    far = row(1, content="word " * 1_000 + "some-benchmark")

    outcome = search(script=says(answer(far)), blocked=["some benchmark"])

    assert (outcome.results, len(outcome.dropped)) == ((), 1)


def test_texts_are_of_bounded_length_and_on_one_line(search):
    long = row(1, title="t" * 5_000, content="a\n\n b\t" + "c" * 9_000)

    (hit,) = search(script=says(answer(long))).results

    assert (len(hit.title), len(hit.snippet)) == (300, 1_000)
    assert hit.snippet.startswith("a b ccc")
    assert hit.title.endswith("t…")


def test_half_a_key_is_never_left_at_the_end_of_a_text(search):
    key = "sk-" + "a1" * 20

    (hit,) = search(script=says(answer(row(1, content="x " * 495 + key)))).results

    assert "sk-a1" not in hit.snippet


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": None}, {"url": 7}, {"url": ""}, {"url": "javascript:alert(1)"},
        {"url": "ftp://example.org/"}, {"url": "https://example.org/" + "x" * 3_000},
    ],
)  # fmt: skip
def test_a_result_that_leads_nowhere_is_passed_over(search, wrong):
    outcome = search(script=says(answer(row(1, **wrong), row(2))))

    assert [hit.title for hit in outcome.results] == ["Page 2"]


def test_parts_of_a_wrong_type_are_missing_parts(search):
    rows = [None, 3, "x", [], {}, row(1, title=None, content={"a": 1}), row(2, title=["t"])]

    outcome = search(script=says(answer(*rows)))

    assert outcome.results == (
        SearchHit("", "https://example.org/1", ""),
        SearchHit("", "https://example.org/2", "Text of page 2."),
    )


def test_a_packed_answer_is_unpacked(search, endpoint):
    packed = gzip.compress(json.dumps(answer(row(1))).encode())

    outcome = search(script=says(packed, headers=["Content-Encoding: gzip"]))

    assert endpoint.requests[0].headers["accept-encoding"] == "gzip, deflate"
    assert [hit.title for hit in outcome.results] == ["Page 1"]


# ---- what is sent


def test_a_query_of_any_script_arrives_as_it_is(search, endpoint):
    query = "Größe & Maß + 100% 猫 🐈 a=b#c?d"

    assert search(query, script=says(answer())).query == query
    assert asked(endpoint)[1]["q"] == [query]


def test_a_long_query_is_cut_and_the_model_is_told(search, endpoint):
    outcome = search("🐈" * 2_500, script=says(answer(row(1))))

    assert asked(endpoint)[1]["q"] == ["🐈" * 400]
    assert outcome.shown()["note"] == "the query was cut to 400 characters"
    assert len(outcome.results) == 1


@pytest.mark.parametrize("query", ["", "  \n\t "])
def test_an_empty_query_is_the_models_mistake_and_asks_nobody(search, endpoint, query):
    outcome = search(query, script=says(answer()))

    assert endpoint.requests == []
    assert (outcome.shown(), outcome.is_outage) == (
        {"query": "", "error": "the query is empty"}, False,
    )  # fmt: skip


def test_half_a_character_pair_is_sent_as_a_question_mark(search, endpoint):
    assert search("cat \ud83d", script=says(answer())).error is None
    assert asked(endpoint)[1]["q"] == ["cat ?"]


def test_nothing_of_the_environment_is_sent(search, endpoint, monkeypatch, tmp_path):
    secret = "Zk4-of-the-environment-7731"
    for name in ("OPENAI_API_KEY", "SEARXNG_TOKEN", "SOME_SECRET"):
        monkeypatch.setenv(name, secret)
    netrc = tmp_path / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {secret}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    web_search.redact.__globals__["_secret_values"].cache_clear()
    web_search.redact.__globals__["_secret_marks"].cache_clear()

    search(f"tell {secret} to them", script=says(answer()))

    (request,) = endpoint.requests
    assert secret not in request.line + str(request.headers)
    assert request.headers.keys() <= {
        "host", "accept", "accept-encoding", "connection", "user-agent",
    }  # fmt: skip


def test_searches_know_nothing_of_each_other(search, endpoint):
    cookie = ["Set-Cookie: preferences=x; Path=/"]

    search("one", "two", script=says(answer(), headers=cookie))

    assert len(endpoint.requests) == 2
    assert all("cookie" not in request.headers for request in endpoint.requests)


def test_no_proxy_is_asked_for_this_machine(search, endpoint, monkeypatch, free_port):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port}")
    monkeypatch.delenv("NO_PROXY", raising=False)

    assert search(script=says(answer(row(1)))).error is None


def test_the_proxy_of_the_environment_is_asked_for_others(search, endpoint, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{endpoint.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    search(url="http://search.invalid/search", script=says(answer()))

    assert endpoint.requests[0].line.startswith("GET http://search.invalid/search?q=cats&")


def test_a_proxy_that_cannot_be_used_is_an_outage(search, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://x")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    outcome = search(url="https://search.invalid/search")

    assert outcome.is_outage
    assert outcome.error.startswith("the proxy that the environment names cannot be used")


# ---- whose failure it is

JSON_IS_OFF = (
    "the search endpoint answers: HTTP 403: SearXNG answers so until `search.formats` of its "
    "settings.yml lists `json`"
)
LIMITED = "SearXNG answers so beyond a few searches an hour while `server.limiter`"
FORBIDDEN = says(b"<!doctype html><title>403 Forbidden</title>", status=403)
HTML = says(b"<!doctype html><title>Sign in</title>", content_type="text/html")
UNREACHED = "the search endpoint cannot be reached: "
NO_LIST = "no JSON with a list of `results`"


ZIPPED = ["Content-Encoding: gzip"]
TOO_LARGE = "larger than 2,000,000 bytes"
FAILED = [["brave", "CAPTCHA"], ["google", "timeout"]]

OUTAGES = {
    "JSON is off": (FORBIDDEN, JSON_IS_OFF, 1),
    "nothing there": (says({}, status=404), "HTTP 404", 1),
    "too many": (says({}, status=429), LIMITED, 2),
    "down": (says({}, status=500), "HTTP 500", 2),
    "a web page": (HTML, NO_LIST, 2),
    "an empty body": (says(b""), NO_LIST, 2),
    "NaN": (says(b'{"results": [{"score": NaN}]}'), NO_LIST, 2),
    "no end": (says(b"[" * 100_000), NO_LIST, 2),
    "deep": (says(b'{"results": ' + b"[" * 3_000 + b"]" * 3_000 + b"}"), NO_LIST, 2),
    "an object of results": (says({"results": {"a": 1}}), NO_LIST, 2),
    "a bare list": (says([row(1)]), NO_LIST, 2),
    "no UTF-8": (says(b'{"results": ["\xff\xfe"]}'), NO_LIST, 2),
    "one long text": (says({"results": "x" * 10_000_000}), TOO_LARGE, 1),
    "many results": (says(answer(*[row(1)] * 60_000)), TOO_LARGE, 1),
    "a bomb": (says(gzip.compress(bytes(50_000_000)), headers=ZIPPED), TOO_LARGE, 1),
    "another packing": (
        says(zstandard.compress(b"{}"), headers=["Content-Encoding: zstd"]),
        "packs its answer as `zstd`, unasked", 1),
    "no packing": (says(b"no gzip", headers=ZIPPED), UNREACHED, 2),
    "an end": (lambda wire, request: wire.close(), UNREACHED, 2),
    "a reset": (lambda wire, request: wire.reset(), UNREACHED, 2),
    "no HTTP": (lambda wire, request: wire.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), UNREACHED, 2),
    "a redirect": (
        says({}, status=302, headers=["Location: https://elsewhere.invalid/"]),
        "no redirect is followed", 1),
    "engines failed": (
        says(answer(unresponsive_engines=FAILED)),
        "no results, and these engines failed: brave (CAPTCHA), google (timeout)", 2),
}  # fmt: skip
"""What an endpoint does, what is said of it, and how often it is asked."""


@pytest.mark.parametrize("name", OUTAGES)
def test_what_keeps_results_from_coming_is_an_outage(search, endpoint, name):
    script, error, tries = OUTAGES[name]

    outcome = search(script=script)

    assert outcome.is_outage
    assert error in outcome.error
    assert (outcome.tries, len(endpoint.requests)) == (tries, tries)
    assert outcome.results == outcome.dropped == ()


def test_nobody_there_is_an_outage(search, free_port):
    outcome = search(url=f"http://127.0.0.1:{free_port}/search")

    assert (outcome.is_outage, outcome.tries) == (True, 2)
    assert outcome.error.startswith(UNREACHED)


def test_no_tls_is_an_outage(search, endpoint):
    outcome = search(url=f"https://127.0.0.1:{endpoint.port}/search")

    assert outcome.is_outage
    assert "SSL" in outcome.error


@pytest.mark.parametrize("name", ["too many", "down", "a web page", "engines failed", "a reset"])
def test_one_more_try_may_mend_it(search, name):
    outcome = search(script=in_turn(OUTAGES[name][0], says(answer(row(1)))))

    assert (outcome.error, outcome.is_outage, outcome.tries) == (None, False, 2)
    assert [hit.title for hit in outcome.results] == ["Page 1"]


def test_an_outage_is_over_with_the_next_search(search):
    down, up = says({}, status=500), says(answer(row(1)))

    first, second = search("one", "two", script=in_turn(down, down, up))

    assert (first.is_outage, second.is_outage) == (True, False)
    assert (second.query, len(second.results)) == ("two", 1)


def test_engines_that_failed_are_noted_where_others_answered(search):
    failed = [["brave", "CAPTCHA"], ["x" * 500], [], "odd", [7, "timeout"], None]

    outcome = search(script=says(answer(row(1), unresponsive_engines=failed)))

    assert outcome.unresponsive == ("brave (CAPTCHA)", "x" * 60, "timeout")
    assert not outcome.is_outage


def test_a_redirect_that_the_query_asks_for_is_the_models_mistake(search, endpoint):
    elsewhere = says(b"", status=302, headers=[f"Location: {endpoint.base_url}"])

    outcome, other = search("cats !!g", "Help!!", script=elsewhere)

    assert len(endpoint.requests) == 2
    assert (outcome.error, outcome.is_outage) == (web_search.BANG, False)
    assert other.is_outage


# ---- time


def test_a_slow_server_within_the_limit_is_waited_for(search):
    def slow(wire, request):
        wire.sleep(0.4)
        wire.answer(answer(row(1)))

    outcome = search(script=slow, timeout_seconds=20)

    assert len(outcome.results) == 1
    assert 400 <= outcome.ms < 20_000


def silent(wire, request):
    wire.sleep(60)


def dripping(wire, request):
    wire.send(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n\r\n[")
    for _ in range(1_200):
        wire.sleep(0.05)
        wire.send(b" ")


@pytest.mark.parametrize("script", [silent, dripping])
def test_the_limit_is_of_the_whole_search(search, script):
    began = time.monotonic()

    outcome = search(script=script, timeout_seconds=0.5)

    assert time.monotonic() - began < 30
    assert (outcome.is_outage, outcome.tries) == (True, 1)
    assert outcome.error == "no whole answer within 0.5 s"


def test_what_the_first_try_said_is_told_when_time_runs_out(search):
    outcome = search(script=in_turn(says({}, status=503), silent), timeout_seconds=0.5)

    assert outcome.error == (
        "the search endpoint answers: HTTP 503, then no whole answer within 0.5 s"
    )
    assert (outcome.is_outage, outcome.tries) == (True, 2)


def test_a_search_that_is_cancelled_ends_and_harms_no_other(endpoint):
    arrived = threading.Event()

    def notes_and_waits(wire, request):
        arrived.set()
        silent(wire, request)

    endpoint.script = in_turn(notes_and_waits, says(answer(row(1))))
    settings = WebSearchSettings(url=f"http://127.0.0.1:{endpoint.port}/search", timeout_seconds=60)

    async def made():
        tool = WebSearch(settings, ())
        given_up = asyncio.create_task(tool.search("one"))
        assert await asyncio.to_thread(arrived.wait, 30)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        after = await tool.search("two")
        await tool.aclose()
        return after

    began = time.monotonic()
    after = asyncio.run(made())

    assert time.monotonic() - began < 30
    assert [hit.title for hit in after.results] == ["Page 1"]


def test_many_trials_search_at_once(endpoint):
    all_are_here = threading.Barrier(20)

    def slow(wire, request):
        all_are_here.wait(30)  # one after another would never get past it
        wire.answer(answer(row(1, title=parse_qs(urlsplit(request.line.split()[1]).query)["q"][0])))

    endpoint.script = slow
    settings = WebSearchSettings(url=f"http://127.0.0.1:{endpoint.port}/search", timeout_seconds=60)

    async def made():
        tool = WebSearch(settings, ())
        found = await asyncio.gather(*(tool.search(f"query {n}") for n in range(20)))
        await tool.aclose()
        return found

    found = asyncio.run(made())

    assert [one.results[0].title for one in found] == [f"query {n}" for n in range(20)]


# ---- what the model is told of the tool


def test_the_tool_takes_a_query_and_nothing_else():
    schema = TOOLS["web_search"].parameters

    assert schema["required"] == [*schema["properties"]] == ["query"]
    assert schema["properties"]["query"]["type"] == "string"
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


def test_the_module_alone_loads_neither_httpx_nor_regex():
    run_without("import collect.runners.tools.web_search", "httpx", "regex")
