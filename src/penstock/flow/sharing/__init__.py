"""One run of a flow for several subscribers."""
