"""The json beside a Piper voice: read, and held against the model it is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgevoice.errors import ModelDataError, ModelMissingError


@dataclass(frozen=True)
class VoiceConfig:
    """What the json of a Piper voice says."""

    sample_rate: int
    """Hz."""
    espeak_voice: str
    """Name of the eSpeak NG voice that turns text into phonemes, e.g. `en-us`."""
    phoneme_ids: Mapping[str, tuple[int, ...]]
    """Symbol -> ids; `^`, `$` and `_` begin, end and separate."""
    symbols: int
    """Rows of the phoneme embedding."""
    speakers: int
    noise_scale: float
    length_scale: float
    duration_noise_scale: float
    phoneme_type: str = "espeak"

    @property
    def language(self) -> str:
        """Language code without region, e.g. `en`."""
        return self.espeak_voice.split("-")[0]


def read_config(model: Path) -> VoiceConfig:
    """The config of the voice `model` (`<model>.json`). Raises ModelMissingError or ModelDataError."""
    path = model.with_name(model.name + ".json")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelMissingError(
            str(path), "a voice needs its json beside it", f"copy {path.name} next to the voice"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelDataError(str(path), f"not readable as json ({error})", "copy the voice's json again") from error
    try:
        return _parse(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelDataError(
            str(path), f"not the json of a Piper voice ({type(error).__name__}: {error})", "copy the voice's json again"
        ) from error


def _parse(data: Any) -> VoiceConfig:
    inference = data.get("inference", {})
    config = VoiceConfig(
        sample_rate=int(data["audio"]["sample_rate"]),
        espeak_voice=str(data["espeak"]["voice"]),
        phoneme_ids={str(symbol): tuple(int(i) for i in ids) for symbol, ids in data["phoneme_id_map"].items()},
        symbols=int(data["num_symbols"]),
        speakers=int(data["num_speakers"]),
        noise_scale=float(inference.get("noise_scale", 0.667)),
        length_scale=float(inference.get("length_scale", 1.0)),
        duration_noise_scale=float(inference.get("noise_w", 0.8)),
        phoneme_type=str(data.get("phoneme_type", "espeak")),
    )
    missing = [symbol for symbol in "^$_" if symbol not in config.phoneme_ids]
    if missing:
        raise ValueError(f"no ids for {' '.join(missing)}")
    if not 8000 <= config.sample_rate <= 96000:
        raise ValueError(f"sample rate {config.sample_rate}")
    return config


def check_fit(config: VoiceConfig, path: Path, embedding_rows: int, has_speaker_input: bool) -> None:
    """Raise ModelDataError unless the json belongs to this model."""
    largest = max(i for ids in config.phoneme_ids.values() for i in ids)
    why = ""
    if largest >= embedding_rows or config.symbols > embedding_rows:
        why = f"it names {max(largest + 1, config.symbols)} phonemes, the model knows {embedding_rows}"
    elif (config.speakers > 1) != has_speaker_input:
        why = f"it says {config.speakers} speaker(s), the model {'several' if has_speaker_input else 'one'}"
    elif config.phoneme_type not in ("espeak", "text"):
        why = f"its phonemes are of type {config.phoneme_type!r}, known are espeak and text"
    if why:
        json_name = path.name + ".json"
        raise ModelDataError(
            str(path), f"{json_name} does not fit the model: {why}", "use the json that came with this voice"
        )
