"""A process that is made of another one: whole, alone, and never the one that it was made of."""

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux alone")

BEGINNING = """
import json, os, subprocess, sys, threading, time
from pathlib import Path
from collect.dispatch.forked import forked, may_fork
here = Path(sys.argv[1])
"""


@pytest.fixture
def output_of(tmp_path):
    """Run a program of one thread in a folder, and return what it prints."""

    def run(source):
        words = [sys.executable, "-c", BEGINNING + textwrap.dedent(source), str(tmp_path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


def test_it_has_nothing_open_but_its_pipes_and_its_log(output_of, tmp_path):
    seen = output_of("""
        def entry():
            found = {n: os.readlink(f"/proc/self/fd/{n}") for n in range(100)
                     if os.path.exists(f"/proc/self/fd/{n}")}
            os.write(1, json.dumps(found).encode())
            return 7

        secret = open(here / "other", "w")
        first, second = forked(here, entry), forked(here, entry)
        files = [json.loads(one.stdout.read()) for one in (first, second)]
        print(json.dumps([files, first.wait(), second.wait()]))
    """)

    files, *codes = seen
    assert codes == [7, 7]
    for found in files:
        assert [*found] == ["0", "1", "2"]
        assert found["0"].startswith("pipe:")
        assert found["1"].startswith("pipe:")
        assert found["2"] == str(tmp_path / "run.log")


def test_it_hears_when_the_one_it_was_made_of_is_gone_whoever_was_made_later(output_of):
    gone = output_of("""
        def entry():
            while os.read(0, 100):
                pass
            os.write(1, b"alone")
            return 0

        first, second = forked(here, entry), forked(here, entry)
        first.stdin.close()
        heard = first.stdout.read().decode()
        second.kill()
        print(json.dumps([heard, first.wait(), second.wait(), second.wait()]))
    """)

    assert gone == ["alone", 0, -9, -9]


def test_what_it_raises_stands_in_its_log_and_what_comes_after_is_done_once(output_of, tmp_path):
    codes = output_of("""
        def entry():
            raise KeyboardInterrupt("of a child")

        def leaves():
            sys.exit(0)

        try:
            found = [forked(here, one).wait() for one in (entry, leaves)]
        finally:
            with open(here / "ended", "a") as file:
                file.write("once")
        print(json.dumps(found))
    """)

    assert codes == [1, 1]
    assert "KeyboardInterrupt: of a child" in (tmp_path / "run.log").read_text()
    assert (tmp_path / "ended").read_text() == "once"


def test_it_is_in_a_session_of_its_own_and_takes_its_time(output_of):
    found = output_of("""
        def entry():
            os.write(1, str(os.getsid(0) == os.getpid()).encode())
            os.read(0, 1)
            return 0

        one = forked(here, entry)
        own = os.read(one.stdout.fileno(), 10).decode()
        try:
            one.wait(0.05)
            timed_out = False
        except subprocess.TimeoutExpired:
            timed_out = True
        one.stdin.close()
        print(json.dumps([own, timed_out, one.wait(20)]))
    """)

    assert found == ["True", True, 0]


def test_no_process_is_made_of_one_with_a_second_thread(output_of):
    found = output_of("""
        before, end = may_fork(), threading.Event()
        other = threading.Thread(target=end.wait)
        other.start()
        during = may_fork()
        end.set()
        other.join()
        print(json.dumps([before, during, may_fork()]))
    """)

    assert found == [True, False, True]


def test_a_thread_that_has_ended_is_none_though_the_system_has_not_removed_it(output_of):
    n_refused = output_of("""
        from concurrent.futures import ThreadPoolExecutor

        n_refused = 0
        for _ in range(1000):  # of which some thirty find one that is not removed yet
            with ThreadPoolExecutor(4) as pool:
                [*pool.map(time.sleep, [0] * 8)]
            n_refused += not may_fork()
        print(json.dumps(n_refused))
    """)

    assert not n_refused
