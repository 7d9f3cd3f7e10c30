"""The phrase cache: finds again what was put, bounded, whole, and never in the way."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgevoice.tts.cache import CachedPhrase, PhraseCache, PhraseKey, decode, encode
from edgevoice.tts.synthesizer import SpokenWord
from tests.conftest import loaded


def phrase(seconds: float = 1.0, seed: int = 0) -> CachedPhrase:
    samples = np.random.default_rng(seed).integers(-32768, 32767, int(seconds * 22050), dtype=np.int16)
    return CachedPhrase(samples, 22050, (SpokenWord(0, 5, 100, 9000), SpokenWord(6, 11, 9500, 20000)))


def key(text: str, **changes: str) -> PhraseKey:
    return PhraseKey(**({"voice": "joe", "tier": "fine", "text": text, "settings": "speed=1"} | changes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "phrases"


@pytest.fixture
def cache(folder: Path) -> Iterator[PhraseCache]:
    yield from loaded(PhraseCache(folder))


def same(a: CachedPhrase | None, b: CachedPhrase) -> bool:
    return a is not None and np.array_equal(a.samples, b.samples) and (a.rate, a.words) == (b.rate, b.words)


def reopened(cache: PhraseCache, folder: Path) -> PhraseCache:
    cache.close()
    again = PhraseCache(folder)
    again.load()
    return again


def test_what_was_put_is_found_in_memory_and_after_a_restart(cache: PhraseCache, folder: Path) -> None:
    assert cache.get(key("Hello.")) is None
    cache.put(key("Hello."), phrase())
    assert same(cache.get(key("Hello.")), phrase())
    again = reopened(cache, folder)
    assert again.memory_bytes == 0
    assert same(again.get(key("Hello.")), phrase())
    assert again.memory_bytes > 0
    assert (cache.hits, cache.misses, again.hits, again.misses) == (1, 1, 1, 0)
    again.close()


@pytest.mark.parametrize("change", [{"voice": "amy"}, {"tier": "light"}, {"settings": "speed=2"}, {"text": "Hello!"}])
def test_anything_that_changes_the_sound_changes_the_key(cache: PhraseCache, change: dict[str, str]) -> None:
    cache.put(key("Hello."), phrase())
    assert cache.get(key(**({"text": "Hello."} | change))) is None


def test_parts_of_a_key_do_not_run_together() -> None:
    assert PhraseKey("a", "b", "c").digest() != PhraseKey("ab", "", "c").digest()
    assert PhraseKey("a", "b", "\ud800").digest() != PhraseKey("a", "b", "").digest()


def test_constructing_touches_no_disk(folder: Path) -> None:
    cache = PhraseCache(folder)
    cache.put(key("Hello."), phrase())
    assert same(cache.get(key("Hello.")), phrase())
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "header", "length"])
def test_a_damaged_file_is_dropped_and_made_again(
    cache: PhraseCache, folder: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put(key("Hello."), phrase())
    cache.close()
    (path,) = folder.iterdir()
    data = bytearray(path.read_bytes())
    match damage:
        case "truncate":
            del data[-100:]
        case "flip":
            data[-5] ^= 1
        case "empty":
            data.clear()
        case "header":
            data[60] ^= 1
        case "length":
            data[40] ^= 8
    path.write_bytes(data)
    again = PhraseCache(folder)
    again.load()
    with caplog.at_level(logging.INFO):
        assert again.get(key("Hello.")) is None
    assert (again.damaged, again.misses, again.disk_bytes) == (1, 1, 0)
    assert not path.exists()
    assert "Hello" not in caplog.text
    again.put(key("Hello."), phrase())
    third = reopened(again, folder)
    assert same(third.get(key("Hello.")), phrase())
    third.close()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 255))
def test_every_changed_byte_is_noticed(where: int, value: int) -> None:
    data = bytearray(encode(phrase(0.01)))
    where %= len(data)
    if data[where] == value:
        return
    data[where] = value
    with pytest.raises(ValueError, match=r"."):
        decode(bytes(data))


@given(st.binary(max_size=200))
def test_random_bytes_are_no_phrase(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data)


def test_memory_and_disk_are_bounded_and_the_oldest_go_first(folder: Path) -> None:
    cache = PhraseCache(folder, disk_mb=0.25, memory_mb=0.2)
    cache.load()
    for i in range(12):
        cache.put(key(f"phrase {i}"), phrase(1, i))
        cache.get(key("phrase 0"))
        time.sleep(0.01)
    assert cache.memory_bytes <= 0.2 * 2**20
    assert same(cache.get(key("phrase 0")), phrase(1, 0)), "used all the time"
    cache.close()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 0.25 * 2**20
    assert cache.disk_bytes == sum(path.stat().st_size for path in folder.iterdir())
    again = PhraseCache(folder)
    again.load()
    assert same(again.get(key("phrase 11")), phrase(1, 11))
    assert again.get(key("phrase 5")) is None
    again.close()


def test_what_was_used_before_a_restart_is_dropped_last(folder: Path) -> None:
    cache = PhraseCache(folder)
    cache.load()
    for i in range(4):
        cache.put(key(f"phrase {i}"), phrase(1, i))
    cache.close()
    for i in range(4):
        os.utime(folder / f"{key(f'phrase {i}').digest()}.phrase", (1000 + i, 1000 + i))
    again = PhraseCache(folder)
    again.load()
    for _ in range(3):
        assert again.get(key("phrase 0")) is not None
    again.close()
    size = next(folder.iterdir()).stat().st_size
    small = PhraseCache(folder, disk_mb=2.5 * size / 2**20)
    small.load()
    assert [small.get(key(f"phrase {i}")) is not None for i in range(4)] == [True, False, False, True]
    small.close()


def test_a_phrase_larger_than_the_memory_is_not_kept(folder: Path) -> None:
    cache = PhraseCache(folder, memory_mb=0.01)
    cache.put(key("long"), phrase(10))
    assert cache.get(key("long")) is None
    assert cache.memory_bytes == 0


def test_unfinished_files_are_removed_and_strangers_left(folder: Path) -> None:
    folder.mkdir()
    (folder / "x.123.partial").write_bytes(b"half")
    os.utime(folder / "x.123.partial", (1, 1))
    (folder / "y.124.partial").write_bytes(b"another process is writing it")
    (folder / "notes.txt").write_text("mine")
    cache = PhraseCache(folder)
    cache.load()
    assert sorted(path.name for path in folder.iterdir()) == ["notes.txt", "y.124.partial"]
    cache.close()


def test_a_disk_that_refuses_leaves_the_memory_working(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The folder vanishes under the cache: every write fails, as on a full disk."""
    cache = PhraseCache(folder)
    cache.load()
    folder.rmdir()
    for i in range(5):
        cache.put(key(str(i)), phrase(0.1, i))
    cache.close()
    assert all(same(cache.get(key(str(i))), phrase(0.1, i)) for i in range(5))
    assert cache.unwritten >= 1
    assert len([record for record in caplog.records if "memory only" in record.message]) == 1


def test_a_folder_that_cannot_be_made_leaves_the_memory_working(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = PhraseCache(tmp_path / "file" / "phrases")
    cache.load()
    cache.put(key("Hello."), phrase())
    assert same(cache.get(key("Hello.")), phrase())
    cache.close()


def test_putting_never_waits_for_the_disk(folder: Path) -> None:
    cache = PhraseCache(folder, queue_size=1)
    cache.load()
    for i in range(50):
        cache.put(key(str(i)), phrase(0.05, i))
    cache.close()
    assert cache.unwritten + len(list(folder.iterdir())) == 50
    assert all(cache.get(key(str(i))) for i in range(50))


def test_the_kept_sound_cannot_be_changed_by_whoever_plays_it(cache: PhraseCache, folder: Path) -> None:
    mine = phrase()
    cache.put(key("Hello."), mine)
    mine.samples[:] = 0
    found = cache.get(key("Hello."))
    assert same(found, phrase())
    assert found is not None and not found.samples.flags.writeable
    again = reopened(cache, folder)
    from_disk = again.get(key("Hello."))
    assert from_disk is not None and not from_disk.samples.flags.writeable
    again.close()


def test_many_threads(folder: Path) -> None:
    cache = PhraseCache(folder, disk_mb=0.3, memory_mb=0.1)
    cache.load()
    wrong: list[int] = []

    def work(seed: int) -> None:
        for i in range(60):
            number = (i * 7 + seed) % 10
            found = cache.get(key(str(number)))
            if found is None:
                cache.put(key(str(number)), phrase(0.2, number))
            elif not same(found, phrase(0.2, number)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,), name=f"reader-{seed}") for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    cache.close()
    assert not wrong
    assert cache.hits + cache.misses == 240
    assert cache.damaged == 0


def test_file_names_and_logs_hold_no_text(cache: PhraseCache, folder: Path) -> None:
    cache.put(key("my secret"), phrase(0.1))
    cache.close()
    (path,) = folder.iterdir()
    assert "secret" not in path.name
    assert b"secret" not in path.read_bytes()
