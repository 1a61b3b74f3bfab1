"""How often tools fail, and in which ways, a second time: the marts of a model rather than a trial.

The interval is S3 of docs/statistics.md with fractions; nothing of the project is imported.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import sqrt

from tests.support.plain_trials import (
    MODEL,
    REFUSED,
    failed,
    in_order,
    known_sum,
    run_place,
)

Z95 = 1.959963984540054


def tool_errors(trials, clusters):
    groups = defaultdict(list)
    for trial in trials:
        for call in trial.calls:
            group = (*(trial.key[name] for name in MODEL), call["tool"])
            groups[group].append((trial.key["suite_id"], trial.key["case_id"], call))
    rows = []
    for group, made in groups.items():
        calls = [call for *_, call in made]
        results = [call["result"] for call in calls if call["result"] is not None]
        units = defaultdict(list)
        for suite_id, case_id, call in made:
            cluster = clusters.get((suite_id, case_id))
            unit = ("case", case_id) if cluster is None else ("cluster", cluster)
            if call["result"] is not None:
                units[suite_id, unit].append(call["result"]["is_error"])
        errors = [result for result in results if result["is_error"]]
        row = dict(zip((*MODEL, "tool"), group, strict=True)) | {
            "n_cases": len({case_id for _, case_id, _ in made}),
            "n_calls": len(calls),
            "n_results": len(results),
            "n_errors": len(errors),
            "n_refused": sum(result["error_class"] in REFUSED for result in errors),
            "n_exit_codes": sum(result["error_class"] == "exit_code" for result in errors),
            "n_truncated": sum(result["truncated"] is True for result in results),
            "duration_ms": known_sum(result["duration_ms"] for result in results),
        }
        rows.append(row | error_rate([(sum(unit), len(unit)) for unit in units.values()]))
    return in_order(rows, *MODEL, "tool")


def error_rate(units):
    """The mean over units of failed / known, with its interval (S3)."""
    names = ("error_rate", "error_rate_low", "error_rate_high", "effective_results")
    row = dict.fromkeys(names)
    n = len(units)
    if not n:
        return row
    rates = [Fraction(k, m) for k, m in units]
    p = sum(rates) / n
    row["error_rate"] = float(p)
    if n < 2:
        return row
    inverse = sum(Fraction(1, m) for _, m in units)
    m_h = n / inverse
    expected = 1 + Fraction(6, 10) * (m_h - 1)
    alone = p * (1 - p) * inverse / n**2
    weight = n * min(p, 1 - p)
    measured = Fraction(1)
    if alone:
        spread = sum((rate - p) ** 2 for rate in rates) / (n - 1) / n
        measured = min(max(spread / alone, Fraction(1)), m_h)
    n_eff = float(n * m_h * (2 + weight) / (2 * expected + weight * measured))
    share = float(p)
    middle = share + Z95**2 / (2 * n_eff)
    half = Z95 * sqrt(share * (1 - share) / n_eff + Z95**2 / (4 * n_eff**2))
    whole = 1 + Z95**2 / n_eff
    limits = (max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole))
    return dict(zip(names, (share, *limits, n_eff), strict=True))


def error_signatures(trials, places):
    groups, calling, having = defaultdict(list), defaultdict(set), defaultdict(set)
    for trial in trials:
        run_id, *model = (trial.key[name] for name in MODEL)
        series = (*model[:3], trial.key["suite_id"])
        for call in trial.calls:
            calling[series].add(run_id)
            if failed(call):
                result = call["result"]
                way = (call["tool"], result["error_class"], result["result_norm_hash"])
                groups[run_id, model[3], series, way].append((trial.key, result["step_no"]))
                having[series, way].add(run_id)
    rows = []
    for (run_id, model_id, series, way), found in groups.items():
        place = run_place(places, run_id)
        had = sorted(run_place(places, one) for one in having[series, way])
        example = min(key["record_no"] for key, _ in found)
        row = dict(zip((*MODEL[1:4], "suite_id"), series, strict=True)) | {
            "run_id": run_id,
            "model_id": model_id,
            "tool": way[0],
            "error_class": way[1],
            "signature": way[2],
            "n_errors": len(found),
            "n_trials": len({key["record_no"] for key, _ in found}),
            "n_cases": len({key["case_id"] for key, _ in found}),
            "n_earlier_runs": sum(one < place for one in had),
            "first_run_id": had[0][-1],
            "is_new": None,
            "example_record_no": example,
            "example_step_no": min(no for key, no in found if key["record_no"] == example),
        }
        if any(run_place(places, one) < place for one in calling[series]):
            row["is_new"] = row["n_earlier_runs"] == 0
        rows.append(row)
    order = (*MODEL, "n_errors", "tool", "error_class", "signature")
    return in_order(rows, *order, descending=("n_errors",))
