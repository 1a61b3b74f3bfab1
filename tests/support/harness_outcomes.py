"""Instances of every outcome that the SWE-bench harness knows, and predictions outside."""

from analyze.exporters.swebench import HarnessInstance

MODEL, RUN_ID = "acme/coder", "night.1"

INSTANCES = [
    HarnessInstance("astropy__astropy-1", "resolved"),
    HarnessInstance("django__django-10", "resolved"),
    HarnessInstance("django__django-2", "unresolved"),
    HarnessInstance("flask__flask-3", "unresolved", "out_of_memory"),
    HarnessInstance("pylint__pylint-4", "unresolved", "no_tests_collected"),
    HarnessInstance("pytest__pytest-5", "empty_patch"),
    HarnessInstance("requests__requests-6", "empty_patch"),
    HarnessInstance("seaborn__seaborn-7", "error"),
    HarnessInstance("sphinx__sphinx-8", "error", "container_unavailable"),
    HarnessInstance("sympy__sympy-9", "unreadable"),
    HarnessInstance("xarray__xarray-11", "unreadable", "tests_timed_out"),
    HarnessInstance("zope__zope-12", "incomplete"),
]

OUTSIDE = ("other__other-1",)
