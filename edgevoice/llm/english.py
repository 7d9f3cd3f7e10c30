"""A smaller Gemma for English: the same weights with only the tokens that English text needs.

Two thirds of the 4-bit Gemma 3 270M are embeddings of 262,144 tokens in 140 languages, and all of them are read for
every token that is written. Leaving out the rows of tokens that English never uses changes no other number: the model
becomes less than half as large and nearly twice as fast. `english_tokens.gz` lists the tokens that stay: bytes,
punctuation, and every piece that occurs on the way to one of 51,000 frequent English words (little-endian uint32
differences; made by `scripts/list_english_tokens`).
"""

from __future__ import annotations

import gzip
import json
import logging
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.errors import StorageError
from edgevoice.models.checksum import VerifiedFiles, atomic_write
from edgevoice.models.places import cache_dir

log = logging.getLogger(__name__)

VERSION = 1
GEMMA_3_TOKENS = 262_144
"""Size of the vocabulary that the list was made for; all sizes of Gemma 3 share it."""
EMBEDDINGS = "token_embd.weight"


def english_tokens() -> NDArray[np.uint32]:
    """Ids of the tokens that stay, ascending."""
    packed = files("edgevoice.llm").joinpath("english_tokens.gz").read_bytes()
    return np.cumsum(np.frombuffer(gzip.decompress(packed), "<u4"), dtype=np.uint32)


def english_model(source: Path) -> Path:
    """The English version of a Gemma 3 file, made once and kept in the cache; `source` itself if it is another model.

    A version that does not match its checksum is made again. Any failure to make it is logged and `source` is used.
    """
    hashes = VerifiedFiles()
    origin = hashes.sha256(source)
    target = cache_dir() / "models" / f"{source.stem}.english.gguf"
    note = target.with_suffix(".json")
    try:
        made = json.loads(note.read_text("utf-8"))
        if made == {"version": VERSION, "source": origin, "sha256": hashes.sha256(target)}:
            return target
        log.warning("%s does not match its checksum: it is made again", target)
    except (OSError, ValueError):
        pass
    try:
        if not _trim(source, target):
            return source
        digest = hashes.sha256(target, fresh=True)
        with atomic_write(note) as file:
            file.write(json.dumps({"version": VERSION, "source": origin, "sha256": digest}).encode())
    except (StorageError, OSError, ValueError, KeyError) as error:
        log.warning("no English version of %s could be made (%s): the whole model is used", source.name, error)
        return source
    return target


def _trim(source: Path, target: Path) -> bool:
    """Write the English version; False if `source` has another vocabulary or layout."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    try:
        reader = GGUFReader(str(source))
    except (ValueError, IndexError, KeyError, OverflowError, UnicodeDecodeError, MemoryError) as error:
        log.debug("%s: not a readable GGUF file (%s)", source, error)  # whoever loads it names it as damaged
        return False
    tokens = reader.fields.get("tokenizer.ggml.tokens")
    embeddings = next((t for t in reader.tensors if t.name == EMBEDDINGS), None)
    untied = any(t.name == "output.weight" for t in reader.tensors)
    if tokens is None or embeddings is None or untied or len(tokens.data) != GEMMA_3_TOKENS:
        return False
    log.info("leaving out the tokens that English does not use (once, about half a minute)")
    kept = english_tokens()
    position = {int(old): new for new, old in enumerate(kept)}
    with atomic_write(target) as file:
        writer = GGUFWriter(file.name, reader.fields["general.architecture"].contents())
        for key, field in reader.fields.items():
            if key.startswith("GGUF.") or key == "general.architecture":
                continue
            kind, value = field.types[0], field.contents()
            if kind is GGUFValueType.ARRAY and len(field.data) == GEMMA_3_TOKENS:
                value = [value[i] for i in kept]
            elif key.startswith("tokenizer.ggml.") and key.endswith("_token_id"):
                value = position[int(value)]
            _add(writer, key, value, field.types)
        for tensor in reader.tensors:
            data = tensor.data[kept] if tensor.name == EMBEDDINGS else tensor.data
            writer.add_tensor(tensor.name, data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return True


def _add(writer: Any, key: str, value: Any, types: Any) -> None:
    if len(types) > 1:
        writer.add_key_value(key, value, types[0], sub_type=types[1])
    else:
        writer.add_key_value(key, value, types[0])
