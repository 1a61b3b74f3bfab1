"""What a server passed over in silence is said, and nothing is said of one that did as asked."""

import asyncio

import pytest

from collect.providers.base import Reply, Request, Usage
from collect.providers.http import MAX_NOTES
from collect.providers.ignored_settings import (
    CUT,
    NO_PROMPT,
    NO_STREAM,
    NO_THINKING,
    NO_USAGE,
    OTHER_MODEL,
    THINKS,
    TOO_LONG,
    ignored,
    is_other_model,
)
from collect.providers.openai_chat import ChatCompletions
from tests.support.wire_model import model

MESSAGES = [{"role": "user", "content": "Hi."}]
BODY = {
    "model": "m",
    "messages": MESSAGES,
    "max_tokens": 64,
    "stream": True,
    "stream_options": {"include_usage": True},
}


def good(*, text="Hello.", reasoning="", model="m", ttft_ms=5, **usage):
    counts = {"input_tokens": 10, "output_tokens": 5, "source": "api"} | usage
    return Reply(
        text=text, reasoning=reasoning, served_model=model, ttft_ms=ttft_ms, usage=Usage(**counts)
    )


def test_nothing_is_said_of_a_server_that_does_as_asked():
    assert ignored(BODY, good()) == []
    assert ignored({"model": "m", "input": "Hi.", "stream": False}, good(ttft_ms=None)) == []


def test_a_stream_that_came_in_one_piece_is_said():
    assert ignored(BODY, good(ttft_ms=None)) == [NO_STREAM]
    assert ignored(BODY | {"stream": False}, good(ttft_ms=None)) == []


# ---- usage


def test_usage_that_was_asked_for_and_did_not_come_is_said():
    bare = good(source=None, input_tokens=None, output_tokens=None)

    assert ignored(BODY, bare) == [NO_USAGE]
    assert ignored({"model": "m", "stream": False}, bare) == [NO_USAGE]


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}])
def test_usage_that_the_user_did_not_want_is_not_missed(options):
    bare = good(source=None, input_tokens=None, output_tokens=None)

    assert ignored(BODY | {"stream_options": options}, bare) == []


# ---- length


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_an_answer_clearly_longer_than_allowed_is_said(name):
    body = {"model": "m", name: 64}

    assert ignored(body, good(output_tokens=100)) == [TOO_LONG.format(name)]
    assert ignored(body, good(output_tokens=64)) == []
    assert ignored(body, good(output_tokens=66)) == [], "some count the end of the text as well"
    assert ignored(body, good(output_tokens=900, reasoning_tokens=850)) == []
    assert ignored({"model": "m", name: None}, good(output_tokens=900)) == []


# ---- the model


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("llama3.2", "llama3.2:latest"),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("meta-llama/llama-3-8b-instruct:free", "meta-llama/llama-3-8b-instruct"),
        ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("qwen3-8b-q4_k_m", "/models/Qwen3-8B-Q4_K_M.gguf"),
        ("gemma-3-1b-it", "gemma-3-1b-it:2"),
        ("openrouter/auto", "mistralai/mistral-nemo"),
    ],
)
def test_two_names_of_one_model_are_no_news(asked, served):
    assert not is_other_model(asked, served)
    assert ignored(BODY | {"model": asked}, good(model=served)) == []


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-4"),
        ("llama3:8b", "llama3:70b"),
        ("any-model-name", "gemma-3-1b-it-qat:2"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"),
        ("qwen3-8b", "Qwen3-8B-Q4_K_M.gguf"),
        ("real-m", "smollm2-135m"),
    ],
)
def test_an_answer_of_another_model_is_said(asked, served):
    expected = [OTHER_MODEL.format(asked, served)]

    assert ignored(BODY | {"model": asked}, good(model=served)) == expected


def test_a_server_that_names_no_model_and_a_list_of_fallbacks_say_nothing():
    assert ignored(BODY, good(model=None)) == []
    assert ignored(BODY, good(model="")) == []
    assert ignored(BODY | {"models": ["m", "n"]}, good(model="n")) == []


# ---- thinking

LEVELS = {"none": 0, "minimal": 0, "low": 0, "medium": 1, "high": 1, "xhigh": 1, "max": 1}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("style", ["chat", "nested"])
def test_an_answer_without_a_sign_of_reasoning_is_said_where_it_means_something(level, style):
    asked = {"reasoning_effort": level} if style == "chat" else {"reasoning": {"effort": level}}
    said = [NO_THINKING.format(level)]

    counted = ignored(BODY | asked, good(reasoning_tokens=0))
    uncounted = ignored(BODY | asked, good())

    assert counted == said * LEVELS[level], "a server that counts may have chosen not to think"
    assert uncounted == said * (LEVELS[level] or level == "low")


@pytest.mark.parametrize(
    "signs",
    [{"reasoning_tokens": 3}, {"reasoning": "Hm."}, {"text": "<think>\nHm.\n</think>\n\nYes."},
     {"text": "Hm.</think>Yes."}],
)  # fmt: skip
def test_any_sign_of_reasoning_is_enough(signs):
    assert ignored(BODY | {"reasoning_effort": "high"}, good(**signs)) == []


def test_reasoning_that_was_to_be_off_is_said():
    body = BODY | {"reasoning_effort": "none"}

    assert ignored(body, good(reasoning="Hm.")) == [THINKS]
    assert ignored(body, good(reasoning_tokens=3)) == [THINKS]
    assert ignored(body, good(reasoning="\n\n", reasoning_tokens=0)) == []


def test_settings_that_leave_no_trace_are_not_spoken_of():
    assert ignored(BODY | {"temperature": 0.0, "top_p": 0.1, "seed": 7}, good()) == []


# ---- a prompt that was cut

WORDS = "the cat sat on the mat and saw that it was good " * 400
"""4,800 words."""


def test_a_count_below_the_number_of_words_is_said():
    long = BODY | {"messages": [{"role": "user", "content": WORDS}]}

    assert ignored(long, good(input_tokens=2050)) == [CUT], "what Ollama keeps of 4,096"
    assert ignored(long, good(input_tokens=4800)) == []
    assert ignored(long, good(input_tokens=3300)) == [], "a tokenizer may join words"
    assert ignored(long, good(input_tokens=0)) == [NO_PROMPT]
    assert ignored(long, good(input_tokens=None)) == []


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "system", "content": None}, {"role": "user", "content": WORDS}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": WORDS}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": WORDS}]}]},
        {"input": [{"role": "user", "content": WORDS}, "odd", {"content": ["odd", {"text": 5}]}]},
    ],
)
def test_the_words_are_counted_wherever_an_api_has_them(body):
    assert ignored({"model": "m"} | body, good(input_tokens=1000)) == [CUT]


@pytest.mark.parametrize("text", ["=" * 8000, " " * 8000, "你好世界" * 2000, "ab12-" * 2000])
def test_text_that_takes_few_tokens_is_no_false_alarm(text):
    body = BODY | {"messages": [{"role": "user", "content": text}]}

    assert ignored(body, good(input_tokens=125)) == []


# ---- over the wire


def test_each_note_is_said_once_a_run(endpoint, answers):
    endpoint.script = lambda wire, request: wire.answer(answers.whole("Hi."))

    async def go():
        fields = {"model": "other", "thinking_level": "high"}
        provider = ChatCompletions(model(endpoint.base_url, **fields), None)
        request = Request(tuple(MESSAGES), 5.0, stream=True)
        replies = [await provider.ask(provider.prepare(request)) for _ in range(3)]
        await provider.aclose()
        return replies

    first, *later = asyncio.run(go())

    expected = {NO_STREAM, OTHER_MODEL.format("other", "served-m"), NO_THINKING.format("high")}
    assert set(first.notes) == expected
    assert [reply.notes for reply in later] == [(), ()]


def test_a_server_with_another_name_in_every_answer_is_not_repeated_for_ever(endpoint, answers):
    names = iter(f"name-{number}-" + "x" * 100_000 for number in range(20))
    endpoint.script = lambda wire, request: wire.answer(answers.whole("Hi.", model=next(names)))

    async def go():
        provider = ChatCompletions(model(endpoint.base_url), None)
        request = Request(({"role": "user", "content": "Hi."},), 5.0, stream=False)
        replies = [await provider.ask(provider.prepare(request)) for _ in range(20)]
        await provider.aclose()
        return [note for reply in replies for note in reply.notes]

    notes = asyncio.run(go())

    assert len(notes) == MAX_NOTES
    assert max(map(len, notes)) < 1_000
