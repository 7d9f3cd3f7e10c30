"""VITS as Piper exports it: the ONNX graph taken apart, rebuilt for speed, and run in pieces."""
