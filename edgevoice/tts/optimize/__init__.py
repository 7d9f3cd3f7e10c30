"""Faster forms of a Piper voice: fusion, quantisation, pruning, distillation; and the measures that decide which to
keep.
"""
