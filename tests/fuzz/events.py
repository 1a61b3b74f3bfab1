"""A stream of events: read the same however it was cut, and as the standard says."""

import re

import orjson

from collect.http_client import Exchange
from collect.providers import anthropic_messages, openai_chat, openai_responses
from collect.providers.http import END_MARKER, events
from collect.providers.openai_chat import DeltaShape
from tests.fuzz.inputs import cuts

WORDS = [
    b"data: ",
    b"data:",
    b"data: [DONE]",
    b'data: {"type":"message_start","message":{}}',
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    b'data: {"type":"message_stop"}',
    b"event: x",
    b"id: 1",
    b": comment",
    b"retry: 1",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\r",
    b"\xef\xbb\xbf",
    b'{"choices":[{"index":0,"delta":{"content":"a"}}]}',
    b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\n',
    b'{"choices":[{"delta":{"reasoning_content":"c"}}]}',
    b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}]}',
    b'{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    b'{"error": {"message":"m","code":429}}',
    b'{"type":"response.output_text.delta","delta":"d"}',
    b'{"type":"response.completed","response":{"status":"completed","output":[]}}',
    b'"content":',
    b'"finish_reason":"stop"',
    b'"content":"e",',
    b"null",
    b"[",
    b"{}",
    b"\\ud800",
    b"1e999",
    b"-0",
    b"\xff",
]


class NoShape(DeltaShape):
    """Reads every event in full."""

    def text_of(self, event):
        return None


def check(data):
    """Whatever a server sends: the same answer however it came, and no exception."""
    _check_events(data)
    answers, marks = set(), set()
    for pieces in cuts(data):
        exchange, marked = _arrived(pieces)
        assert exchange.body() == data
        assert exchange.size == len(data)
        marks.add(marked is not None)
        _check_moments(exchange, pieces)
        for module in (openai_chat, openai_responses, anthropic_messages):
            answers.add((module.__name__, repr(_untimed(module.read_stream(exchange)))))
    assert len(marks) == 1, "the end marker is seen in some cuts only"
    assert len(answers) == 3, "the answer depends on how it was cut"
    _check_short_way(data)


def _check_events(data):
    found = list(events(data))
    assert [event for event, _ in found] == _by_the_book(data)
    places = [place for _, place in found]
    assert places == sorted(set(places))
    assert all(0 < place <= len(data) for place in places)
    for pieces in cuts(data, ways=2)[-2:]:
        begun = [event for event, _ in events(pieces[0] if pieces else b"")]
        if begun and begun[-1] == END_MARKER:
            begun.pop()  # may go on
        whole = [event for event, _ in found[: len(begun)]]
        assert whole == begun, "an event was told before it was whole"


def _by_the_book(data):
    """Return the data of every event, line by line; lines end in LF, CRLF or CR."""
    found, kept = [], []
    *lines, rest = re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        name, _, value = line.partition(b":")
        if name == b"data":
            kept.append(value.removeprefix(b" "))
        elif not line and kept:
            found += [event for event in [b"\n".join(kept)] if event]
            kept = []
    name, _, value = rest.partition(b":")
    if name == b"data":  # some servers end so
        kept.append(value.removeprefix(b" "))
    return found + [END_MARKER] * (bool(kept) and b"\n".join(kept) == END_MARKER)


def _arrived(pieces):
    exchange, marked = Exchange(re.compile(openai_chat.END.pattern)), None
    exchange.written = 0.0
    for moment, piece in enumerate(pieces, 1):
        if exchange.add(float(moment), piece) and marked is None:
            marked = moment
    exchange.finish(float(len(pieces)))
    return exchange, marked


def _check_moments(exchange, pieces):
    end = 0
    for moment, piece in enumerate(pieces, 1):
        end += len(piece)
        assert exchange.moment_of(end) == moment


def _untimed(reply):
    facts = {name: getattr(reply, name) for name in reply.__dataclass_fields__}
    return {name: value for name, value in facts.items() if name not in {"e2e_ms", "ttft_ms"}}


def _check_short_way(data):
    """Events that are read by their text alone mean what they mean when read in full."""
    short = _untimed(openai_chat.read_stream(_arrived([data])[0]))
    quick, openai_chat.DeltaShape = openai_chat.DeltaShape, NoShape
    try:
        full = _untimed(openai_chat.read_stream(_arrived([data])[0]))
    finally:
        openai_chat.DeltaShape = quick
    assert short == full, "the short way reads something else"
    orjson.dumps(short["text"])  # a lone surrogate could not be written to the log
