"""The report as one HTML file that needs nothing beside itself: no server, no network, no script.

Scripts only add to it: charts are drawn, tables sort, transcripts are searched.
"""
