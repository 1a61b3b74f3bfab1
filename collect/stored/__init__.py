"""`collect check`: the checks of stored trials, made again as they stand now."""
