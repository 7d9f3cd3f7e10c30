"""One module per verb of the command line, each with `configure(parser)` and `run(args) -> int`."""
