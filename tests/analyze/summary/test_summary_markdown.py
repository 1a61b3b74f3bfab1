"""summary.md: one table of 17 columns, in which nothing from outside is more than text."""

import pytest

from analyze.render.markdown import as_text
from analyze.render.numbers import millis, pair, percent
from analyze.summary.summarize import read_inventory
from analyze.summary.summary_table import COLUMNS, store_size, summary_markdown
from schemas.run.inventory import OllamaModel, ResourceSnapshot


def cells(markdown):
    """Return the cells of the second table's body; an escaped bar does not end a cell."""
    (table,) = (part for part in markdown.split("\n\n") if part.startswith("| Provider"))
    lines = table.splitlines()
    rows = [line.replace("\\|", "\0").strip("|").split("|") for line in lines]
    assert {len(row) for row in rows} == {17}
    return [[cell.strip().replace("\0", "\\|") for cell in row] for row in rows[2:]]


def test_table_of_an_ordinary_run(run):
    run.inventory = {"ollama_models": (OllamaModel(name="llama3.2:3b", size="2.0 GB"),)}
    for n, e2e_ms in enumerate((100, 200, 301)):
        run.result(run.plan(f"c{n}"), e2e_ms=e2e_ms, passed=n > 0)
    run.write()
    (run.path / "resources_ollama_openai__llama3.2_3b__none_before.txt").write_text(
        "# free -h\nMem: 62Gi 7.6Gi\n# df -h /\nF\n/dev/a 9G 1G 8G 12% /\n# du\n41G\t/home/me\n"
    )
    (run.path / "resources_ollama_openai__llama3.2_3b__none_after.txt").write_text(
        "# free -h\n(free failed)\n# df -h /\nF\n/dev/a 9G 1G 8G 13% /\n# du\n(du failed)\n"
    )

    markdown = summary_markdown(run.summary(), read_inventory(run.path))

    assert markdown.splitlines()[:9] == [
        "# Benchmark summary",
        "",
        "Run: run-1",
        "",
        "Run wall clock (ms): 2400",
        "",
        "| Model | passed% | 95 % interval | strict% | cover% | cases | success% (all) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| llama3.2:3b | 66.7 | \\[20.8, 93.9\\] |  | 100.0 | 3 | 100.0 |",
    ]
    assert cells(markdown) == [
        [
            "ollama_openai",
            "llama3.2:3b",
            "2.0 GB",
            "",
            "3",
            "3",
            "0",
            "0",
            "100.0",
            "66.7",
            "2400",
            "200",
            "291",
            "299",
            "7.6Gi→–",
            "12%→13%",
            "41G→–",
        ]
    ]
    assert markdown.endswith(" |\n")


def test_title_row_is_that_of_the_older_tool():
    assert len(COLUMNS) == 17
    assert (COLUMNS[0], COLUMNS[-1]) == ("Provider", "Ollama store (before→after)")


def test_null_is_an_empty_cell(run):
    run.result(run.plan(), failure_type="http_401")

    (row,) = cells(summary_markdown(run.summary()))

    assert row[2:] == ["", "", "1", "0", "0", "0", "", "", "400", *[""] * 6]


def test_twins_are_told_apart_by_their_model_id(run):
    for model_id in ("a", "b"):
        run.result(run.plan(model_id=model_id))
    run.result(run.plan(model_id="c", thinking_level="low"))

    names = [row[1] for row in cells(summary_markdown(run.summary()))]

    assert names == ["llama3.2:3b (a)", "llama3.2:3b (b)", "llama3.2:3b"]


def test_model_without_a_tag_is_found_as_latest(run):
    run.inventory = {"ollama_models": (OllamaModel(name="qwen3:latest", size="5.2 GB"),)}
    run.result(run.plan(model="qwen3"))
    run.write()

    (row,) = cells(summary_markdown(run.summary(), read_inventory(run.path)))

    assert row[2] == "5.2 GB"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("`rm -rf`", "\\`rm -rf\\`"),
        ("<script>&lt;", "&lt;script&gt;&amp;lt;"),
        ("a\n\n# b\r\nc\u2028d", "a # b c d"),
        ("![x](http://evil/y.png)", "!\\[x\\](http://evil/y.png)"),
        ("**bold** ~~no~~", "\\*\\*bold\\*\\* \\~\\~no\\~\\~"),
        ("_x_ a_b", "\\_x\\_ a_b"),
        ("\x1b[31mred\x07", "\ufffd\\[31mred\ufffd"),
        ("\u202eabc", "\ufffdabc"),
    ],
)
def test_hostile_names_are_text(run, hostile, shown):
    assert as_text(hostile) == shown

    run.result(run.plan(model=hostile))
    (row,) = cells(summary_markdown(run.summary()))
    assert row[1] == shown


def test_inventory_that_cannot_be_read_costs_only_the_sizes(run):
    run.plan()
    run.write()
    (run.path / "inventory.json").write_text("{")

    assert read_inventory(run.path) is None
    assert read_inventory(run.path / "none") is None


def test_numbers():
    assert [percent(rate) for rate in (None, 0, 0.125, 1)] == ["", "0.0", "12.5", "100.0"]
    assert [millis(value) for value in (None, 0, 1.6, 3e9)] == ["", "0", "2", "3000000000"]
    assert [pair(*sides) for sides in ((None, None), ("a", None), (None, "b"), ("a", "b"))] == [
        "",
        "a→–",
        "–→b",
        "a→b",
    ]


@pytest.mark.parametrize(
    ("printed", "size"), [("4.1G\t/models", "4.1G"), ("  ", None), ("", None), (None, None)]
)
def test_the_size_of_the_store_is_what_du_printed_first(printed, size):
    assert store_size(ResourceSnapshot(path="r.txt", ollama_store_du=printed)) == size
