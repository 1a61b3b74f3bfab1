"""The report in a browser without a network: charts, tables, links and transcripts."""

import re

import pytest
from playwright.sync_api import expect

from analyze.render.numbers import duration, usd
from tests.support.reported_run import LONG, MODELS, N_CASES, N_REPETITIONS, NEEDLE
from tests.support.watched_page import Watched, draw_all, tip_over

pytestmark = pytest.mark.peers

TRIAL = "trial-falling-case-00-1"

VALUES = """(table, column) => {
  const headers = [...table.tHead.rows[0].cells];
  const place = headers.findIndex((one) => one.dataset.column === column);
  return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => {
    const cell = row.cells[place];
    return cell.dataset.value ?? cell.textContent.trim();
  });
}"""

WRONG_NUMBERS = """() => [...document.querySelectorAll("table[data-sort]")].flatMap((table) => {
  const headers = [...table.tHead.rows[0].cells];
  return [...table.tBodies[0].rows].flatMap((row) => [...row.cells].filter((cell, place) => {
    const text = (cell.dataset.value ?? cell.textContent).trim();
    return headers[place].dataset.type === "number" && /[0-9]/.test(text) && isNaN(Number(text));
  }).map((cell) => table.id + " " + cell.outerHTML));
})"""

FOLD = """(element) => {
  const folded = document.createElement("details");
  element.before(folded);
  folded.append(element);
}"""

IS_SEEN = """(element) => {
  const box = element.getBoundingClientRect();
  return box.bottom > 0 && box.top < innerHeight && element.checkVisibility();
}"""


def values(page, table, column):
    return page.locator(f"#t-{table}").evaluate(VALUES, column)


def header(page, table, column):
    return page.locator(f'#t-{table} th[data-column="{column}"]')


def sort(page, table, column):
    header(page, table, column).get_by_role("button").click()


def numbers(texts):
    return [float(text) for text in texts if re.fullmatch(r"-?[0-9.e+-]+", text)]


def columns(page, table):
    """Names of a table's columns, of numbers and of text."""
    names = {}
    for kind in ("number", "text"):
        found = page.locator(f'#t-{table} th[data-type="{kind}"]')
        names[kind] = found.evaluate_all("all => all.map((one) => one.dataset.column)")
    return names["number"], names["text"]


def is_open(page, anchor):
    return page.locator(f"#{anchor}").evaluate("one => one.open")


def test_every_chart_is_drawn_as_the_reader_comes_by(page):
    draw_all(page)
    states = page.locator("figure.chart").evaluate_all("all => all.map((one) => one.dataset.state)")
    assert len(states) >= 6
    assert set(states) == {"drawn"}
    drawn = page.locator("figure.chart .plot svg [role=graphics-symbol]")
    assert drawn.count() > len(states)


def test_a_pointer_on_a_chart_is_told_what_is_there(page):
    page.locator("figure[data-chart=leaderboard][data-state=drawn]").wait_for()
    tip = tip_over(page, "leaderboard")
    assert any(model in tip for model in MODELS)
    assert "%" in tip


def test_charts_far_away_wait_and_printing_draws_them_all(page):
    states = "all => all.map((one) => one.dataset.state ?? 'waiting')"
    figures = page.locator("figure.chart")
    assert "waiting" in figures.evaluate_all(states)
    page.pdf()
    assert set(figures.evaluate_all(states)) == {"drawn"}


def test_a_chart_that_cannot_be_drawn_says_so(browser, report_file, tmp_path):
    broken = tmp_path / "broken.html"
    text = report_file.read_text()
    assert text.count('"leaderboard":{') == 1
    broken.write_text(text.replace('"leaderboard":{', '"somebody":{'))
    watched = Watched(browser, broken)
    page = watched.open("#leaderboard")
    figure = page.locator("figure[data-chart=leaderboard]")
    expect(figure).to_have_attribute("data-state", "failed")
    expect(figure.locator(".chart-problem")).to_contain_text("could not be drawn")
    watched.was_quiet()
    watched.context.close()


def test_numbers_sort_up_then_down_then_as_they_were(page):
    before = values(page, "leaderboard", "passed_rate")
    sort(page, "leaderboard", "passed_rate")
    up = numbers(values(page, "leaderboard", "passed_rate"))
    assert up == sorted(up)
    assert len(up) == 3
    assert header(page, "leaderboard", "passed_rate").get_attribute("aria-sort") == "ascending"
    sort(page, "leaderboard", "passed_rate")
    assert numbers(values(page, "leaderboard", "passed_rate")) == up[::-1]
    assert header(page, "leaderboard", "passed_rate").get_attribute("aria-sort") == "descending"
    sort(page, "leaderboard", "passed_rate")
    assert values(page, "leaderboard", "passed_rate") == before
    assert page.locator("#t-leaderboard [aria-sort]").count() == 0


def test_text_sorts_by_words_and_only_one_column_is_sorted(page):
    sort(page, "leaderboard", "passed_rate")
    sort(page, "matrix", "case_id")
    up = values(page, "matrix", "case_id")
    assert up == [f"case-{n:02d}" for n in range(N_CASES)]
    sort(page, "matrix", "case_id")
    assert values(page, "matrix", "case_id") == up[::-1]
    sort(page, "matrix", columns(page, "matrix")[0][0])
    assert page.locator("#t-matrix [aria-sort]").count() == 1
    assert page.locator("#t-leaderboard [aria-sort]").count() == 1


def test_equal_rows_keep_the_order_of_the_page_in_both_directions(page):
    number = columns(page, "matrix")[0][0]
    hardest_first = values(page, "matrix", "case_id")
    for _ in range(2):
        sort(page, "matrix", number)
        groups = {}
        for value, case in zip(
            values(page, "matrix", number), values(page, "matrix", "case_id"), strict=True
        ):
            groups.setdefault(value, []).append(case)
        assert max(map(len, groups.values())) > 1
        for cases in groups.values():
            assert cases == [case for case in hardest_first if case in cases]


def test_every_number_of_every_table_sorts_as_a_number(page):
    assert page.evaluate(WRONG_NUMBERS) == []


def test_a_filter_keeps_rows_with_all_words_and_counts_them(page):
    box = page.locator("#matrix input[type=search]")
    count = page.locator("#matrix [role=status]")
    assert count.text_content() == ""
    box.fill("CASE-1")
    expect(count).to_have_text(f"2 of {N_CASES} rows")
    assert sorted(values(page, "matrix", "case_id")) == ["case-10", "case-11"]
    box.fill("case-1 nowhere")
    expect(count).to_have_text(f"0 of {N_CASES} rows")
    box.fill("")
    expect(count).to_have_text("")
    assert len(values(page, "matrix", "case_id")) == N_CASES


def test_a_table_of_a_few_rows_has_no_filter(page):
    assert page.locator("#leaderboard input").count() == 0


def test_the_state_of_a_table_is_in_the_address_and_comes_back(page, shared):
    sort(page, "matrix", "case_id")
    sort(page, "matrix", "case_id")
    page.locator("#matrix input[type=search]").fill("case-0 é&=%#")
    fragment = page.evaluate("location.hash")
    assert fragment == "#t-matrix&sort=case_id.desc&find=case-0%20%C3%A9%26%3D%25%23"
    fragment = fragment.replace("%20%C3%A9%26%3D%25%23", "")
    again = shared.open(fragment)
    assert values(again, "matrix", "case_id") == [f"case-0{n}" for n in range(9, -1, -1)]
    assert again.locator("#matrix input[type=search]").input_value() == "case-0"
    assert again.locator("#t-matrix").evaluate(IS_SEEN)
    again.evaluate("location.hash = '#t-matrix&sort=case_id.asc'")
    expect(header(again, "matrix", "case_id")).to_have_attribute("aria-sort", "ascending")
    assert len(values(again, "matrix", "case_id")) == N_CASES
    again.locator("#t-matrix").evaluate(FOLD)
    again.evaluate("location.hash = '#t-matrix&sort=case_id.desc'")
    expect(header(again, "matrix", "case_id")).to_have_attribute("aria-sort", "descending")
    assert again.locator("#t-matrix").evaluate(IS_SEEN)


MEANINGLESS = (
    "#t-matrix&sort=__proto__.desc&find=%zz",
    "#t-matrix&sort=constructor.asc&sort",
    "#t-nowhere&sort=case_id.desc",
    "#%zz",
    "#trial-<img src=x onerror=alert(1)>",
    "#&&&==",
)


def test_an_address_that_means_nothing_changes_nothing(shared):
    page = shared.open(MEANINGLESS[0])
    for fragment in MEANINGLESS:
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        page.evaluate("new Promise((done) => setTimeout(done))")
        assert page.locator("[aria-sort]").count() == 0
        assert page.locator("[role=status]:not(:empty)").count() == 0
    shared.was_quiet()


def test_a_link_to_a_section_shows_its_heading(shared):
    page = shared.open("#provenance")
    expect(page.locator("#provenance-h")).to_be_in_viewport()
    shared.was_quiet()


def test_every_link_into_the_page_has_its_target(page):
    lost = page.locator("a[href^='#']").evaluate_all(
        "all => all.map((one) => one.getAttribute('href').slice(1).split('&')[0])"
        ".filter((id) => !document.getElementById(id))"
    )
    assert lost == []
    sections = page.locator("main section").evaluate_all("all => all.map((one) => one.id)")
    linked = page.locator("nav a").evaluate_all("all => all.map((one) => one.hash.slice(1))")
    assert linked == sections
    own = "main section > :is(h1, h2, header) a[href^='#']"
    assert page.locator(own).count() >= len(sections) - 1


def test_a_link_to_a_trial_opens_it(shared):
    page = shared.open(f"#{TRIAL}")
    assert is_open(page, TRIAL)
    assert page.locator(f"#{TRIAL} > summary").evaluate("one => one === document.activeElement")
    assert page.locator(f"#{TRIAL} > summary").evaluate(IS_SEEN)
    shared.was_quiet()


def test_scripts_write_times_and_money_as_the_rest_of_the_page_does(page):
    times = [0, 1, 999, 1_000, 1_234, 59_949, 59_950, 61_000, 152_400, 3_599_499, 3_600_000]
    times += [7_384_000, 86_399_999, 90_000_000, 10**9]
    sums = [0.0000009, 0.00011, 0.0123, 0.5, 0.999, 1, 12.345, 1234.5]
    assert page.evaluate("all => all.map(benchlake.duration)", times) == list(map(duration, times))
    assert page.evaluate("benchlake.duration(-1234)") == "-1.2s"
    assert page.evaluate("all => all.map(benchlake.usd)", sums) == list(map(usd, sums))


def test_every_sign_of_the_matrix_is_a_link_with_words(page):
    signs = page.locator("#t-matrix :is(b, i, u)")
    links = page.locator("#t-matrix td a")
    assert signs.count() == links.count() == len(MODELS) * N_CASES * N_REPETITIONS
    labels = links.evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert len(set(labels)) == len(labels)
    assert labels[0].startswith("repetition 1 of case-")


def test_a_case_shows_all_answers_side_by_side_and_has_an_address(page, shared):
    page.locator("#t-matrix th[scope=row] a", has_text="case-03").click()
    view = page.locator("#answers")
    expect(view.locator("select")).to_have_value("case-03")
    assert view.locator(".by-model h3 bdi").all_inner_texts() == best_first(page)
    assert view.locator(".said").count() == len(MODELS) * N_REPETITIONS + baseline_trials(page)
    view.get_by_role("button", name="Next").click()
    case = view.locator("select").input_value()
    assert case != "case-03"
    assert page.evaluate("location.hash") == f"#cases&case={case}"
    again = shared.open("#cases&case=case-07")
    expect(again.locator("#answers select")).to_have_value("case-07")
    again.locator("#answers .said a").first.click()
    expect(again.locator("details.trial[open] > summary").first).to_be_in_viewport()


def best_first(page):
    return page.locator(".standings .who > bdi").all_inner_texts()


def baseline_trials(page):
    return page.locator("#answers .said a", has_text="baseline").count()


def test_filters_choose_trials_count_them_and_are_in_the_address(page, shared):
    count = page.locator("#trials .count")
    n_trials = page.locator("details.trial").count()
    page.locator("select[data-name=model]").select_option("cheap")
    page.locator("select[data-name=verdict]").select_option("failed")
    signs = page.locator("details.trial:not([hidden]) > summary")
    texts = signs.all_inner_texts()
    assert all("✗" in text and "cheap" in text for text in texts)
    expect(count).to_have_text(f"{len(texts)} of {n_trials} trials")
    assert page.evaluate("location.hash") == "#transcripts&model=cheap&verdict=failed"
    again = shared.open("#transcripts&model=cheap&verdict=failed")
    assert again.locator("details.trial:not([hidden])").count() == len(texts)


def test_cases_that_one_model_passes_and_another_fails(page):
    page.locator("select[data-name=passes]").select_option("steady")
    page.locator("select[data-name=fails]").select_option("falling")
    rows = page.locator("details.trial:not([hidden]) > summary").all_inner_texts()
    assert rows
    assert {row.split()[2] for row in rows} == {"steady", "falling"}
    cells = {}
    for row in rows:
        sign, case, model = row.split()[:3]
        if "in the baseline" not in row:
            cells.setdefault((case, model), []).append(sign)
    for (_, model), signs in cells.items():
        most = signs.count("✓") > signs.count("✗")
        assert most is (model == "steady")


def test_the_matrix_leads_to_what_was_said(page):
    link = page.locator(f"#t-matrix a[href='#{TRIAL}']").first
    for _ in range(2):
        assert not is_open(page, TRIAL)
        link.click()
        expect(page.locator(f"#{TRIAL} > summary")).to_be_in_viewport()
        assert is_open(page, TRIAL)
        page.locator(f"#{TRIAL} > summary").click()


def test_a_transcript_of_200_turns_is_whole_and_folded(page):
    trial = page.locator(f"#{TRIAL}")
    page.locator(f"#t-matrix a[href='#{TRIAL}']").click()
    expect(trial.locator(".part").first).to_be_attached()
    assert trial.locator(".part").count() > 190
    assert trial.locator(".part.is-error").count() == 2
    assert trial.locator(".part-tool_result[open]").count() == 0
    assert LONG[0] in trial.locator("> summary").inner_text()
    bar = trial.get_by_role("img")
    assert "turns over" in bar.first.get_attribute("aria-label")


def test_a_trial_leads_to_its_first_error_and_its_first_difference(page):
    page.locator(f"#t-matrix a[href='#{TRIAL}']").click()
    trial = page.locator(f"#{TRIAL}")
    trial.get_by_role("button", name="First error").click()
    expect(trial.locator(".is-error").first).to_be_focused()
    expect(trial.locator(".is-error pre").first).to_be_in_viewport()
    trial.get_by_role("button", name="First difference").click()
    expect(trial.locator(".jumps [role=status]")).to_contain_text("turn ")
    trial.get_by_role("button", name="Fold turns").click()
    assert trial.locator(".part[open]").count() == 0
    trial.get_by_role("button", name="Unfold turns").click()
    assert trial.locator("details.part:not([open])").count() == 0


def test_a_search_opens_the_trials_that_have_the_words_and_marks_them(page):
    trials = page.locator("details.trial")
    rows = page.locator("details.trial:not([hidden])").count()
    page.locator("#find-trials").fill(f"{NEEDLE.lower()}   119")
    count = page.locator("#trials .count")
    expect(count).to_contain_text(f"1 of {trials.count()} trials")
    marks = page.locator("mark.hit")
    assert set(marks.all_text_contents()) == {f"{NEEDLE} 119"}
    assert marks.first.evaluate("one => one.checkVisibility()")
    assert page.locator("details.trial:not([hidden])").count() == 1
    page.locator("#find-trials").press("Enter")
    expect(page.locator("mark.hit.is-current")).to_be_in_viewport()
    page.locator("#find-trials").fill("nowhere to be found (.*")
    expect(count).to_contain_text("0 of")
    page.locator("#find-trials").fill("")
    expect(count).to_have_text("")
    assert page.locator("details.trial:not([hidden])").count() == rows
    assert page.locator("mark, details.trial[open]").count() == 0


def test_a_link_to_a_trial_that_the_search_hid_shows_it(page):
    page.locator("#find-trials").fill("case-11")
    expect(page.locator("#trials .count")).to_contain_text("hit")
    assert page.locator(f"#{TRIAL}").is_hidden()
    page.locator(f"#t-matrix a[href='#{TRIAL}']").first.click()
    expect(page.locator(f"#{TRIAL}")).to_be_visible()


def test_errors_are_walked_one_after_the_other_and_around(page):
    page.locator("#find-trials").fill(NEEDLE)
    expect(page.locator("#trials .count")).to_contain_text("hit")
    button = page.get_by_role("button", name="Next error")
    errors = page.locator(f"#{TRIAL} .is-error")
    for place in (0, 1, 0):
        button.click()
        expect(page.locator("#trials .count")).to_have_text(f"error {place + 1} of 2")
        expect(errors.nth(place)).to_be_focused()
        expect(errors.nth(place).locator("pre")).to_be_in_viewport()
    page.locator("#find-trials").press("Enter")
    expect(page.locator("mark.hit.is-current")).to_be_in_viewport()


def test_the_keyboard_alone_reaches_and_does_everything(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#main"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    target = header(page, "leaderboard", "passed_rate").get_by_role("button")
    target.focus()
    page.keyboard.press("Space")
    expect(header(page, "leaderboard", "passed_rate")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('#leaderboard *')")
    page.locator(f"#{TRIAL} > summary").focus()
    page.keyboard.press("Enter")
    assert is_open(page, TRIAL)
    page.locator(f"#{TRIAL} > summary + *").first.wait_for()  # it is filled when it has opened
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('details.trial').id") == TRIAL
    mouse_only = page.locator("main *").evaluate_all(
        "all => all.filter((one) => getComputedStyle(one).cursor === 'pointer'"
        " && !one.closest('a, button, summary, label, input, svg')).map((one) => one.outerHTML)"
    )
    assert mouse_only == []


def test_without_script_all_but_the_trials_can_be_read(browser, report_file):
    watched = Watched(browser, report_file, java_script_enabled=False)
    watched.page.goto(report_file.as_uri())
    assert watched.page.locator("#t-matrix tbody tr").count() == N_CASES
    assert watched.page.locator("button, input, select").count() == 0
    expect(watched.page.locator("#transcripts .cmd")).to_be_visible()
    watched.context.close()
