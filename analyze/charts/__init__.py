"""Charts, one idea a file: a frame goes in, an `alt.Chart` comes out.

The frames are those of `analyze.query.frames`, of records whose numbers SQL has aggregated already;
what a chart needs of them stands in its docstring. `draw` makes pictures, `registry` has all kinds.
"""
