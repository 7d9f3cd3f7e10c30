"""Where models and other data lie: XDG folders, or those systemd gives a service."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import platformdirs

import edgevoice

APP = "edgevoice"


def cache_dir() -> Path:
    """Files that can be made again: `$CACHE_DIRECTORY` under systemd, else the XDG cache folder."""
    return Path(os.environ.get("CACHE_DIRECTORY", "").split(":")[0] or platformdirs.user_cache_path(APP))


def data_dir() -> Path:
    """Files that cannot be made again: `$STATE_DIRECTORY` under systemd, else the XDG data folder."""
    return Path(os.environ.get("STATE_DIRECTORY", "").split(":")[0] or platformdirs.user_data_path(APP))


def shipped_dirs() -> list[Path]:
    """Folders in which the models that come with edgevoice may lie: the checkout, or the installed data files."""
    checkout = Path(edgevoice.__file__).resolve().parent.parent
    places = [checkout / "models"] if (checkout / "pyproject.toml").is_file() else []
    schemes = {sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")}
    return places + [Path(sysconfig.get_path("data", scheme)) / "share" / APP / "models" for scheme in sorted(schemes)]


def model_dirs() -> list[Path]:
    """Folders that hold one sub-folder per model, put there by a person: `$EDGEVOICE_MODELS`, then the data folder."""
    own = [Path(p).expanduser() for p in os.environ.get("EDGEVOICE_MODELS", "").split(os.pathsep) if p]
    return [*own, data_dir() / "models"]
