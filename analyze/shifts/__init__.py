"""What the runs of a suite say over time: level shifts of series, shifts of cells, flaky cells."""
