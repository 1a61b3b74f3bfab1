"""Files and streams, as both programs use them."""
