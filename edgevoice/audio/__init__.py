"""Sound: frames, sources, sinks, devices, resampling, voice activity, wake word, echo control."""
