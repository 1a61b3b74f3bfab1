"""Other tools' files to run folders, one file a format; from there they walk like any other run."""
