"""What others see of a running assistant: metrics and health over HTTP."""
