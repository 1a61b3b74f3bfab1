"""Forty sums that each tool asks three times, and what our pages say of its own headline on them.

Some are always answered right and some never, most now and then, and a provider refuses four.
"""

import json
from collections import Counter

from tests.support.analyze_cli import call
from tests.support.paths import ROOT

N, REPEATS = 40, 3


def _answers(number):
    """Return what is said to a sum at each repetition."""
    right, wrong = str(2 * number), str(2 * number + 1)
    verbose = f"{right} it is"
    return {
        0: [right] * REPEATS,
        1: [wrong] * REPEATS,
        2: [right, wrong, right] if number % 3 else [wrong, wrong, right],
        3: [verbose, right, right],
        4: [wrong, right, wrong] if number % 3 else [right, right, wrong],
    }[number % 5]


ANSWERS = {f"{n}+{n}": _answers(n) for n in range(100, 100 + N)}
"""By question, at each repetition."""

REFUSED = frozenset(f"{n}+{n}" for n in range(100, 100 + N) if n % 10 == 7)


class Said:
    """What a scripted model says to a question, the first time and later."""

    def __init__(self):
        self._asked = Counter()

    def __call__(self, question):
        self._asked[question] += 1
        return ANSWERS[question][self._asked[question] - 1]


def figures(path, page):
    """Return what `analyze look` finds behind each headline of a file, as rows of a page.

    Args:
        path: of the tool's output.
        page: whose text has to hold every row.
    """
    done = call("look", path, "--format", "json")
    assert done.code == 0, done.err
    rows = [_row(one) for one in json.loads(done.out)["headlines"] if one["ci95"]]
    text = (ROOT / "docs" / page).read_text()
    assert rows
    assert [one for one in rows if one not in text] == []
    return rows


def _row(one):
    stderr = "none" if one["stderr"] is None else f"± {one['stderr']:.3f}"
    low, high = one["ci95"]
    counts = f"{one['n_scored']} of {one['n_trials']}, {one['n_cases']} cases"
    return (
        f"| {one['name']} {one['metric']} | {one['value']:.3f} | {stderr} | {counts} "
        f"| {low:.3f} to {high:.3f} | {one['smallest_difference']:.3f} |"
    )
