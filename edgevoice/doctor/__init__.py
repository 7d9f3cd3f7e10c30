"""`edgevoice doctor`: one page about this machine, each line with its mend. One module per subject."""
