"""Files and streams: how they are opened, and what stands in them."""
