"""The recogniser: Whisper tiny.en's encoder under a chunk mask, new transformer layers on top, and two CTC heads.

One frame is 20 ms. Under a mask of chunk size C a frame sees its own chunk and `left` frames before that chunk, in
every layer, so that streaming with key/value caches equals one masked pass. C = 0 means no mask: the whole segment
sees itself.
Whisper: Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", arXiv 2212.04356.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH = 384
HEADS = 6
BANDS = 80
PHONE_CLASSES = 40
CHARACTER_CLASSES = 29
LONGEST = 1500  # frames; positions beyond 30 s were never heard by Whisper
LEFT = 128
BLOCK = 64
MASKED = -1e4


class Layer(nn.Module):
    """Pre-norm transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.attention_out = nn.Linear(WIDTH, WIDTH)
        self.ffn_norm = nn.LayerNorm(WIDTH)
        self.ffn_in = nn.Linear(WIDTH, 4 * WIDTH)
        self.ffn_out = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, 384], mask as `attention_mask` gives it -> [B, T, 384]."""
        attend = attend_blocks if mask.ndim == 5 else attend_all
        x = x + self.attention_out(attend(self.qkv(self.attention_norm(x)), mask))
        return x + self.ffn_out(F.gelu(self.ffn_in(self.ffn_norm(x))))

    def start_as_identity(self) -> None:
        """What a new layer adds begins at zero, so that training starts from the encoder's own frames."""
        for linear in (self.attention_out, self.ffn_out):
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)


class Encoder(nn.Module):
    """Whisper's part: two convolutions, four layers."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(BANDS, WIDTH, 3)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, stride=2)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.register_buffer("positions", positions(torch.arange(LONGEST)), persistent=False)

    def front(self, features: Tensor) -> Tensor:
        """features [B, T, 80] -> [B, ceil(T / 2), 384]. Zero frames stand for what comes before and after."""
        padded = F.pad(features.transpose(1, 2), (1, 1 + features.shape[1] % 2))
        return F.gelu(self.conv2(F.pad(F.gelu(self.conv1(padded)), (1, 0)))).transpose(1, 2)

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """features [B, T, 80], mask as `attention_mask` gives it -> frames [B, ceil(T / 2), 384]."""
        x = self.front(features)
        x = x + self.positions[: x.shape[1]].to(x.dtype)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Recogniser(nn.Module):
    """Encoder, `new_layers` layers of our own, phone and character heads."""

    def __init__(self, new_layers: int = 2, layers: int = 4) -> None:
        super().__init__()
        self.encoder = Encoder(layers)
        self.new_layers = nn.ModuleList(Layer() for _ in range(new_layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.phones = nn.Linear(WIDTH, PHONE_CLASSES)
        self.characters = nn.Linear(WIDTH, CHARACTER_CLASSES)
        for layer in self.new_layers:
            layer.start_as_identity()

    def heads(self, frames: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """frames [B, T, 384] -> logits of phones [B, T, 40] and characters [B, T, 29]; class 0 is blank."""
        x = frames
        for layer in self.new_layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.phones(x), self.characters(x)

    def forward(self, features: Tensor, lengths: Tensor, chunk: int, left: int = LEFT) -> tuple[Tensor, Tensor]:
        """Logits of a batch; `lengths` [B] counts feature frames (10 ms)."""
        counts = frame_counts(lengths)
        mask = attention_mask((features.shape[1] + 1) // 2, counts, chunk, left)
        return self.heads(self.encoder(features, mask), mask)


def positions(index: Tensor) -> Tensor:
    """Whisper's sinusoids of the given frame numbers [T] -> [T, 384]."""
    half = WIDTH // 2
    rates = torch.exp(torch.arange(half) * (-math.log(10000) / (half - 1)))
    angles = index.float()[:, None] * rates[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def frame_counts(lengths: Tensor) -> Tensor:
    """Encoder frames (20 ms) of so many feature frames (10 ms)."""
    return (lengths + 1) // 2


def attention_mask(frames: int, counts: Tensor, chunk: int, left: int = LEFT, blocked: bool = True) -> Tensor:
    """Who may look at whom: real frames only, and with a chunk only the frame's own chunk and `left` before it.

    Dense: bool [B, 1, T, T], True where row may look at column. Where blocks of 64 frames fit the chunk and the left
    context (and `blocked`): what to add to the scores, [B, 1, blocks, 64, left + 64], for `attend_blocks`, which saves
    the work on what is masked anyway.
    """
    index = torch.arange(frames)
    if chunk and blocked and BLOCK % chunk == 0 and left % BLOCK == 0:
        start = torch.arange(0, frames, BLOCK)[:, None, None]
        row, column = start + torch.arange(BLOCK)[:, None], start - left + torch.arange(left + BLOCK)
        first = row // chunk * chunk
        visible = (column >= first - left) & (column < first + chunk) & (column >= 0)
        seen = visible[None] & (column[None] < counts[:, None, None, None])
        return torch.where(seen, 0.0, MASKED).unsqueeze(1)
    mask = (index[None, :] < counts[:, None])[:, None, :].expand(-1, frames, -1)
    if chunk:
        first = (index // chunk * chunk)[:, None]
        mask = mask & (index >= first - left) & (index < first + chunk)
    nowhere = ~mask.any(dim=-1, keepdim=True)  # padding rows: let them see something, softmax of nothing is NaN
    return (mask | (nowhere & (index == 0))).unsqueeze(1)


def attend_all(qkv: Tensor, mask: Tensor) -> Tensor:
    """Attention of [B, T, 3 * 384] under a dense mask -> [B, T, 384]."""
    batch, frames, _ = qkv.shape
    q, k, v = qkv.view(batch, frames, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, frames, WIDTH)


def attend_blocks(qkv: Tensor, bias: Tensor) -> Tensor:
    """Attention of [B, T, 3 * 384] in blocks: each looks at itself and at the blocks before it, as `bias` says."""
    batch, frames, _ = qkv.shape
    _, _, blocks, size, width = bias.shape
    before = width // size - 1
    padded = F.pad(qkv, (0, 0, before * size, blocks * size - frames))
    q, k, v = padded.view(batch, blocks + before, size, 3, HEADS, WIDTH // HEADS).permute(3, 0, 4, 1, 2, 5)
    k, v = (torch.cat([x[:, :, i : i + blocks] for i in range(before + 1)], dim=3).flatten(0, 2) for x in (k, v))
    q = q[:, :, before:].flatten(0, 2) * (WIDTH // HEADS) ** -0.5
    scores = (q @ k.transpose(1, 2)).view(batch, HEADS, blocks, size, width)
    weights = (scores + bias.to(scores.dtype)).softmax(-1).to(v.dtype).view(-1, size, width)
    mixed = (weights @ v).view(batch, HEADS, blocks * size, -1)
    return mixed[:, :, :frames].transpose(1, 2).reshape(batch, frames, WIDTH)
