"""`analyze report runs/ -o site/`: what it writes, what it leaves alone, and how it goes on."""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import psutil
import pytest

from analyze.site import pages as site_pages
from analyze.site.folder import page_name
from tests.support.analyze_cli import call
from tests.support.disk import mounted_disk
from tests.support.hostile_strings import STRINGS
from tests.support.nights import Nights
from tests.support.packed_trials import trials_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("no_library", "warm_engines")

SMALL = {"n_cases": 4, "repetitions": 1}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a folder of runs of two suites, and the site of it; tests copy what they change."""
    folder = tmp_path_factory.mktemp("site")
    made = Nights(folder / "runs", n_cases=10, repetitions=2)
    for rate in (1, 1, 1, 0, 0, 0):
        made.add(rates={"careful": 0.9, "fallen": rate})
    made.add(2, rates={"careful": 0.8}, suite_id="other")
    assert build(folder).code == 0
    return folder


@pytest.fixture
def own(built, tmp_path, monkeypatch):
    """Return copies of the runs and of their site, and stand there."""
    for name in ("runs", "site"):
        shutil.copytree(built / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def small_nights(folder, n=2, **more):
    made = Nights(folder / "runs", **SMALL)
    made.add(n, rates={"one": 0.7}, **more)
    return made


def build(folder, *more):
    """Build a site as somebody does who stands beside both folders."""
    with contextlib.chdir(folder):
        return call("report", "runs", "-o", "site", *more)


def stamps(site):
    """Return when each file was last written."""
    return {
        str(path.relative_to(site)): path.stat().st_mtime_ns
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def written(site, before):
    """Return the files that are others than before."""
    return sorted(name for name, at in stamps(site).items() if before.get(name) != at)


class Links(HTMLParser):
    """Takes note of every link and every file that a page asks for."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.found += [values[name] for name in ("href", "src", "data-src") if values.get(name)]


def links_of(page):
    parser = Links()
    parser.feed(page.read_text())
    return parser.found


def test_every_link_leads_to_a_file(built):
    site = built / "site"
    pages = sorted(site.rglob("*.html"))
    assert [page.name for page in pages] == ["index.html"] + [
        f"night-{n:03d}.html" for n in range(1, 9)
    ]
    for page in pages:
        links = links_of(page)
        outside = [one for one in links if not one.startswith("#")]
        assert outside
        for link in outside:
            assert (page.parent / link).resolve().is_file(), (page, link)
    assert {f"runs/night-{n:03d}.html" for n in range(1, 9)} <= set(links_of(site / "index.html"))


def test_pages_link_the_runs_beside_them_of_their_suite(built):
    runs = built / "site" / "runs"
    assert "night-001.html" in links_of(runs / "night-002.html")
    assert "night-003.html" in links_of(runs / "night-002.html")
    first_of_other = links_of(runs / "night-007.html")
    assert "night-006.html" not in first_of_other
    assert "night-008.html" in first_of_other


def test_index_says_what_stands_open_and_where_it_began(built):
    text = (built / "site" / "index.html").read_text()
    assert "1 level shift for the worse stands open" in text
    sentence = re.search(r'<li class="regressed">.*?</li>', text, re.DOTALL)[0]
    assert "since night-004" in sentence
    assert 'href="runs/night-004.html"' in sentence


def test_index_says_of_each_suite_what_its_newest_page_says_first(built):
    index = (built / "site" / "index.html").read_text()
    for newest in ("night-006", "night-008"):
        page = (built / "site" / "runs" / f"{newest}.html").read_text()
        headline = re.search(r'<p class="headline[^>]*>(.*?)</p>', page)[1].replace("\u00a0", " ")
        assert headline in index


def test_page_knows_nothing_of_later_runs(built, tmp_path):
    """Though the link says that there is one."""
    text = (built / "site" / "runs" / "night-003.html").read_text()
    assert "night-005" not in text
    assert text.count("night-004") == 1
    for n in (1, 2, 3):
        shutil.copytree(built / "runs" / f"night-{n:03d}", tmp_path / "runs" / f"night-{n:03d}")
    with contextlib.chdir(tmp_path):
        assert call("report", "-o", "alone.html").code == 0
    assert trials_of((tmp_path / "alone.html").read_text()) == trials_of(text)


def test_nothing_is_written_where_nothing_changed(own):
    before = stamps(own / "site")
    done = build(own)
    assert (done.code, done.out) == (0, "site/index.html\n")
    assert done.err == "0 pages written, 8 unchanged, 0 removed\n"
    assert written(own / "site", before) == []


def test_new_run_writes_its_page_the_link_to_it_and_the_index(own):
    before = stamps(own / "site")
    made = Nights(own / "runs", n_cases=10, repetitions=2)
    made.runs = dict.fromkeys(f"night-{n:03d}" for n in range(1, 9))
    made.add(rates={"careful": 0.9, "fallen": 0})
    assert build(own).err == "2 pages written, 7 unchanged, 0 removed\n"
    assert written(own / "site", before) == [
        "index.html",
        "runs/night-006.html",
        "runs/night-009.html",
    ]


def test_changed_run_writes_its_page_and_those_after_it(own):
    assert call("label", "night-005", "golden", "--runs", own / "runs").code == 0
    before = stamps(own / "site")
    build(own)
    assert written(own / "site", before) == [
        "index.html",
        "runs/night-005.html",
        "runs/night-006.html",
    ]
    assert "golden" in (own / "site" / "index.html").read_text()


def test_run_that_is_gone_takes_its_page_along(own):
    for name in ("night-008", "lake"):
        shutil.rmtree(own / "runs" / name)
    assert build(own).err == "1 page written, 6 unchanged, 1 removed\n"
    assert not (own / "site" / "runs" / "night-008.html").exists()
    assert "night-008" not in (own / "site" / "index.html").read_text()


def test_files_of_others_in_the_site_stay(own):
    kept = [own / "site" / "runs" / "notes.html", own / "site" / "assets" / "logo.svg"]
    for path in kept:
        path.write_text("mine")
    (own / "site" / "assets" / "style-0123456789ab.css").write_text("of a version before")
    build(own)
    assert [path.read_text() for path in kept] == ["mine", "mine"]
    assert not (own / "site" / "assets" / "style-0123456789ab.css").exists()


def test_page_that_was_cut_or_deleted_is_made_again(own):
    whole = (own / "site" / "runs" / "night-002.html").read_bytes()
    (own / "site" / "runs" / "night-002.html").write_bytes(whole[:-200])
    (own / "site" / "runs" / "night-004.html").unlink()
    assert build(own).err.startswith("2 pages written")
    assert (own / "site" / "runs" / "night-002.html").read_bytes() == whole


def test_transcripts_and_thresholds_are_part_of_a_page(tmp_path):
    small_nights(tmp_path)
    build(tmp_path)
    assert build(tmp_path, "--transcripts", "0").err.startswith("2 pages written")
    assert trials_of((tmp_path / "site" / "runs" / "night-002.html").read_text()) == []
    (tmp_path / "benchlake.yaml").write_text("schema_version: 1\nthresholds:\n  alpha: 0.01\n")
    assert build(tmp_path, "--transcripts", "0").err.startswith("2 pages written")


def test_acknowledged_shift_is_no_news_and_no_later_page_is_told_of(own):
    (own / "known.toml").write_text(
        'schema_version = 1\n[[acknowledged]]\nsuite_id = "smoke"\nmodel_id = "fallen"\n'
        'metric = "passed_rate"\nfirst_run = "night-004"\ndirection = "down"\n'
        'reason = "a new prompt"\nauthor = "us"\n'
    )
    before = stamps(own / "site")
    assert build(own, "--known", own / "known.toml").code == 0
    assert "No level shift for the worse stands open" in (own / "site/index.html").read_text()
    assert "a new prompt" in (own / "site" / "runs" / "night-006.html").read_text()
    early = (own / "site" / "runs" / "night-003.html").read_text()
    assert "acknowledged, and no such shift" not in early
    assert "runs/night-006.html" in written(own / "site", before)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--run", "night-001"), "--run is of one run"),
        (("--baseline", "previous"), "--baseline is of one run"),
    ],
)
def test_what_is_of_one_run_is_refused(own, more, words):
    done = build(own, *more)
    assert done.code == 2
    assert words in " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.err).split())


def test_one_runs_folder_makes_no_site(own):
    done = call("report", own / "runs" / "night-001", "-o", own / "site")
    assert done.code == 2
    assert "-o report.html" in done.err


def test_folder_of_something_else_is_left_alone(own):
    other = own / "documents"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    done = call("report", own / "runs", "-o", other)
    assert done.code != 0
    assert "documents" in done.err
    assert "--force" in done.err
    assert [path.name for path in other.iterdir()] == ["letter.txt"]
    assert call("report", own / "runs", "-o", other, "--force").code == 0
    assert (other / "letter.txt").read_text() == "dear"
    assert (other / "index.html").is_file()


def test_folder_of_the_runs_is_no_place_for_a_site(own):
    before = sorted(path.name for path in (own / "runs").iterdir())
    assert call("report", own / "runs", "-o", own / "runs").code != 0
    assert sorted(path.name for path in (own / "runs").iterdir()) == before


def test_file_without_an_end_is_no_folder(own):
    (own / "page").write_text("mine")
    done = call("report", own / "runs", "-o", own / "page")
    assert done.code != 0
    assert "is no folder" in done.err
    assert (own / "page").read_text() == "mine"


def test_run_that_cannot_be_reported_keeps_no_other_from_its_page(own):
    (own / "runs" / "night-003" / "config.json").write_text("{torn")
    done = build(own)
    assert done.code == 1
    assert "no page of run night-003: " in done.err
    assert "config.json" in done.err
    text = (own / "site" / "index.html").read_text()
    assert "runs/night-003.html" not in text
    assert "no page" in text
    assert not (own / "site" / "runs" / "night-003.html").exists()
    assert "runs/night-006.html" in text


def test_link_to_nowhere_among_the_files_of_a_run_is_no_part_of_its_page(own):
    (own / "runs" / "night-002" / "notes.txt").symlink_to(own / "gone.txt")
    assert build(own).err == "0 pages written, 8 unchanged, 0 removed\n"


def test_no_runs_yet_is_a_site_that_says_how_to_begin(tmp_path):
    (tmp_path / "runs").mkdir()
    assert build(tmp_path).code == 0
    assert "collect demo" in (tmp_path / "site" / "index.html").read_text()


def test_a_folder_without_runs_empties_no_site(own):
    before = stamps(own / "site")
    (own / "other").mkdir()
    with contextlib.chdir(own):
        done = call("report", "other", "-o", "site")
    assert (done.code, done.out) == (2, "")
    assert "no run `latest` in other; there are no runs" in done.err
    assert stamps(own / "site") == before


def test_names_that_would_act_are_shown(tmp_path):
    made = Nights(tmp_path / "runs", **SMALL)
    for n, hostile in enumerate([one for one in STRINGS if one.isascii()][::9]):
        made.add(rates={"one": 0.7}, suite_id=f"suite-{n}", suite_title=hostile, labels=[hostile])
    done = build(tmp_path)
    assert done.code == 0, done.err
    text = (tmp_path / "site" / "index.html").read_text()
    parser = Links()
    parser.feed(text)
    assert text.count("<script") == 1
    assert all(link.startswith(("#", "runs/", "assets/")) for link in parser.found)


@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("night-001", "night-001.html"),
        ("a (b)", None),
        ("../../etc", None),
        ("x" * 300, None),
        ("é" * 120, None),
    ],
)
def test_page_names_are_safe_everywhere(run_id, name):
    found = page_name(run_id)
    assert name in (None, found)
    assert re.fullmatch(r"[A-Za-z0-9._()-]{1,200}", found)
    assert not found.startswith(".")


MANY = site_pages.FEW + 2


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return a folder with more runs than one process makes pages of."""
    folder = tmp_path_factory.mktemp("many")
    small_nights(folder, MANY)
    return folder


@pytest.mark.peers
def test_processes_make_the_pages_that_one_makes(many, tmp_path, monkeypatch):
    shutil.copytree(many / "runs", tmp_path / "runs")
    done = build(tmp_path)
    assert done.err == f"{MANY} pages written, 0 unchanged, 0 removed\n"
    monkeypatch.setattr(site_pages, "FEW", 100)
    with contextlib.chdir(tmp_path):
        assert call("report", "runs", "-o", "here").code == 0
    for path in sorted((tmp_path / "site").rglob("*")):
        if path.is_file():
            name = path.relative_to(tmp_path / "site")
            assert path.read_bytes() == (tmp_path / "here" / name).read_bytes(), name


COMMAND = [sys.executable, "-m", "analyze", "report", "runs", "-o", "site"]


def started(folder):
    """Start a build, and return its process as soon as the first pages are there."""
    process = subprocess.Popen(
        COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not list(folder.glob("site/runs/*.html")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.mark.peers
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, None])
def test_stopped_build_leaves_no_process_and_is_gone_on_with(many, tmp_path, number, monkeypatch):
    shutil.copytree(many / "runs", tmp_path / "runs")
    process = started(tmp_path)
    helpers = psutil.Process(process.pid).children(recursive=True)
    assert helpers
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    elif number == signal.SIGKILL:
        process.send_signal(number)
    else:  # as a machine without memory does
        next(one for one in helpers if any("spawn_main" in word for word in one.cmdline())).kill()
    out, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert ("a process that makes pages was killed" in err) == (number is None)
    psutil.wait_procs(helpers, timeout=15)
    assert not any(one.is_running() for one in helpers)
    assert not list(tmp_path.glob("site/**/*.tmp*"))
    monkeypatch.setattr(site_pages, "FEW", 100)
    done = build(tmp_path)
    assert done.code == 0
    assert re.fullmatch(r"\d+ pages? written, \d+ unchanged, 0 removed\n", done.err)
    assert len(list(tmp_path.glob("site/runs/*.html"))) == MANY
    assert build(tmp_path).err == f"0 pages written, {MANY} unchanged, 0 removed\n"
    del out


def test_full_disk_is_a_sentence_and_what_was_there_stays(own):
    """The style and the script have room, the pages have none."""
    with mounted_disk(own / "small", "300k") as disk:
        done = call("report", own / "runs", "-o", disk.folder / "site")
        assert done.code != 0
        assert os.strerror(errno.ENOSPC) in done.err
        assert json.loads((disk.folder / "site" / "site.json").read_bytes())["made_by"]
        disk.resize("20m")
        assert call("report", own / "runs", "-o", disk.folder / "site").code == 0
        assert len(list(Path(disk.folder / "site" / "runs").iterdir())) == 8


@pytest.mark.peers
def test_two_builds_at_once_make_one_site(many, tmp_path):
    shutil.copytree(many / "runs", tmp_path / "runs")
    both = [
        subprocess.Popen(
            COMMAND, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert build(tmp_path).err == f"0 pages written, {MANY} unchanged, 0 removed\n"
