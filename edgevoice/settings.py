"""Every setting, with its unit and default. Loading from TOML, environment and flags is in `edgevoice.config`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class AudioSettings:
    """Microphone and speaker."""

    input_device: str = ""
    """Part of the microphone's name; empty: the system's default. Never an index: indexes change on replug."""
    output_device: str = ""
    """Part of the speaker's name; empty: the system's default."""
    block_ms: int = 20
    """Milliseconds of one block of sound."""
    output_block: int = 512
    """Samples (at the speaker's rate) handed to the speaker at a time; 0: as many as `block_ms`. Smaller is heard sooner."""
    capture_queue_s: float = 10.0
    """Seconds of sound that may wait between microphone and listening stage."""
    playout_buffer_ms: int = 200
    """Milliseconds of sound the speaker holds ahead when synthesis is slow; the first block is not delayed by it."""
    pcm_queue_s: float = 2.0
    """Seconds of synthesised sound that may wait for the speaker."""
    lead_in_ms: int = 0
    """Milliseconds of silence before speech after an idle pause, for speakers that swallow their first sound."""
    reopen_after_s: float = 3.0
    """Seconds without any frame after which the microphone is reopened."""
    open_retries: int = 5
    """How often a busy device is tried again before giving up."""


@dataclass(frozen=True)
class VadSettings:
    """Voice activity detection."""

    threshold: float = 0.5
    """Speech probability in [0, 1] above which a frame counts as speech."""
    release: float = 0.35
    """Probability below which speech counts as silence again (hysteresis)."""
    preroll_ms: int = 400
    """Milliseconds of sound kept before speech starts, so that no first word is lost."""
    min_speech_ms: int = 60
    """Milliseconds of speech before a segment starts."""


@dataclass(frozen=True)
class EndpointSettings:
    """When has the user finished speaking?"""

    pause_ms: int = 80
    """Milliseconds of silence after which the recogniser is flushed and an answer is begun speculatively."""
    settled_ms: int = 240
    """Milliseconds of silence after which the last speculative answer of a turn may be begun: short pauses do not use
    it up."""
    min_silence_ms: int = 200
    """Milliseconds of silence that end the turn when it sounds and looks complete."""
    max_silence_ms: int = 800
    """Milliseconds of silence that end the turn in any case."""
    complete_above: float = 0.9
    """Probability in [0, 1] that the turn is over, judged by sound and words, from which the least silence is enough."""
    incomplete_below: float = 0.6
    """Probability below which the most is waited for; between the two the silence that is needed falls evenly."""
    no_new_words_s: float = 1.6
    """Seconds of sound without a sound of speech that end the turn although the detector hears something; 0: never."""
    max_speech_s: float = 25.0
    """Longest utterance in seconds; what was heard until then is answered."""
    max_attempts: int = 3
    """Speculative answers per turn."""
    no_input_s: float = 8.0
    """Seconds without words after a wake word before the turn is given up."""


@dataclass(frozen=True)
class AsrSettings:
    """Speech recognition."""

    backend: str = "ctc"
    """`ctc` (own streaming model), `whisper` or `sherpa`."""
    model: str = "asr-en-ctc"
    """Name in the model catalogue, or a folder."""
    chunk_ms: int = 320
    """Milliseconds the streaming encoder takes at a time: 160, 320 or 640."""
    threads: int = 1
    """Threads of the first pass; 0: computed from the cores."""
    second_pass: str = "whisper"
    """Recogniser that reads the finished segment again: `whisper` or `off`."""
    second_pass_model: str = "whisper-tiny-en"
    """Name in the model catalogue, or a folder."""
    second_pass_threads: int = 1
    """Threads of the second pass; 0: computed from the cores."""
    second_pass_budget_ms: int = 300
    """Milliseconds the second pass may take; when it is expected to take longer it is left out."""
    noisy_below_db: float = 8.0
    """Estimated signal-to-noise ratio in dB below which the second pass may take twice its time."""
    language: str = "en"
    """Language that is spoken."""
    identify_language: bool = False
    """Find out which language is spoken; a turn in another one is read by `language_model`."""
    language_model: str = "whisper-base"
    """Multilingual Whisper model: name in the model catalogue, or a folder."""
    beam: float = 12.0
    """Beam of the word search."""
    acoustic_scale: float = 2.0
    """Weight of the sound against the language model."""
    vocabulary: tuple[str, ...] = ()
    """Names and phrases to listen for; `phrase` or `phrase=weight`."""


@dataclass(frozen=True)
class LlmSettings:
    """Language model."""

    backend: str = "llama"
    """`llama` (llama.cpp) or `template` (fixed sentences)."""
    model: str = "gemma3-270m"
    """Name in the model catalogue, or a GGUF file."""
    vocabulary: str = "english"
    """`english`: leave out the tokens that English never uses (Gemma 3: half the memory, faster); `full`: keep all."""
    threads: int = 0
    """Threads; 0: computed from the cores."""
    context: int = 2048
    """Tokens of context."""
    max_tokens: int = 50
    """Tokens of one answer."""
    temperature: float = 0.0
    """0 is greedy."""
    first_token_deadline_ms: int = 500
    """Milliseconds to the first token; then one retry, then a template sentence."""
    lead_tokens: int = 200
    """Tokens the model may be ahead of the voice."""
    prefix_cache: bool = True
    """Save the evaluated fixed prompt to disk and restore it at start."""
    intents: str = ""
    """TOML file with requests of your own, answered without the model; its format is in `edgevoice/llm/intents.toml`."""


@dataclass(frozen=True)
class TtsSettings:
    """Speech synthesis."""

    backend: str = "piper"
    """`piper`, `hibari`, `espeak` or `off`."""
    voice: str = "en_US-joe-medium"
    """Name in the model catalogue, or an .onnx file with its .json beside it."""
    threads: int = 0
    """Threads while speaking; 0: computed from the cores."""
    speed: float = 1.0
    """1 is the voice's own pace, 2 twice as fast."""
    gain_db: float = 0.0
    """Fixed gain in dB; clauses are never normalised one by one."""
    tier: str = "standard"
    """Piper's amount of work: `fine` (float32), `standard` (INT8 encoder and flow) or `light` (a smaller vocoder too)."""
    first_chunk_ms: int = 120
    """Milliseconds of sound in the first piece the vocoder makes."""
    flush_after_ms: int = 250
    """A waiting clause is spoken when the language model has been silent this long."""
    cache_mb: int = 32
    """Megabytes of the phrase cache on disk."""


@dataclass(frozen=True)
class DialogSettings:
    """The conversation."""

    history_pairs: int = 8
    """Most exchanges kept in the prompt."""
    speculate: bool = True
    """Begin an answer before it is certain that the user has finished."""
    resume_after_s: float = 2.0
    """Seconds after which a voice that fell silent for a possible interruption goes on, if no words follow."""
    interrupt_words: int = 2
    """Words heard over the answer that stop it; stop words (`stop`, `wait`, `no` …) do so alone."""
    backchannels: tuple[str, ...] = ()
    """Utterances that do not interrupt (`mm-hmm`, `yeah` …); empty: the built-in list of the language."""
    stop_words: tuple[str, ...] = ()
    """Words that interrupt at once; empty: the built-in list of the language."""


@dataclass(frozen=True)
class EchoSettings:
    """Its own voice in its own microphone."""

    mode: str = "auto"
    """`auto` (measure, then choose), `cancel`, `half_duplex` (deaf while it speaks) or `off` (headset)."""
    canceller: str = "kalman"
    """`kalman` (keeps the user's words intact) or `webrtc` (AEC3: silences more, also the user)."""
    latency_ms: int = 300
    """Milliseconds the speaker's device is assumed to hold back until the echo path has been measured."""
    recognizer_lag_ms: int = 160
    """Milliseconds the recogniser may still find words in what it has heard; part of the guard's hold."""
    tail_ms: int = 250
    """Milliseconds the room goes on sounding after the speaker is silent; part of the guard's hold."""
    text_guard: bool = True
    """Words that the assistant itself is just saying do not count as the user's."""


@dataclass(frozen=True)
class WakeSettings:
    """Wake word."""

    engine: str = "off"
    """`off`, `openwakeword` or `microwakeword`."""
    word: str = "okay_nabu"
    """Name of a wake word that comes with the engine (`okay_nabu`, `hey_jarvis`, `alexa`, `hey_mycroft`), or a model file."""
    threshold: float = 0.0
    """Score in (0, 1) from which the word counts as heard; 0: the engine's measured default for this word."""
    verify: bool = True
    """What the engine finds counts only if the phone recogniser hears the word's sounds as well (built-in words only)."""
    refractory_s: float = 2.0
    """Seconds after an activation in which no other can follow."""
    follow_up_s: float = 8.0
    """Seconds after an answer in which the user may go on without the wake word; 0: never."""
    push_to_talk: bool = False
    """Listen only between two presses of the space bar (in a terminal) or two SIGUSR1."""
    earcons: bool = True
    """A short tone after the wake word: it listens."""


@dataclass(frozen=True)
class RuntimeSettings:
    """Process."""

    log_level: str = "info"
    """`debug`, `info`, `warning` or `error`. Words are logged at `debug` only."""
    stop_deadline_s: float = 2.0
    """Seconds in which all threads end on SIGTERM."""
    log_format: str = "auto"
    """`auto` (journal when a systemd service's, else plain), `journal` or `plain`."""
    heartbeat_limit_s: float = 10.0
    """A stage that shows no sign of life for this many seconds counts as hung; the watchdog is no longer pinged."""
    frames_limit_s: float = 4.0
    """Seconds without sound from the microphone after which the assistant counts as deaf."""
    device_wait_limit_s: float = 300.0
    """Seconds a lost device is waited for in a running process; then systemd may restart it with a fresh library."""


@dataclass(frozen=True)
class GovernorSettings:
    """Quality governor: takes work away before answers come late, and gives it back when there is room again."""

    enabled: bool = True
    """Off: always the full quality that the other sections ask for."""
    latency_limit_ms: int = 1200
    """Milliseconds from the end of speech to the first audible sound above which a turn counts as bad."""
    rtf_limit: float = 0.7
    """Real-time factor (compute time / audio time) of a stage above which a turn counts as bad."""
    memory_floor_mb: int = 150
    """Megabytes of free memory below which quality is reduced at once."""
    down_after: int = 2
    """Bad turns in a row that take the level one step down."""
    up_after: int = 5
    """Good turns in a row before the level may go one step up."""


@dataclass(frozen=True)
class MetricsSettings:
    """Prometheus metrics and health page."""

    enabled: bool = False
    """Serve `/metrics` and `/healthz`."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but loopback shows the figures to the network."""
    port: int = 9464
    """TCP port."""


@dataclass(frozen=True)
class Settings:
    """All settings, one section per room."""

    audio: AudioSettings = field(default_factory=AudioSettings)
    vad: VadSettings = field(default_factory=VadSettings)
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    asr: AsrSettings = field(default_factory=AsrSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    tts: TtsSettings = field(default_factory=TtsSettings)
    dialog: DialogSettings = field(default_factory=DialogSettings)
    echo: EchoSettings = field(default_factory=EchoSettings)
    wake: WakeSettings = field(default_factory=WakeSettings)
    runtime: RuntimeSettings = field(default_factory=RuntimeSettings)
    governor: GovernorSettings = field(default_factory=GovernorSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)


CHOICES: dict[str, tuple[object, ...]] = {
    "asr.backend": ("ctc", "whisper", "sherpa"),
    "asr.chunk_ms": (160, 320, 640),
    "asr.second_pass": ("whisper", "off"),
    "llm.backend": ("llama", "template"),
    "llm.vocabulary": ("english", "full"),
    "tts.backend": ("piper", "hibari", "espeak", "off"),
    "tts.tier": ("fine", "standard", "light"),
    "echo.mode": ("auto", "cancel", "half_duplex", "off"),
    "echo.canceller": ("kalman", "webrtc"),
    "wake.engine": ("off", "openwakeword", "microwakeword"),
    "runtime.log_level": ("debug", "info", "warning", "error"),
    "runtime.log_format": ("auto", "journal", "plain"),
}
"""Settings that take one of a few values."""

RANGES: dict[str, tuple[float, float]] = {
    "audio.block_ms": (5, 200),
    "audio.capture_queue_s": (1, 120),
    "audio.pcm_queue_s": (0.2, 60),
    "audio.playout_buffer_ms": (0, 5000),
    "audio.lead_in_ms": (0, 5000),
    "audio.reopen_after_s": (0.5, 600),
    "audio.open_retries": (0, 1000),
    "vad.threshold": (0.01, 0.99),
    "vad.release": (0.01, 0.99),
    "vad.preroll_ms": (0, 5000),
    "vad.min_speech_ms": (10, 2000),
    "endpoint.pause_ms": (20, 5000),
    "endpoint.settled_ms": (20, 5000),
    "endpoint.min_silence_ms": (50, 10000),
    "endpoint.max_silence_ms": (50, 20000),
    "endpoint.complete_above": (0, 1),
    "endpoint.no_new_words_s": (0, 30),
    "endpoint.max_speech_s": (1, 29),
    "endpoint.max_attempts": (0, 20),
    "endpoint.incomplete_below": (0.0, 1.0),
    "asr.noisy_below_db": (-20.0, 60.0),
    "endpoint.no_input_s": (0.5, 600),
    "asr.threads": (0, 256),
    "asr.second_pass_threads": (0, 256),
    "asr.second_pass_budget_ms": (0, 60000),
    "asr.beam": (1, 50),
    "asr.acoustic_scale": (0.1, 20),
    "llm.threads": (0, 256),
    "llm.context": (256, 131072),
    "llm.max_tokens": (1, 4096),
    "llm.temperature": (0, 2),
    "llm.first_token_deadline_ms": (10, 600000),
    "llm.lead_tokens": (1, 10000),
    "tts.threads": (0, 256),
    "tts.speed": (0.25, 4),
    "tts.gain_db": (-40, 20),
    "tts.first_chunk_ms": (20, 5000),
    "tts.flush_after_ms": (20, 10000),
    "tts.cache_mb": (0, 4096),
    "dialog.history_pairs": (0, 100),
    "dialog.resume_after_s": (0.1, 60),
    "dialog.interrupt_words": (1, 20),
    "echo.latency_ms": (0, 5000),
    "echo.recognizer_lag_ms": (0, 5000),
    "echo.tail_ms": (0, 5000),
    "wake.threshold": (0, 0.999),
    "wake.refractory_s": (0.2, 60),
    "wake.follow_up_s": (0, 600),
    "runtime.stop_deadline_s": (0.1, 60),
    "runtime.heartbeat_limit_s": (1, 600),
    "runtime.frames_limit_s": (0.5, 600),
    "runtime.device_wait_limit_s": (5, 1e9),
    "governor.latency_limit_ms": (50, 60000),
    "governor.rtf_limit": (0.01, 1),
    "governor.memory_floor_mb": (0, 1e6),
    "governor.down_after": (1, 100),
    "governor.up_after": (1, 1000),
    "metrics.port": (0, 65535),
}
"""Least and greatest value of settings that have bounds."""
