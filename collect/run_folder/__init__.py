"""What a run keeps on the disk, and how it is kept."""
