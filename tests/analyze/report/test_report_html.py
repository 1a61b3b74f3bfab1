"""The page as text: what it holds, that nothing from outside acts in it, how large it is."""

import base64
import hashlib
import json
import re
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from markupsafe import Markup

from analyze.report.first_screen import standings
from analyze.report.html.chart_bundle import fetched_bundle
from analyze.report.html.page import SCRIPTS, STYLE, read_asset, render_html, visible, visible_in
from analyze.report.packed import PackedTrials
from analyze.report.sections.comparison import _number_in as number_in
from analyze.report.sections.comparison import changed_cases
from analyze.report.sections.leaderboard import leaderboard
from analyze.report.table import anchors_of, sort_key, trial_anchor
from schemas.errors import AnalyzeError
from schemas.output.report import RunReport
from tests.support.hostile_strings import STRINGS
from tests.support.made_records import Maker
from tests.support.made_report import RUN_ID, Size, made_report
from tests.support.packed_trials import inflated, trials_of

CHARTS = {
    "config": {"axis": {"labelColor": "var(--ink)"}},
    "specs": {"leaderboard": {"mark": "point", "data": {"values": [{"model_id": "a"}]}}},
}


def no_bundle():
    return "/* the library */"


VOID = {"meta", "br", "input", "rect", "line", "link", "img", "hr"}


class Page(HTMLParser):
    """A page as a browser would read it: elements with attributes, texts by element."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.stack, self.unclosed = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if self.stack and self.stack[-1] == tag:
            self.stack.pop()
        else:
            self.unclosed.append((tag, self.getpos()))

    def handle_data(self, data):
        self.texts.append((self.stack[-1] if self.stack else "", data))

    def all(self, tag, **wanted):
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]

    def ids(self):
        return [found["id"] for _, found in self.elements if "id" in found]

    def within(self, tag):
        return [text for name, text in self.texts if name == tag]

    def text(self):
        return "".join(text for name, text in self.texts if name not in {"script", "style"})


@pytest.fixture(scope="module")
def report():
    return made_report()


@pytest.fixture(scope="module")
def html(report):
    return render_html(report, CHARTS, no_bundle)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def sections(page):
    return [found["id"] for found in page.all("section")]


def test_every_section_stands_in_the_order_of_the_report_and_in_the_list_of_sections(page):
    assert sections(page) == [
        "answer", "leaderboard", "comparison", "matrix", "cases", "tags", "history", "latency",
        "frontier", "tiers", "failures", "checks", "judged", "steps", "resources", "transcripts",
        "provenance", "glossary",
    ]  # fmt: skip
    links = [found["href"] for found in page.all("a")]
    assert [f"#{name}" for name in sections(page)] == links[1:19]


def test_every_element_is_closed_and_every_id_stands_once(page):
    assert not page.unclosed
    assert not page.stack
    assert len(page.ids()) == len(set(page.ids()))


def test_every_link_leads_to_a_place_in_the_page_or_to_a_trial_that_it_embeds(page, html):
    targets = {found["href"] for found in page.all("a")}
    trials = {f"#{one['anchor']}" for one in trials_of(html)}
    assert targets <= {f"#{name}" for name in page.ids()} | trials
    assert targets & trials


def test_a_run_without_results_shows_its_answer_and_where_it_is_from():
    page = Page(render_html(made_report(Size(models=(), n_cases=0, n_runs=0)), {}))
    assert sections(page) == ["answer", "provenance"]
    assert "No model was asked anything" in page.text()
    assert not page.all("table")


def test_a_run_without_a_baseline_compares_nothing():
    report = made_report(Size(has_baseline=False, n_runs=1))
    page = Page(render_html(report, {}))
    assert "comparison" not in sections(page)
    assert "history" not in sections(page)
    assert "baseline" not in page.text().lower()
    assert "It is compared with no other run." in page.text()
    compared_page = Page(render_html(made_report(Size()), {}))
    assert "no other run" not in compared_page.text()


def test_the_policy_lets_in_exactly_what_stands_in_the_page(html, page):
    allowed = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert allowed.startswith("default-src 'none'; ")
    assert "base-uri 'none'" in allowed.split("; ")
    assert "unsafe" not in allowed
    inline = re.findall(r"<(script|style)>(.*?)</\1>", html, re.DOTALL)
    assert [kind for kind, _ in inline] == ["style", *["script"] * len(SCRIPTS)]
    library = inflated(page.within("script")[1])
    assert library == no_bundle()
    hashes = {
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (library, *(text for _, text in inline))
    }
    assert hashes == set(re.findall(r"'sha256-([^']+)'", allowed))


def test_the_page_has_no_handlers_no_styles_of_elements_and_no_address_outside(page):
    for tag, found in page.elements:
        assert not {name for name in found if name.startswith("on")}, tag
        assert not {"style", "src", "srcdoc", "action", "formaction"} & found.keys(), tag
    assert not page.all("link")
    assert not page.all("iframe")


def test_the_library_is_left_out_where_no_chart_is():
    def never():
        pytest.fail("asked for the library")

    page = Page(render_html(made_report(Size(n_cases=3)), {"config": {}, "specs": {}}, never))
    assert not page.all("figure")
    assert len(page.all("script")) == len(SCRIPTS) + 1
    assert "library" not in page.ids()


def test_a_chart_has_its_place_only_where_it_has_a_spec(page):
    assert [found["data-chart"] for found in page.all("figure")] == ["leaderboard"]
    assert "chart-leaderboard" in page.ids()


def test_the_data_of_the_charts_cannot_end_its_element(report):
    evil = {"config": {}, "specs": {"tiers": {"title": "</script><script>alert(1)//<!--\u202e"}}}
    html = render_html(report, evil, no_bundle)
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html)[1]
    assert "<" not in data
    assert json.loads(data)["specs"]["tiers"]["title"] == r"</script><script>alert(1)//<!--\u202e"


def test_tables_scroll_in_a_region_that_can_be_reached_and_name_their_columns(page):
    regions = page.all("div", role="region")
    tables = page.all("table")
    assert len(regions) == len(tables) > 8
    assert all(found["tabindex"] == "0" and found["aria-label"] for found in regions)
    assert all(found["id"].startswith("t-") and "data-sort" in found for found in tables)
    headers = page.all("th", scope="col")
    assert all(
        found["data-column"] and found["data-type"] in {"number", "text"} for found in headers
    )


def test_numbers_sort_by_what_they_are(html, page):
    rows = re.search(r'id="t-times".*?</table>', html, re.DOTALL)[0]
    assert re.search(r'data-value="4936" title="[^"]+"><span class="unsure">4936<sup>†', rows)
    cells = page.all("td", **{"class": "n"})
    assert all(float(found["data-value"]) >= -100 for found in cells if "data-value" in found)


def test_an_unsupported_percentile_is_grey_and_says_why(page):
    few = page.within("p")
    assert any("says little and is never compared" in text for text in few)


def test_a_header_says_what_the_glossary_says(page):
    header = page.all("th", scope="col", **{"data-column": "score_strict"})[0]
    assert header["title"].startswith("Passed among trials with a verdict")


def test_each_repetition_of_a_cell_has_a_sign_that_needs_no_colour(report, html):
    cell = report.matrix.cells[0]
    signs = {"passed": "✓", "failed": "✗", "no_verdict": "–", "missing": "·"}
    expected = "".join(signs[mark] for mark in cell.marks)
    row = re.search(rf'<th scope="row">{cell.case_id}</th>.*?</tr>', matrix_of(html))[0]
    first = row.split("</td>")[1]
    assert re.sub(r"<small>.*?</small>|<[^>]*>", "", first) == expected
    assert f"<small>{cell.n_passed} of {cell.n_scored}</small>" in first


def test_a_cell_of_the_matrix_has_a_tint_by_its_rate(report, html):
    for cell in report.matrix.cells[:40]:
        row = re.search(rf'<th scope="row">{cell.case_id}</th>.*?</tr>', matrix_of(html))[0]
        assert f"heat-{round(4 * cell.passed_rate)}" in row


def test_every_trial_is_embedded_whole_and_under_its_anchor(report, html):
    shown, embedded = report.transcripts.shown, trials_of(html)
    assert [one["anchor"] for one in embedded] == anchors_of(shown)
    for one, found in zip(shown, embedded, strict=True):
        document = json.loads(one.model_dump_json())
        for name, value in document.items():
            if name not in {"parts", "failure_type", "missing"}:
                assert found[name] == value or (not value and not found[name]), name
        assert [part["text"] for part in found["parts"]] == [part.text for part in one.parts]
        assert [part["after_ms"] for part in found["parts"]] == [
            part.after_ms for part in one.parts
        ]


def matrix_of(html):
    return re.search(r'id="t-matrix".*?</table>', html, re.DOTALL)[0]


def test_a_flipped_answer_shows_what_each_side_said(html):
    assert "The capital of France is <del>Paris.</del><ins>Lyon, I believe.</ins>" in html


def test_a_text_that_comes_again_is_packed_once(report):
    (one, *_) = report.transcripts.shown
    long = "".join(map(chr, range(0x4E00, 0x5A00)))  # nothing that a compressor finds again
    one = one.model_copy(update={"parts": (one.parts[0].model_copy(update={"text": long}),)})
    sizes = []
    for n in (1, 40):
        packed = PackedTrials()
        for place in range(n):
            packed.add(f"trial-{place}", one)
        sizes.append(len(packed.embedded()))
    assert sizes[1] < 1.3 * sizes[0]


def test_what_is_left_of_a_budget_is_never_overstated(report):
    packed, size = PackedTrials(), 0
    rooms = []
    for n, one in enumerate(report.transcripts.shown * 30):
        packed.add(f"trial-{n}", one.model_copy(update={"reason": f"{n * n * n}"}))
        rooms.append(packed.room(100_000))
    size = len(packed.embedded())
    assert rooms == sorted(rooms, reverse=True)
    assert 100_000 - size - 60_000 <= rooms[-1] <= 100_000 - size


def test_long_lists_are_cut_and_name_the_command_that_shows_the_rest():
    report = made_report(Size(n_cases=120))
    many = report.comparison.cases * 4
    report = report.model_copy(
        update={"comparison": report.comparison.model_copy(update={"cases": many})}
    )
    html = render_html(report, {})
    table = re.search(r'id="t-changes".*?</table>.*?</p>', html, re.DOTALL)[0]
    assert table.count("<tr>") == 101
    assert f"{len(many) - 100} more cases changed" in table
    assert f'<code class="cmd">analyze compare night_20260212_101108 {RUN_ID}</code>' in table
    assert "100 more files" in html


@pytest.fixture(scope="module")
def skeleton():
    """The elements and names of attributes of a small page with a harmless text everywhere."""
    return shape(render_html(Maker([f"x{n}" for n in range(12)]).record(RunReport), {}))


def shape(html):
    page = Page(html)
    return [(tag, *sorted(found)) for tag, found in page.elements if tag != "details"]


@pytest.mark.parametrize("n", range(8))
def test_hostile_text_in_every_field_adds_no_element_and_no_attribute(n, skeleton):
    html = render_html(Maker(STRINGS[n::8]).record(RunReport), {})
    assert {item[0] for item in shape(html)} <= {item[0] for item in skeleton}
    names = {name for item in shape(html) for name in item[1:]}
    assert names <= {name for item in skeleton for name in item[1:]}
    acting = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
    assert not acting.search(html)
    assert trials_of(html)
    assert not acting.search("".join(strings(trials_of(html))))
    html.encode("utf-8")


def test_text_that_would_act_is_shown_as_its_escape():
    assert visible("a\u202eb\x1b[31m\x00\u200bc\ud800") == r"a\u202eb\x1b[31m\x00\u200bc\ud800"
    assert visible("lines\r\nof\ttext\n") == "lines\nof\ttext\n"
    assert visible("مرحبا 你好 é") == "مرحبا 你好 é"
    assert visible_in({"\x07": ["\u2066", 1, None]}) == {r"\x07": [r"\u2066", 1, None]}


def test_a_text_that_begins_with_a_line_end_keeps_it():
    report = made_report(Size(models=("a",), n_cases=1, n_flips=0, answer="\nsecond line"))
    (one, *_) = trials_of(render_html(report, {}))
    assert one["parts"][-1]["text"] == "\nsecond line"


def test_bars_of_the_first_screen_stand_where_rates_and_intervals_are(report):
    shown = standings(report)
    assert len(shown) == len(report.answer) > 1
    for answer, one in zip(report.answer, shown, strict=True):
        assert float(one.at) == pytest.approx(100 * answer.passed_rate, abs=0.06)
        assert float(one.low) == pytest.approx(100 * answer.low, abs=0.06)
        assert float(one.width) == pytest.approx(100 * (answer.high - answer.low), abs=0.06)


def test_the_first_screen_has_the_median_the_cost_and_what_was_not_answered(report):
    first, *others = report.summary.models
    slow = first.model_copy(
        update={
            "latency_ms": first.latency_ms.model_copy(update={"p50": 1234.0}),
            "cost_usd": 0.5, "n_cost_known": 40, "n_total": 40, "n_success": 37,
        }
    )  # fmt: skip
    bare = first.model_copy(
        update={
            "latency_ms": first.latency_ms.model_copy(update={"p50": None}),
            "cost_usd": None, "n_total": 40, "n_success": 40,
        }
    )  # fmt: skip

    def facts_with(model):
        summary = report.summary.model_copy(update={"models": (model, *others)})
        shown = standings(report.model_copy(update={"summary": summary}))
        return next(one.facts for one in shown if one.name == first.model_id)

    assert facts_with(slow) == "p50 1234 ms · 0.500 USD · 3 of 40 trials not answered"
    assert facts_with(bare) == ""


def test_a_baseline_that_cannot_be_compared_has_no_place_beside_the_rate(report):
    first, *others = report.comparison.groups
    assert first.difference is not None
    unlike = first.model_copy(update={"verdict": "not_comparable"})
    comparison = report.comparison.model_copy(update={"groups": (unlike, *others)})
    name = first.candidate_model_id

    assert [one.base_at for one in standings(report) if one.name == name] != [""]
    without = standings(report.model_copy(update={"comparison": comparison}))
    assert [one.base_at for one in without if one.name == name] == [""]


def test_large_numbers_that_are_near_each_other_sort_apart():
    near = [sort_key(f"{number:,}", number) for number in (1_234_567, 1_234_568)]

    assert [float(text) for text in near] == [1_234_567, 1_234_568]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234 → 1,300", 1234), ("<0.001", 0.001), ("-2.5", -2.5), ("", None), ("n/a", None)],
)
def test_a_cell_of_the_comparison_sorts_by_the_number_it_begins_with(text, value):
    assert number_in(text) == value


def test_changed_cases_sort_by_the_rate_of_either_side(report):
    cases = report.comparison.cases
    rows = changed_cases(report.comparison, "").rows
    for change, (*_, base, candidate) in zip(cases, rows, strict=True):
        assert float(base.value) == pytest.approx(change.base_passed / change.base_scored, 1e-4)
        rate = change.candidate_passed / change.candidate_scored
        assert float(candidate.value) == pytest.approx(rate, 1e-4)


def test_names_of_places_are_safe_short_and_their_own():
    assert trial_anchor("tiny", "a_case-1", 2) == "trial-tiny-a_case-1-2"
    assert trial_anchor("tiny", "a", 2, is_baseline=True) == "trial-tiny-a-2-base"
    odd = {trial_anchor(name, "a", 1) for name in ("é", "è", "E", "e", '"><b>', "x" * 90, "x" * 91)}
    assert len(odd) == 7
    assert all(re.fullmatch(r"[a-z0-9_-]{1,140}", name) for name in odd)


def test_two_transcripts_that_ask_for_one_name_get_two():
    shown = made_report().transcripts.shown[0]
    dashes = [
        shown.model_copy(update={"model_id": model, "case_id": case})
        for model, case in (("a-b", "c"), ("a", "b-c"))
    ]
    assert anchors_of(dashes) == ["trial-a-b-c-1", "trial-a-b-c-1_2"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that is empty."""
    monkeypatch.setenv("BENCHLAKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_library_of_the_charts_can_stand_in_a_page(cache, monkeypatch):
    script = fetched_bundle()
    assert len(script) > 500_000
    assert "vegaEmbed" in script
    monkeypatch.setattr("subprocess.Popen", None)
    assert fetched_bundle() == script, "kept for the next page"


@pytest.mark.parametrize("spoiled", ["torn", "other", "older", "none", "another's"])
def test_what_is_kept_of_the_library_is_whole_own_and_of_this_version(cache, monkeypatch, spoiled):
    monkeypatch.setattr("analyze.report.html.chart_bundle.FETCH", "print('/* one */')")
    assert fetched_bundle() == "/* one */\n"
    (kept,) = cache.iterdir()
    match spoiled:
        case "torn":
            kept.write_bytes(kept.read_bytes()[:-3])
        case "other":
            kept.write_bytes(b"alert(1)")
        case "older":
            monkeypatch.setattr("analyze.report.html.chart_bundle.version", lambda _: "0.9")
        case "none":
            kept.unlink()
            kept.mkdir()
        case "another's":
            monkeypatch.setattr("os.geteuid", lambda: kept.stat().st_uid + 1)

    calls = []
    start = subprocess.Popen
    monkeypatch.setattr("subprocess.Popen", lambda *a, **k: calls.append(a) or start(*a, **k))
    assert fetched_bundle() == "/* one */\n"
    assert len(calls) == 1


def test_where_there_is_no_home_nothing_of_the_library_is_kept(tmp_path, monkeypatch):
    """Its folder would be one called `~`, wherever the command is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCHLAKE_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: Path("~/.cache/benchlake"))
    monkeypatch.setattr("analyze.report.html.chart_bundle.FETCH", "print('/* one */')")

    assert fetched_bundle() == "/* one */\n"
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_cannot_be_had_is_told(monkeypatch):
    monkeypatch.setattr("analyze.report.html.chart_bundle.FETCH", "import no_such_module_here")
    with pytest.raises(AnalyzeError, match="No module named 'no_such_module_here'"):
        fetched_bundle()


def test_a_library_that_never_comes_is_given_up(monkeypatch):
    monkeypatch.setattr("analyze.report.html.chart_bundle.FETCH", "import time; time.sleep(600)")
    monkeypatch.setattr("analyze.report.html.chart_bundle.FETCH_S", 0.1)
    with pytest.raises(AnalyzeError, match="did not come within"):
        fetched_bundle()


def test_a_page_of_a_usual_run_is_small(report):
    transcripts = report.transcripts.model_copy(update={"shown": ()})
    without = report.model_copy(update={"transcripts": transcripts, "steps": None, "judged": None})
    assert len(render_html(without, {}).encode()) < 160_000


def test_a_page_of_many_models_with_long_names_is_bounded():
    models = tuple(f"vendor_with-a-long-name_model-{n}-instruct-preview-q4_k_m" for n in range(12))
    page = render_html(made_report(Size(models=models, n_cases=100)), {})
    assert len(page.encode()) < 450_000


def test_files_of_the_page_are_packaged_and_scripts_stand_alone():
    names = {entry.name for entry in files("analyze.report.html").iterdir()}
    assert {STYLE, *SCRIPTS} <= names
    assert {name for name in names if name.endswith(".js")} == set(SCRIPTS)
    for name in SCRIPTS:
        assert not re.search(r"</script|<!--", read_asset(name), re.IGNORECASE)
    assert "</style" not in read_asset(STYLE).lower()
    assert not re.search(r"url\(|@import", read_asset(STYLE))


def test_templates_never_print_a_text_as_it_is():
    templates = files("analyze.report.html") / "templates"
    for template in templates.iterdir():
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*(safe|e|escape|forceescape|tojson|xmlattr)\b", text), template
        assert not re.search(r"autoescape|Markup|\sstyle=|\son[a-z]+=", text), template
        assert not re.search(r'=\{\{|=\s*"[^"{]*\{\{[^}]*$', text), template


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palettes():
    blocks = re.findall(r":root \{(.*?)\}", read_asset(STYLE), re.DOTALL)
    return [dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6})", block)) for block in blocks]


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark", "print"])
def test_every_colour_can_be_read_on_the_page(palette):
    words = ("ink", "quiet", "accent", "better", "worse", "same", "warn")
    for name in words:
        for ground in ("paper", "panel"):
            assert contrast(palette[name], palette[ground]) >= 4.5, (name, ground)
    for n in range(7):
        assert contrast(palette[f"c{n}"], palette["paper"]) >= 3, f"c{n}"


def test_the_same_report_is_the_same_page(report):
    assert isinstance(report, RunReport)
    assert render_html(report, CHARTS, no_bundle) == render_html(made_report(), CHARTS, no_bundle)
    assert not isinstance(render_html(report, {}), Markup)


def test_one_case_with_a_verdict_is_counted_though_it_has_no_interval(report):
    group = report.summary.models[0].model_copy(update={"passed_ci95": None, "n_scorable": 3})
    one = group.model_copy(update={"coverage": 1.0})

    other = group.model_copy(update={"model_id": "other", "coverage": 0.0, "passed_rate": None})
    summary = report.summary.model_copy(update={"models": (other, one)})
    names = ("provider", "model", "thinking_level", "model_id")
    asked = {name: getattr(one, name) for name in names} | {"is_ranked": False}
    answer = report.answer[0].model_copy(update=asked)
    unrated = answer.model_copy(update={"model_id": "other", "passed_rate": None})

    table = leaderboard(summary, (answer, unrated))

    at = [column.key for column in table.columns].index("n_cases")
    assert [row[at].text for row in table.rows] == ["1", "0"]
    assert {row[-1].text for row in table.rows} == {"no: too few cases or verdicts"}
