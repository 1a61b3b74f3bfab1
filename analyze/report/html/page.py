"""One HTML file of a report: the only room that knows the template engine.

Every value that a template prints is made visible first and escaped then, in one place; only
scripts, the style and data that is made safe here stand in the page as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import cast

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analyze.render.numbers import duration, moment, whole
from analyze.report.html.assets import SCRIPTS, STYLE, read_asset, read_template
from analyze.report.html.chart_bundle import fetched_bundle
from analyze.report.html.clean import visible, visible_in
from analyze.report.html.csp import policy
from analyze.report.html.sections import sections_of
from analyze.report.html.table import Mark
from analyze.report.sentences import headline_of
from schemas.errors import counted
from schemas.output.report import RunReport
from schemas.run.model_names import id_of

PAGE = "page.html.j2"

IN_DATA = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})
"""What JSON may hold and an element of a page may not, as JSON's escapes of it."""


def render_html(
    report: RunReport,
    charts: Mapping[str, object],
    bundle: Callable[[], str] = fetched_bundle,
) -> str:
    """Return a report as one HTML file, which needs no other and asks for none.

    Args:
        report: the typed parts; nothing else is shown.
        charts: `config` of all charts, and `specs` by name; a chart without a spec is left out.
        bundle: gives the library of the charts; not asked without a chart.

    Raises:
        AnalyzeError: the library of the charts cannot stand in a page.
    """
    specs = cast("Mapping[str, object]", charts.get("specs") or {})
    fetched = [bundle()] if specs else []
    scripts = [*fetched, *map(read_asset, SCRIPTS)]
    style = read_asset(STYLE)
    return (
        _environment()
        .get_template(PAGE)
        .render(
            report=report,
            headline=headline_of(report),
            sections=sections_of(report),
            charts=specs.keys(),
            data=_data(charts) if specs else "",
            policy=policy(scripts, [style]),
            style=Markup(style),  # noqa: S704 - packaged with us
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - packaged with us
        )
    )


@cache
def _environment() -> Environment:
    """Return the engine, which compiles each template once."""
    environment = Environment(
        loader=FunctionLoader(read_template),
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters.update(
        moment=moment,
        whole=whole,
        counted=counted,
        duration=duration,
        since=_since,
        model_id=id_of,
    )
    environment.filters["groupby_href"] = _runs_of_links
    return environment


def _runs_of_links(marks: Sequence[Mark]) -> list[tuple[str, list[Mark]]]:
    """Return marks in their order, those without a link together."""
    return [(href, list(same)) for href, same in groupby(marks, key=lambda mark: mark.href)]


def _since(ms: int) -> str:
    """Return a distance in time: `+1.2s`, also of a clock that was set back."""
    return ("-" if ms < 0 else "+") + duration(abs(ms))


def _shown(value: object) -> object:
    """Return a value as templates print it: text from outside with nothing in it that acts."""
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else value


def _data(charts: Mapping[str, object]) -> Markup:
    """Return the charts as JSON that cannot end the element it stands in."""
    text = json.dumps(visible_in(dict(charts)), separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(IN_DATA))  # noqa: S704 - made safe in the line above
