"""What a comparison reads of the lake, without loading what it computes with."""
