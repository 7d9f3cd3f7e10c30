"""edgevoice: a voice assistant that lives entirely on a small computer."""

import os

__version__ = "0.1.0"

# NumPy's and SciPy's OpenBLAS read this when they are first imported. Their products here are small; a second thread
# would gain nothing, and would spin for tens of milliseconds after each of them on a core that another stage needs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# llama.cpp's threads meet at a barrier hundreds of times a token, and OpenMP's default is to spin there for ever: as soon
# as another thread wants a core, a token takes ten times as long. To sleep at once costs more than it saves (30 ms a token
# with two threads instead of 13), so they look about some thousand times (tens of microseconds) and then sleep. OpenMP
# reads this when the first library that uses it (CTranslate2, llama.cpp) is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
