"""One call of the streaming recogniser: as a module to export, and as a runner of the exported file.

A call takes one chunk of C frames (20 ms each); C may change from call to call.

    in   features  float32 [1, 2C+4, 80]   the chunk's 2C feature frames, 2 before, 2 after (zeros where none are)
         cache_k, cache_v  float32 [layers, left, 384]   zeros at the start of a segment
         offset    int64 [1]   frames of this segment done so far
         valid     int64 [1]   min(left, offset): how much of the cache may be looked at
    out  phones    float32 [1, C, 40]   log-probabilities, class 0 is blank
         characters  float32 [1, C, 29]   (named `chars` in the file)
         new_cache_k, new_cache_v
         frames    float32 [1, C, 384]   the encoder's own frames, before the new layers: what listens to *how* something
                                         was said (`edgevoice.asr.turn_end`) reads them

With C = the whole segment, offset = valid = 0 the same file gives the un-chunked pass.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from edgevoice.models.onnx import session
from scripts.asr.model import BANDS, HEADS, LEFT, MASKED, WIDTH, Layer, Recogniser, positions

INPUTS = ("features", "cache_k", "cache_v", "offset", "valid")
OUTPUTS = ("phones", "chars", "new_cache_k", "new_cache_v", "frames")


class StepModule(nn.Module):
    """The streaming step of a trained model. Convolutions are matrix products, so that they quantise like the rest."""

    def __init__(self, model: Recogniser, left: int = LEFT) -> None:
        super().__init__()
        self.model, self.left = model, left
        self.conv1 = _conv_as_linear(model.encoder.conv1)
        self.conv2 = _conv_as_linear(model.encoder.conv2)

    def forward(
        self, features: Tensor, cache_k: Tensor, cache_v: Tensor, offset: Tensor, valid: Tensor
    ) -> tuple[Tensor, ...]:
        """One call; shapes at the head of this file."""
        x = self._front(features, offset)
        frames = x.shape[1]
        x = x + positions(offset + torch.arange(frames))[None]
        bias = torch.where(torch.arange(self.left + frames) >= self.left - valid, 0.0, MASKED)
        new_k, new_v = [], []
        encoder = self.model.encoder
        for index, layer in enumerate([*encoder.layers, *self.model.new_layers]):
            if index == len(encoder.layers):
                x = frames_heard = encoder.norm(x)
            x, k, v = _attend(layer, x, cache_k[index], cache_v[index], bias)
            new_k.append(k[-self.left :])
            new_v.append(v[-self.left :])
        x = self.model.norm(x)
        phones, characters = self.model.phones(x).log_softmax(-1), self.model.characters(x).log_softmax(-1)
        return phones, characters, torch.stack(new_k), torch.stack(new_v), frames_heard

    def _front(self, features: Tensor, offset: Tensor) -> Tensor:
        """[1, 2C+4, 80] -> [1, C, 384]. Before the first frame of a segment Whisper's second convolution sees zeros."""
        x = F.gelu(self.conv1(torch.cat([features[:, :-2], features[:, 1:-1], features[:, 2:]], dim=-1)))
        before = x[:, :1] * (offset > 0).to(x.dtype)
        x = torch.cat([before, x[:, 1:]], dim=1)
        return F.gelu(self.conv2(torch.cat([x[:, 0:-2:2], x[:, 1:-1:2], x[:, 2::2]], dim=-1)))


def _conv_as_linear(conv: nn.Conv1d) -> nn.Linear:
    """The same weights for input frames laid side by side, earliest first."""
    linear = nn.Linear(conv.in_channels * conv.kernel_size[0], conv.out_channels)
    with torch.no_grad():
        linear.weight.copy_(conv.weight.permute(0, 2, 1).flatten(1))
        assert conv.bias is not None
        linear.bias.copy_(conv.bias)
    return linear


def _attend(layer: Layer, x: Tensor, past_k: Tensor, past_v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One layer on a chunk [1, C, 384] with `left` cached keys and values [left, 384]."""
    size = WIDTH // HEADS
    q, k, v = layer.qkv(layer.attention_norm(x))[0].chunk(3, dim=-1)
    k, v = torch.cat([past_k, k]), torch.cat([past_v, v])
    queries = q.view(-1, HEADS, size).transpose(0, 1)
    keys = k.view(-1, HEADS, size).permute(1, 2, 0)
    values = v.view(-1, HEADS, size).transpose(0, 1)
    weights = (queries @ keys * size**-0.5 + bias).softmax(-1)
    mixed = (weights @ values).transpose(0, 1).reshape(1, -1, WIDTH)
    x = x + layer.attention_out(mixed)
    return x + layer.ffn_out(F.gelu(layer.ffn_in(layer.ffn_norm(x)))), k, v


def windows(features: np.ndarray, chunk: int) -> Iterator[tuple[int, np.ndarray]]:
    """Cut a segment [T, 80] into calls: (frames before, features [2C+4, 80]).

    The last call takes only the frames that are left: filled up with zeros to a whole chunk, its frames would look at
    what is not there.
    """
    frames = -(-len(features) // 2)
    padded = np.pad(features, ((2, len(features) % 2 + 2), (0, 0)))
    for offset in range(0, frames, chunk or frames):
        end = min(offset + (chunk or frames), frames)
        yield offset, padded[2 * offset : 2 * end + 4]


class StreamingStep:
    """Runs an exported step with ONNX Runtime on one thread."""

    def __init__(self, path: Path) -> None:
        self._session = session(path)
        self.cache_shape = tuple(self._session.get_inputs()[1].shape)

    def run_all(self, features: np.ndarray, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        """A whole segment [T, 80] in chunks (0: in one) -> phones [ceil(T/2), 40], characters [ceil(T/2), 29]."""
        cache_k = cache_v = np.zeros(self.cache_shape, np.float32)
        phones, characters = [], []
        for offset, window in windows(features, chunk):
            position = np.array([offset], np.int64)
            feeds = (window[None], cache_k, cache_v, position, np.minimum(position, self.cache_shape[1]))
            p, c, cache_k, cache_v = self._session.run(OUTPUTS[:4], dict(zip(INPUTS, feeds, strict=True)))
            phones.append(p[0])
            characters.append(c[0])
        return np.concatenate(phones), np.concatenate(characters)


def example_inputs(layers: int, left: int, chunk: int = 16) -> tuple[Tensor, ...]:
    """Zeros of the right shapes, to trace with."""
    cache = torch.zeros(layers, left, WIDTH)
    return (
        torch.zeros(1, 2 * chunk + 4, BANDS),
        cache,
        cache.clone(),
        torch.zeros(1, dtype=torch.int64),
        torch.zeros(1, dtype=torch.int64),
    )
