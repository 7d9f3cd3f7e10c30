"""Language model: the generator contract, prompts, KV-cache keeping, template replies."""
