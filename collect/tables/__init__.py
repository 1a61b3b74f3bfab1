"""From a table of questions and answers to a suite: `collect init DIR --from data.csv`."""
