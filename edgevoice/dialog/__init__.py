"""The conversation: state machine, turn ledger, history as heard, rules of endpointing and interruption."""
