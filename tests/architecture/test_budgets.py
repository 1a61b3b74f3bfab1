"""Budgets as benchmarks judge them are those that docs/dev/budgets.md promises."""

import ast
import re

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "dev" / "budgets.md"
ROW = re.compile(r'^\| <a id="[^"]+"></a>(P-\w+) \|(.+)\|$', re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def promised():
    """Return the limits of each budget, must and stretch together, as the page has them."""
    rows = {}
    for name, cells in ROW.findall(PAGE.read_text(encoding="utf-8")):
        _, _, must, stretch = cells.split("|")[:4]
        found = NUMBER.findall(f"{must} {stretch}")
        rows[name] = {float(number.replace(",", "")) for number in found}
    return rows


def judged():
    """Yield the name and the limits of each budget of the benchmarks."""
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Budget":
                name, _, _, *limits = node.args[:5]
                yield (
                    ast.literal_eval(name),
                    {float(one.value) for one in limits if one.value is not None},
                )


def test_a_budget_is_judged_by_the_limits_that_the_page_promises():
    rows, found = promised(), list(judged())

    assert len(found) > 30
    for name, limits in found:
        assert limits <= rows[name], name


def test_every_budget_of_the_page_is_measured():
    by_start_up = {"P-8", "P-A11"}
    text = (ROOT / "benchmarks" / "startup.py").read_text(encoding="utf-8")

    assert promised().keys() - {name for name, _ in judged()} == by_start_up
    assert all(name in text for name in by_start_up)
