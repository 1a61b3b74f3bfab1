"""Other tools' results, answered where they lie: imported into a folder that goes again."""
