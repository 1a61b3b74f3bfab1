"""Charts, one idea a file: a frame goes in, an `alt.Chart` comes out.

The frames are those of `analyze.frames`, of records whose numbers SQL has aggregated already; what
a chart needs of them stands in its docstring. `drawn` makes pictures, `specs` what a page draws.
"""
