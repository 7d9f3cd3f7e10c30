"""Speech synthesis: the synthesiser contract, clause buffering, text for speech, phrase cache."""
