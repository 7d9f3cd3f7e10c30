"""Text for speech: tables and rules that turn written English into the words a person would say."""
