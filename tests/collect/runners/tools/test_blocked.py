"""Which results of a search name what is blocked, and what a suite blocks by its own name."""

import pytest

from collect.runners.tools.blocked import MAX_COMPARED_CHARS, Blocklist, blocked_of
from tests.support.cpu_time import loops
from tests.support.paths import ROOT


def names(term, *, title="", url="https://example.org/", snippet=""):
    return Blocklist([term]).named_in(title, url, snippet) is not None


# ---- words and phrases

NAMED = [
    ("some-benchmark", "About Some Benchmark."),
    ("some-benchmark", "some_benchmark"),
    ("Some Benchmark", "SOME.BENCHMARK: results"),
    ("some benchmark", "some / benchmark"),
    ("some_benchmark", "some\nbenchmark"),
    ("café bench", "CAFE BENCH"),
    ("cafe bench", "the Cafe\u0301-Bench"),
    ("straße", "STRASSE"),
    ("ΣΊΣΥΦΟΣ", "σισυφος"),
    ("full width", "Ｆｕｌｌ Ｗｉｄｔｈ"),
    ("benchmark", "bench\u00admark"),
    ("benchmark", "bench\u200bmark"),
    ("GPQA", "(gpqa)"),
    ("GPQA", "What is “GPQA”?"),
    ("bench 2.0", "Bench-2.0 is out"),
    ("难题", "这是难题集的答案"),
    ("วัดผล", "ชุดวัดผลใหม่"),
    ("한국어 시험", "한국어 시험"),
    ("humanity's last exam", "Humanity’s Last Exam"),
    ("some benchmark", "<b>Some</b>-<em class='x'>bench</em>mark"),
    ("some benchmark", "Some&nbsp;bench&shy;mark"),
    ("a<b", "if a<b and c>d"),
    ("q&a set", "The Q&amp;A set"),
]

NOT_NAMED = [
    ("bench", "workbench benches benchmark"),
    ("some benchmark", "some other benchmark"),
    ("some benchmark", "benchmark some"),
    ("some benchmark", "handsome benchmark"),
    ("gpqa", "gpqa2"),
    ("bench 2.0", "bench 2.01"),
    ("a.b", "ab"),
    ("benchmark", "bench mark"),
]


@pytest.mark.parametrize(("term", "text"), NAMED)
@pytest.mark.parametrize("part", ["title", "snippet"])
def test_a_phrase_is_found_however_it_is_written(term, text, part):
    assert names(term, **{part: text})


@pytest.mark.parametrize(("term", "text"), NOT_NAMED)
@pytest.mark.parametrize("part", ["title", "snippet"])
def test_only_whole_words_count(term, text, part):
    assert not names(term, **{part: text})


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/some-benchmark",
        "https://some-benchmark.github.io/",
        "https://example.org/x?q=Some+Benchmark",
        "https://example.org/x#some_benchmark",
        "https://example.org/some%2Dbenchm%61rk/",
        "https://github.com/team/some.benchmark.git",
        "http://[broken/some-benchmark",
    ],
)
def test_a_phrase_is_found_in_an_address(url):
    assert names("some benchmark", url=url)


def test_no_phrase_reaches_from_one_part_into_the_next():
    assert not names("some benchmark", title="some", snippet="benchmark")


def test_what_a_result_names_is_told_as_it_was_written():
    blocklist = Blocklist(["other", " Some-Benchmark "])

    assert blocklist.named_in("some benchmark", "https://example.org/", "") == "Some-Benchmark"
    assert blocklist.named_in("an exam", "https://example.org/", "") is None


def test_nothing_blocked_drops_nothing():
    assert Blocklist([]).named_in("x", "https://example.org/", "y") is None
    assert Blocklist(["", " ", "…"]).named_in("", "https://example.org/", "…") is None


# ---- hosts


@pytest.mark.parametrize(
    "url",
    [
        "https://huggingface.co/datasets/x",
        "https://HuggingFace.co",
        "https://huggingface.co:443/",
        "https://huggingface.co./",
        "https://cdn.lfs.huggingface.co/x",
        "http://me:pass@huggingface.co/",
        "https://hugging%66ace.co/",
        "https://proxy.example/https://huggingface.co/datasets/x",
        "https://proxy.example/?to=https%3A%2F%2Fhuggingface.co%2Fx",
    ],
)
def test_a_host_and_all_below_it_is_found(url):
    assert names("huggingface.co", url=url)
    assert names("HuggingFace.co", url=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://nothuggingface.co/",
        "https://huggingface.co.example.org/",
        "https://huggingface.com/",
        "https://example.org/huggingface",
        "https://co/",
    ],
)
def test_another_host_is_another_host(url):
    assert not names("huggingface.co", url=url)


def test_a_host_is_found_in_text_too():
    assert names("huggingface.co", snippet="Get it from huggingface.co/datasets.")


@pytest.mark.parametrize("url", ["https://bücher.example/", "https://xn--bcher-kva.example/"])
@pytest.mark.parametrize("term", ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"])
def test_a_host_in_another_script_is_the_same_in_both_spellings(term, url):
    assert names(term, url=url)


# ---- hostile results


@pytest.mark.parametrize(
    "text", ["\ufdfa" * 1_000_000, "some " * 400_000, "a" * 2_000_000, "\u0301" * 1_000_000]
)
def test_a_long_text_takes_no_long_time(text):
    blocklist = Blocklist([f"some benchmark {n}" for n in range(50)])
    found = []

    cost = loops(lambda: found.append(blocklist.named_in(text, f"https://{text}/{text}", text)))

    assert found == [None]
    assert cost < 400


def test_as_much_of_a_text_is_looked_through_as_is_said():
    assert names("end", snippet="x " * (MAX_COMPARED_CHARS // 2 - 2) + "end")
    assert not names("end", snippet="x " * (MAX_COMPARED_CHARS // 2) + "end")


# ---- a suite's own name


@pytest.mark.parametrize(
    ("suite_id", "title", "blocked"),
    [
        ("demo", "Demo", ()),
        ("starter", "Starter suite", ()),
        ("gpqa", "GPQA", ()),
        ("swe-bench", "SWE-bench", ("swe-bench",)),
        ("hard_questions", "Hard", ("hard_questions",)),
        ("terminalbench", "T", ("terminalbench",)),
        ("math500", "Math 500", ()),
        ("a", "Humanity's Last Exam", ("Humanity's Last Exam",)),
        ("a", "One_two", ()),
        ("a", "A question-answer set", ("A question-answer set",)),
        ("hard_question_set", "hard_question_set", ("hard_question_set",)),
    ],
)
def test_a_suite_blocks_its_own_name_where_it_says_which_one_is_meant(suite_id, title, blocked):
    assert blocked_of(suite_id, title) == blocked


def test_the_rules_of_the_page_are_these():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")

    assert "`suite_id` where it has two words or eight letters, `title` where it" in page
    assert blocked_of("two-words", "x") == ("two-words",)
    assert blocked_of("letters8x", "x y") == ("letters8x",)
    assert blocked_of("letter7", "x y") == ()
