"""The prepared form of a voice: its graph taken apart and rebuilt once, kept in the cache folder.

Made in a temporary folder and renamed into place, so that a half-made one is never used; every file is checked by
SHA-256 when it is opened, and a damaged preparation is made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgevoice.errors import ModelDataError, ModelMissingError, StorageError
from edgevoice.models.places import cache_dir
from edgevoice.models.superseded import remove_abandoned, remove_superseded
from edgevoice.tts.vits.config import VoiceConfig, check_fit, read_config
from edgevoice.tts.vits.layout import block_size
from edgevoice.tts.vits.tiers import SMALLER, TIERS, tier_files
from edgevoice.tts.vits.tiers import load as load_tier

log = logging.getLogger(__name__)

FORMAT = 6
"""Raised whenever the prepared graphs change, so that old ones are not used."""
MAKING = ".making-"
"""How the names of folders begin that are not complete yet."""


@dataclass(frozen=True)
class PreparedVoice:
    """A voice ready to be loaded."""

    folder: Path
    config: VoiceConfig
    channels: int
    """Of the latents."""
    hop: int
    """Samples per latent frame."""
    flow_reach: int
    vocoder_reach: int
    """Frames of context on each side."""
    tiers: tuple[str, ...]
    """Vocoders this voice has, finest first."""
    digest: str
    """SHA-256 of the voice's onnx file."""

    def file(self, part: str) -> Path:
        """`encoder`, `encoder-int8`, `flow`, `flow-int8`, or the name of a tier for its vocoder."""
        return self.folder / f"{part}.onnx"


def prepare(model: Path, root: Path | None = None) -> PreparedVoice:
    """The prepared form of the voice `model`, made if it is not there yet (some seconds).

    Raises ModelMissingError, ModelDataError, StorageError (full disk).
    """
    config = read_config(model)
    try:
        with model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ModelMissingError(
            str(model), "no such voice", "`edgevoice models list` shows what is installed"
        ) from None
    tiers = tier_files(digest)
    key = hashlib.sha256(digest.encode())
    for name, path in sorted(tiers.items()):
        key.update(name.encode() + _sum(path).encode())
    # Graphs in the blocked layout of one processor would be nonsense on another.
    block = block_size()
    folder = (root or cache_dir()) / "voices" / f"{digest[:16]}-{key.hexdigest()[:8]}-b{block}-v{FORMAT}"
    remove_abandoned(folder.parent.glob(f"{MAKING}*"))
    found = _open(folder, config, digest)
    if found is None:
        if folder.exists():
            log.warning("prepared voice %s is damaged and is made again", folder.name)
        _make(model, config, digest, tiers, folder, block)
        found = _open(folder, config, digest)
        if found is None:
            raise StorageError(str(folder), "what was just written cannot be read back", "check the disk")
        remove_superseded(folder.parent.glob(f"{digest[:16]}-*"), in_use=folder)
    # The json is not part of the key: it is held against the model every time.
    check_fit(config, model, int(str(_meta(folder)["embedding_rows"])), has_speaker_input=False)
    return found


def _meta(folder: Path) -> dict[str, object]:
    meta: dict[str, object] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return meta


def _open(folder: Path, config: VoiceConfig, digest: str) -> PreparedVoice | None:
    """The preparation in `folder`, or None if it is missing or damaged."""
    try:
        meta = _meta(folder)
        sums = meta["sha256"]
        if not isinstance(sums, dict) or any(_sum(folder / name) != value for name, value in sums.items()):
            return None
        numbers = {key: int(str(meta[key])) for key in ("channels", "hop", "flow_reach", "vocoder_reach")}
        return PreparedVoice(folder, config, tiers=tuple(str(meta["tiers"]).split()), digest=digest, **numbers)
    except (OSError, ValueError, KeyError):
        return None


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make(model: Path, config: VoiceConfig, digest: str, tiers: Mapping[str, Path], folder: Path, block: int) -> None:
    # Imported here: onnx and the quantiser are needed only once per voice.
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    from edgevoice.tts.vits import encoder, flow, forms, split, vocoder, vocoder_graph
    from edgevoice.tts.vits.graph import GraphReader
    from edgevoice.tts.vits.quantize import quantize

    try:
        graph = onnx.load(str(model))
    except (DecodeError, OSError, ValueError) as error:
        raise ModelDataError(str(model), "not a readable ONNX file", "copy the voice again") from error
    reader = GraphReader(graph, str(model))
    rows = split.embedding_rows(reader)
    check_fit(config, model, rows, len(graph.graph.input) > 3)
    pieces = split.split(reader)
    generator = vocoder.read(reader, pieces.latents)
    coupling_layers = flow.read(reader, pieces.flow)
    try:
        text_encoder = encoder.build(reader)
    except ModelDataError as error:
        log.info("the exported text encoder is used as it is: %s", error.why)
        text_encoder = pieces.encoder
    parts = {"encoder": text_encoder, "flow": flow.build(coupling_layers)}
    parts |= {f"{name}-int8": quantize(part) for name, part in parts.items()}
    others = {name: load_tier(path, digest) for name, path in tiers.items()}
    # All forms of a voice read as much beyond a piece, so that its tier can change between two pieces.
    reach = max(made.reach for made in (generator, *others.values()))
    exact = vocoder_graph.build(generator, block=block, reach=reach)
    vocoders = {"fine": exact}
    smaller = others.pop(SMALLER, None)
    if text_encoder is not pieces.encoder:
        latents = forms.calibration_latents(config, text_encoder, flow.build(coupling_layers))
        vocoders |= forms.faster_forms(generator, exact, smaller, latents, block, reach)
    vocoders |= {name: vocoder_graph.build(made, block=block, reach=reach) for name, made in others.items()}
    parts |= vocoders
    meta = {
        "channels": pieces.channels,
        "hop": generator.hop,
        "flow_reach": coupling_layers.reach,
        "vocoder_reach": reach,
        "tiers": " ".join(tier for tier in TIERS if tier in vocoders),
        "embedding_rows": rows,
    }
    _write(parts, meta, folder)


def _write(parts: Mapping[str, object], meta: dict[str, object], folder: Path) -> None:
    """Write all files to a temporary folder beside `folder`, then rename it into place."""
    import onnx

    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=MAKING, dir=folder.parent))
        for name, graph in parts.items():
            onnx.save(graph, str(temporary / f"{name}.onnx"))  # type: ignore[arg-type]
        sums = {path.name: _sum(path) for path in sorted(temporary.iterdir())}
        (temporary / "meta.json").write_text(json.dumps({**meta, "sha256": sums}, indent=1), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        try:
            os.replace(temporary, folder)
        except OSError:
            # Another process was faster; its result is as good.
            if not (folder / "meta.json").is_file():
                raise
    except OSError as error:
        raise StorageError(
            str(folder), f"cannot be written ({error.strerror or error})", "free some disk space"
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
