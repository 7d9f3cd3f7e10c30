"""llama.cpp at its low level: one model, one context, full control over what is in the KV cache.

The high-level wrapper of llama-cpp-python decides by itself what to evaluate again and keeps large logit buffers. A
voice assistant lives on reuse, so this class keeps its own list of the tokens in each sequence and cuts and extends it.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from edgevoice.errors import InternalError, ModelDataError, ModelMissingError, SettingsError
from edgevoice.llm.generator import Cancelled, PromptUse

log = logging.getLogger(__name__)

BATCH = 64
"""Tokens evaluated between two looks at `cancelled`; also the physical batch, so that work buffers stay small."""
MAX_OUTPUTS = 4
"""Positions of one batch whose scores can be asked for."""

Scores = NDArray[np.float32]
"""Unnormalised log probabilities of every token of the vocabulary, shape [vocabulary]."""

_MESSAGE_LEVELS = {2: logging.DEBUG, 3: logging.DEBUG, 4: logging.DEBUG}
"""llama.cpp's warnings and errors; what matters comes back as a return value and is raised as a typed error."""


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _: ctypes.c_void_p) -> None:
    if level in _MESSAGE_LEVELS:
        log.log(_MESSAGE_LEVELS[level], "llama.cpp: %s", text.decode("utf-8", "replace").rstrip())


class Engine:
    """One GGUF model with a KV cache of `context` tokens, shared by `sequences` independent token sequences.

    `load` before anything else, `close` at the end; not thread-safe.
    """

    def __init__(self, path: Path, context: int, threads: int, sequences: int = 1) -> None:
        self.path, self.context, self._threads, self._sequences = path, context, threads, sequences
        self._cached: list[list[int]] = [[] for _ in range(sequences)]
        self._scores: list[dict[int, Scores]] = [{} for _ in range(sequences)]
        self._model: lib.llama_model_p | None = None
        self._context: lib.llama_context_p | None = None
        self._batch: Any = None

    # --- life ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Map the model into memory and make a context.

        Raises ModelMissingError, ModelDataError (damaged), SettingsError (context too large for this machine).
        """
        if not self.path.is_file():
            raise ModelMissingError(str(self.path), "no such model file", "see `edgevoice models list`")
        lib.llama_log_set(_log, ctypes.c_void_p(0))
        lib.llama_backend_init()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.load_mode = lib.LLAMA_LOAD_MODE_MMAP
        params.use_extra_bufts = repacks(lib.llama_print_system_info().decode())
        self._model = lib.llama_model_load_from_file(str(self.path).encode(), params)
        if not self._model:
            mend = "fetch or copy the file again; `edgevoice models verify` checks all"
            raise ModelDataError(
                str(self.path), "llama.cpp cannot load it: damaged, truncated or of a newer format", mend
            )
        self._vocab = lib.llama_model_get_vocab(self._model)
        self.vocabulary_size = lib.llama_vocab_n_tokens(self._vocab)
        self._make_context()

    def _make_context(self) -> None:
        params = lib.llama_context_default_params()
        params.n_ctx = self.context
        params.n_batch = params.n_ubatch = BATCH
        params.n_seq_max = self._sequences
        params.n_threads = params.n_threads_batch = self._threads
        # One logit row is a quarter of a million floats: few are ever wanted.
        params.n_outputs_max = MAX_OUTPUTS
        # Sliding-window layers drop what leaves the window, after which nothing can be cut back. Keeping all of it
        # costs some megabytes and makes reuse of the prompt possible at all.
        params.swa_full = True
        params.kv_unified = True
        params.no_perf = True
        self._context = lib.llama_init_from_model(self._model, params)
        if not self._context:
            raise SettingsError(
                "llm.context", f"no room for {self.context} tokens of context", "choose a smaller value"
            )
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(BATCH, 0, 1)

    def close(self) -> None:
        """Give all memory back; may be called twice."""
        if self._batch is not None:
            lib.llama_batch_free(self._batch)
            self._batch = None
        if self._context:
            lib.llama_free(self._context)
            self._context = None
        if self._model:
            lib.llama_model_free(self._model)
            self._model = None
        self._cached = [[] for _ in range(self._sequences)]
        self._scores = [{} for _ in range(self._sequences)]

    def set_threads(self, threads: int) -> None:
        """Use another number of threads from now on, for single tokens and for batches."""
        self._threads = threads
        lib.llama_set_n_threads(self._context, threads, threads)

    # --- text and tokens -------------------------------------------------------------------------------------------

    def tokenize(self, text: str, start: bool = False, special: bool = False) -> list[int]:
        """Token ids of `text`. `start` puts the model's begin-of-text token before it; `special` reads control tokens
        written in the text (chat templates), which text of a user must never do."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 2
        buffer = (lib.llama_token * size)()
        count = lib.llama_tokenize(self._vocab, raw, len(raw), buffer, size, start, special)
        return list(buffer[:count])

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for; control tokens are empty. One character may be spread over several tokens."""
        buffer = ctypes.create_string_buffer(256)
        count = lib.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
        return buffer.raw[: max(count, 0)]

    def is_end(self, token: int) -> bool:
        """Whether the model says with this token that it has finished."""
        return bool(lib.llama_vocab_is_eog(self._vocab, token))

    def end_text(self) -> str:
        """The text of the model's end-of-turn token, empty if it has none."""
        token = lib.llama_vocab_eot(self._vocab)
        token = token if token >= 0 else lib.llama_vocab_eos(self._vocab)
        text = lib.llama_vocab_get_text(self._vocab, token) if token >= 0 else b""
        return (text or b"").decode("utf-8", "replace")

    def metadata(self, key: str) -> str:
        """A metadata value of the model file, e.g. `general.name`; empty if absent."""
        buffer = ctypes.create_string_buffer(1 << 16)
        count = lib.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if count >= 0 else ""

    # --- evaluation ------------------------------------------------------------------------------------------------

    def cached(self, sequence: int = 0) -> list[int]:
        """The tokens whose keys and values are in the cache."""
        return self._cached[sequence]

    def evaluate(
        self, tokens: Sequence[int], cancelled: Cancelled, sequence: int = 0, outputs: Sequence[int] = ()
    ) -> PromptUse:
        """Make the cache of `sequence` hold exactly `tokens`, evaluating only what is not there yet.

        Afterwards `scores` knows what comes after each position named in `outputs` and after the last token; asking for
        a few more positions of one batch costs next to nothing. Stops between batches of `BATCH` tokens when
        `cancelled`; what was evaluated until then stays. Raises InternalError if llama.cpp fails.
        """
        wanted = {*outputs, len(tokens) - 1}
        keep = common_prefix(self._cached[sequence], tokens)
        # The scores after a token exist only if it was evaluated with that wish.
        keep = min([keep, *(p for p in wanted if p not in self._scores[sequence])])
        done = keep = self.cut(keep, sequence)
        while done < len(tokens) and not cancelled():
            chunk = tokens[done : done + BATCH]
            self._decode(chunk, sequence, [p - done for p in wanted if done <= p < done + len(chunk)])
            done += len(chunk)
        return PromptUse(tokens=len(tokens), evaluated=done - keep, reused=keep)

    def scores(self, position: int, sequence: int = 0) -> Scores | None:
        """Scores of every token to come after the one at `position`; None unless `evaluate` was asked for it."""
        return self._scores[sequence].get(position)

    def append(self, token: int, sequence: int = 0) -> Scores:
        """Evaluate one more token; the scores of what comes next, a view that is valid until the next evaluation."""
        self._decode([token], sequence, [])
        return self._row(-1)

    def _decode(self, tokens: Sequence[int], sequence: int, outputs: Sequence[int]) -> None:
        batch, position = self._batch, len(self._cached[sequence])
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = position + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = i in outputs or len(tokens) == 1
        code = lib.llama_decode(self._context, batch)
        if code != 0:
            self.cut(0, sequence)
            raise InternalError("language model", f"llama.cpp's decode returned {code}")
        self._cached[sequence].extend(tokens)
        for i in outputs:
            self._scores[sequence][position + i] = self._row(i).copy()

    def _row(self, index: int) -> Scores:
        pointer = lib.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary_size,))

    def cut(self, length: int, sequence: int = 0) -> int:
        """Keep only the first `length` tokens; returns how many could be kept (0 if the cache refuses a part)."""
        length = max(length, 0)
        if length >= len(self._cached[sequence]):
            return len(self._cached[sequence])
        if not lib.llama_memory_seq_rm(self._memory, sequence, length, -1):
            lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            length = 0
        del self._cached[sequence][length:]
        self._scores[sequence] = {p: row for p, row in self._scores[sequence].items() if p < length}
        return length

    # --- saved state -----------------------------------------------------------------------------------------------

    def state(self, sequence: int = 0) -> bytes:
        """The keys and values of one sequence, as bytes for `restore`."""
        size = lib.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        count = lib.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(buffer[:count]) if count != size else bytes(buffer)

    def restore(self, state: bytes, tokens: Sequence[int], sequence: int = 0) -> bool:
        """Put a saved `state` of `tokens` in place of a sequence; False (and an empty sequence) if it does not fit."""
        self.cut(0, sequence)
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if lib.llama_state_seq_set_data(self._context, buffer, len(state), sequence) == 0:
            lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            return False
        self._cached[sequence] = list(tokens)
        return True


def repacks(system_info: str) -> bool:
    """Whether llama.cpp may copy the weights into a layout made for this processor.

    It prefills faster (most on ARM), at the price of a second copy in memory. Not in a build with AMX: that dies with a
    segmentation fault in the first evaluation in many virtual machines (ggml-org/llama.cpp issue 20824).
    """
    return "AMX_INT8 = 1" not in system_info


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
