"""How wide the channel blocks of ONNX Runtime's fast convolutions are on this processor."""

from __future__ import annotations

import base64
from functools import lru_cache

import numpy as np
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph, NotImplemented, RuntimeException

from edgevoice.models.onnx import options

CHANNELS = 64
"""Of the probe."""
PROBE = (
    "CAgSCWVkZ2V2b2ljZTpwCj8KAXgSAXkiDFJlb3JkZXJJbnB1dCoUCg1jaGFubmVsc19sYXN0GACgAQI6E2NvbS5taWNyb3NvZnQu"
    "bmNod2MSBXByb2JlWhsKAXgSFgoUCAESEAoCCAEKAghACgIIAQoCCAJiCQoBeRIECgIIAUIECgAQFEIXChNjb20ubWljcm9zb2Z0"
    "Lm5jaHdjEAE="
)
"""A model of one operator, `ReorderInput` of the domain com.microsoft.nchwc, x [1, 64, 1, 2] -> y. Stored as text so that
a start needs no `onnx` package; a test holds it against a newly made one.
"""


@lru_cache(maxsize=1)
def block_size() -> int:
    """Channels in a block (8 with AVX, 16 with AVX-512); 1 if this ONNX Runtime has no such layout here.

    Found by looking at what its own conversion makes of numbered channels.
    """
    quiet = options(1)
    quiet.log_severity_level = 4  # where there is no such layout, that is no error
    try:
        session = onnxruntime.InferenceSession(base64.b64decode(PROBE), quiet, providers=["CPUExecutionProvider"])
    except (Fail, InvalidGraph, NotImplemented, RuntimeException):
        return 1
    numbered = np.tile(np.arange(CHANNELS, dtype=np.float32)[None, :, None, None], (1, 1, 1, 2))
    order = np.asarray(session.run(None, {"x": numbered})[0]).reshape(-1)
    return next((i + 1 for i in range(CHANNELS) if order[i + 1] < order[i]), 1)
