"""The llama.cpp generator: answers from a GGUF model, with a KV cache that is kept in layers.

Fixed prompt, conversation so far, the user's current words: each call hands over the whole conversation, and only what
differs from the last call is evaluated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from edgevoice.errors import SettingsError
from edgevoice.llm.completeness import EndOfUtterance
from edgevoice.llm.engine import Engine, Scores
from edgevoice.llm.english import english_model
from edgevoice.llm.generator import Cancelled, Exchange, PromptUse, Token
from edgevoice.llm.prefix import SavedPrefix
from edgevoice.llm.prompt import ChatPrompt, FewShotPrompt, Prompt
from edgevoice.llm.reply import ReplyText, loops
from edgevoice.llm.thoughts import opens_thought
from edgevoice.llm.window import Window
from edgevoice.models.store import find
from edgevoice.settings import LlmSettings

log = logging.getLogger(__name__)

GRACE = 1 / 3
"""Share of the token limit that a first sentence may run over to come to its end."""
MOST_WORDS = 64
"""Tokens of the user's words that must fit beside the fixed prompt and the answer."""


def _with_grace(tokens: int) -> int:
    return tokens + int(tokens * GRACE)


REPEATED = 4
"""Tokens in a row that an answer may share with an earlier one; a fifth is not written."""
NOTHING_SAID: Mapping[tuple[int, ...], set[int]] = {}


def followers(answers: Iterable[Sequence[int]]) -> dict[tuple[int, ...], set[int]]:
    """What followed each run of `REPEATED` tokens in the earlier answers."""
    found: dict[tuple[int, ...], set[int]] = {}
    for tokens in answers:
        for i in range(len(tokens) - REPEATED):
            found.setdefault(tuple(tokens[i : i + REPEATED]), set()).add(tokens[i + REPEATED])
    return found


def never() -> bool:
    """The default for `cancelled`."""
    return False


class LlamaGenerator:
    """A generator on llama.cpp. See `edgevoice.llm.generator.Generator` for the contract."""

    def __init__(self, settings: LlmSettings, threads: int) -> None:
        self._settings, self._threads = settings, threads
        self.name = settings.model
        self.prefill_seconds = 0.0
        """What the fixed prompt cost in `warm`."""
        self._loaded: Engine | None = None
        self._use = PromptUse(0, 0, 0)
        self._end_of_words: int | None = None
        self._random = np.random.default_rng(0)

    # --- life ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find, verify and map the model. Raises ModelMissingError, ModelDataError or SettingsError."""
        path = find(self._settings.model, "llm")
        if self._settings.vocabulary == "english":
            path = english_model(path)
        self._engine = Engine(path, self._settings.context, self._threads)
        self._loaded = self._engine
        self._engine.load()
        self._prompt = self._choose_prompt()
        self._tokens: dict[str, tuple[int, ...]] = {}
        layout = self._prompt.layout((), "")
        self._thinking = opens_thought(layout.closing)
        self._fixed = self._engine.tokenize(layout.fixed, start=True, special=self._prompt.special)
        room = self._settings.context - _with_grace(self._settings.max_tokens)
        if room < len(self._fixed) + MOST_WORDS:
            needed = len(self._fixed) + MOST_WORDS + _with_grace(self._settings.max_tokens)
            self.close()
            raise SettingsError("llm.context", f"{self._settings.context} tokens are too few", f"at least {needed}")
        self._window = Window(room)
        self._end_of_utterance = EndOfUtterance(self._engine)

    def _choose_prompt(self) -> Prompt:
        template = self._engine.metadata("tokenizer.chat_template")
        return ChatPrompt(template, eos=self._engine.end_text()) if template else FewShotPrompt()

    def warm(self) -> None:
        """Restore or evaluate the fixed prompt, generate one token, and say what the prompt costs."""
        begun = time.monotonic()
        saved = SavedPrefix(self._engine, self._fixed) if self._settings.prefix_cache else None
        restored = saved is not None and saved.restore()
        if not restored:
            self.evaluate_prefix()
            if saved:
                saved.save()
        self.prefill_seconds = time.monotonic() - begun
        verb = "restored from disk" if restored else "evaluated"
        log.info("fixed prompt: %d tokens %s in %.2f s", len(self._fixed), verb, self.prefill_seconds)
        for _ in self.generate((), "hello", max_tokens=2):
            pass
        self.check_reuse()

    def check_reuse(self) -> float:
        """`probe_reuse`, with a warning when it is too low."""
        reuse = self.probe_reuse()
        if reuse < 0.9:
            log.warning("only %.0f %% of the prompt is reused between turns: every answer will start late", reuse * 100)
        return reuse

    @property
    def prefix_tokens(self) -> int:
        """Tokens of the fixed prompt."""
        return len(self._fixed)

    def evaluate_prefix(self) -> None:
        """Evaluate the fixed prompt anew, whatever the cache holds."""
        self._engine.cut(0)
        self._engine.evaluate(self._fixed, never)

    def close(self) -> None:
        """Release the model's memory; may be called twice, or before `load`."""
        if self._loaded:
            self._loaded.close()

    def set_threads(self, threads: int) -> None:
        """Use another number of threads from the next evaluation on."""
        if threads != self._threads:
            self._threads = threads
            self._engine.set_threads(threads)

    # --- the prompt ------------------------------------------------------------------------------------------------

    def prefill(self, history: Sequence[Exchange], words: str, cancelled: Cancelled = never) -> PromptUse:
        """See `Generator`. Evaluates up to where the answer begins, so that the first token needs no more work."""
        tokens, self._end_of_words = self._layout(history, words)
        outputs = [] if self._end_of_words is None else [self._end_of_words]
        self._use = self._engine.evaluate(tokens, cancelled, outputs=outputs)
        return self._use

    def _layout(self, history: Sequence[Exchange], words: str) -> tuple[list[int], int | None]:
        """All tokens of the prompt, and the position of the last word."""
        layout = self._prompt.layout(history, words)
        special = self._prompt.special
        pairs = [self._piece_tokens(p, special) for p in layout.pairs]
        said = [*self._piece_tokens(layout.opening, special)]
        for word in layout.words:
            said += self._piece_tokens(word, False)
        closing = self._piece_tokens(layout.closing, special)
        kept = self._window.fit(len(self._fixed), pairs, len(said) + len(closing))
        said = said[: max(self._window.room - len(self._fixed) - len(closing), 0)]
        tokens = [*self._fixed, *(t for pair in kept for t in pair), *said]
        return [*tokens, *closing], (len(tokens) - 1 if layout.words else None)

    def _piece_tokens(self, text: str, special: bool) -> tuple[int, ...]:
        """Tokens of one piece of the layout, remembered: the history is laid out anew on every call."""
        found = self._tokens.get(text)
        if found is None:
            if len(self._tokens) > 2000:
                self._tokens.clear()
            found = self._tokens[text] = tuple(self._engine.tokenize(text, special=special))
        return found

    def completeness(self) -> float:
        """See `Generator`. Read from the scores after the last word, which `prefill` left behind: no evaluation."""
        scores = None if self._end_of_words is None else self._engine.scores(self._end_of_words)
        return 0.0 if scores is None else self._end_of_utterance.probability(scores)

    def rollback(self, history: Sequence[Exchange]) -> None:
        """See `Generator`. Also evaluates what was added, so that the next turn only has the new words to do."""
        layout = self._prompt.layout(history, "")
        pairs = [self._piece_tokens(p, self._prompt.special) for p in layout.pairs]
        kept = self._window.fit(len(self._fixed), pairs, 0)
        tokens = [*self._fixed, *(t for pair in kept for t in pair)]
        self._use = self._engine.evaluate(tokens, never)
        self._end_of_words = None

    def last_use(self) -> PromptUse:
        """See `Generator`."""
        return self._use

    def probe_reuse(self) -> float:
        """Share of the prompt, in [0, 1], that a second, longer call finds in the cache; below 0.9 all is slow."""
        exchange = Exchange("what is the capital of italy", "The capital of Italy is Rome.")
        self.prefill((exchange,), "how many people")
        first = len(self._engine.cached())
        use = self.prefill((exchange,), "how many people live there now")
        self._engine.cut(len(self._fixed))
        return use.reused / max(first - len(self._piece_tokens("?\nAssistant:", False)), 1)

    # --- the answer ------------------------------------------------------------------------------------------------

    def generate(
        self,
        history: Sequence[Exchange],
        words: str,
        cancelled: Cancelled = never,
        max_tokens: int | None = None,
    ) -> Iterator[Token]:
        """See `Generator`. Ends at a stop text, at the end of a sentence near the limit, or when it begins to loop."""
        limit = min(max_tokens or self._settings.max_tokens, self._settings.max_tokens)
        use = self.prefill(history, words, cancelled)
        position = use.tokens - 1
        if len(self._engine.cached()) < use.tokens:
            return
        scores = self._engine.scores(position)
        assert scores is not None
        reply, cut = ReplyText(self._prompt.stops, self._thinking), False
        answer: list[int] = []
        said_before = followers(self._piece_tokens(" " + e.assistant, False) for e in history)
        while not cancelled():
            token = self._choose(scores, answer, said_before)
            if self._engine.is_end(token):
                break
            answer.append(token)
            text = reply.add(self._engine.piece(token))
            cut = loops(answer) or len(answer) >= _with_grace(limit) or (len(answer) >= limit and reply.sentence_over)
            if reply.done or cut:
                yield Token(text, len(answer) - 1)
                break
            yield Token(text, len(answer) - 1)
            if cancelled():
                return
            scores = self._engine.append(token)
        rest = reply.finish(cut)
        if rest:
            yield Token(rest, len(answer))

    def _choose(
        self, scores: Scores, answer: Sequence[int], said_before: Mapping[tuple[int, ...], set[int]] = NOTHING_SAID
    ) -> int:
        """The next token: the likeliest, or at a temperature one of the 40 likeliest.

        Never a third time the same, and never the next piece of an earlier answer that this one has begun to repeat: a
        small model that once repeats itself does so for ever.
        """
        barred = set(said_before.get(tuple(answer[-REPEATED:]), ()))
        if len(answer) > 1 and answer[-1] == answer[-2]:
            barred.add(answer[-1])
        if barred:
            scores = scores.copy()
            scores[list(barred)] = -np.inf
        if self._settings.temperature <= 0:
            return int(scores.argmax())
        top = np.argpartition(scores, -40)[-40:]
        weights = np.exp((scores[top] - scores[top].max()) / self._settings.temperature)
        return int(self._random.choice(top, p=weights / weights.sum()))
