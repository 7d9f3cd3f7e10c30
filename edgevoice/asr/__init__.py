"""Speech recognition: the recogniser contract and its back ends."""
