"""The text encoder and duration predictor of a VITS voice, rebuilt as a small graph over rows of phonemes.

The exported graph spends most of its time on shapes and masks of padded batches (2,300 nodes); for one sentence none of
that is needed. Computed is the same: a transformer with relative positions (P. Shaw, J. Uszkoreit, A. Vaswani: Self-
Attention with Relative Position Representations, 2018), then the inverse of a stochastic duration predictor (J. Kim,
J. Kong, J. Son: VITS, 2021) with rational-quadratic splines (C. Durkan et al.: Neural Spline Flows, 2019).

Weights are found by the names that PyTorch's export keeps. Voices that lack them are used with the exported encoder.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.graph import OPSET, GraphReader, GraphWriter, make_model

WINDOW = 4
"""Distance in phonemes up to which relative positions are told apart."""
TAIL = 5.0
"""The splines bend inside [-TAIL, TAIL] and are the identity outside."""
BINS = 10
LEAST = 1e-3
"""Smallest width, height and slope of a spline's bin."""
FAR = 1 << 40


def build(reader: GraphReader) -> onnx.ModelProto:
    """The same inputs and outputs as the cut-out encoder, but rows first: mean and deviation [phonemes, channels].

    ids [1, n] int64, scales [3], duration_noise [1, 2, n] -> mean, deviation (exponentiated), durations [n] in frames.
    Raises ModelDataError when weights are missing or of other shapes.
    """
    return _EncoderWriter(reader).build()


class _EncoderWriter(GraphWriter):
    def __init__(self, reader: GraphReader) -> None:
        super().__init__()
        self._reader = reader
        self._zero, self._one = self._ints(0), self._ints(1)

    def build(self) -> onnx.ModelProto:
        embedding = self._embedding()
        width = embedding.shape[1]
        heads = self._heads(width)
        rows = self.add("Squeeze", "ids", self._zero)
        self._length = self.add("Shape", rows)
        x = self.add("Gather", self.constant(embedding * np.float32(math.sqrt(width))), rows, axis=0)
        layer = 0
        while self._has(f"enc_p.encoder.attn_layers.{layer}.conv_q.weight"):
            x = self._norm(self.add("Add", x, self._attention(x, layer, heads)), f"enc_p.encoder.norm_layers_1.{layer}")
            x = self._norm(self.add("Add", x, self._feed_forward(x, layer)), f"enc_p.encoder.norm_layers_2.{layer}")
            layer += 1
        if layer == 0:
            raise self._reader.fail("no attention layers under the usual names")
        both = self._linear(x, "enc_p.proj")
        self.name_output(self._columns(both, 0, width), "mean")
        self.name_output(self.add("Exp", self._columns(both, width, 2 * width)), "deviation")
        self.name_output(self._durations(x), "durations")
        return make_model(
            self.nodes,
            "encoder",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"]),
                helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
                helper.make_tensor_value_info("duration_noise", TensorProto.FLOAT, [1, 2, "n"]),
            ],
            [
                helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["n", width]),
                helper.make_tensor_value_info("deviation", TensorProto.FLOAT, ["n", width]),
                helper.make_tensor_value_info("durations", TensorProto.FLOAT, ["n"]),
            ],
            self.weights,
            OPSET,
        )

    # --- weights -----------------------------------------------------------------------------------------------------

    def _has(self, name: str) -> bool:
        return self._reader.is_weight(name)

    def _array(self, name: str) -> Floats:
        if not self._has(name):
            raise self._reader.fail(f"no weight {name!r}")
        return np.asarray(self._reader.weight(name), np.float32)

    def _embedding(self) -> Floats:
        ids = self._reader.model.graph.input[0].name
        gather = next(node for node in self._reader.users(ids) if node.op_type == "Gather")
        return np.asarray(self._reader.weight(gather.input[0]), np.float32)

    def _heads(self, width: int) -> int:
        return width // int(self._array("enc_p.encoder.attn_layers.0.emb_rel_k").shape[2])

    def _ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def _float(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    # --- general layers

    def _columns(self, x: str, first: int, last: int) -> str:
        return self.add("Slice", x, self._ints(first), self._ints(last), self._one)

    def _linear(self, x: str, name: str, scale: float = 1.0) -> str:
        """A 1x1 convolution over rows."""
        weight = self._array(f"{name}.weight")[:, :, 0].T * np.float32(scale)
        return self.add(
            "Add",
            self.add("MatMul", x, self.constant(weight)),
            self.constant(self._array(f"{name}.bias") * np.float32(scale)),
        )

    def _shifted(self, x: str, taps: int, dilation: int) -> list[str]:
        """x moved by each tap of a "same" convolution over rows."""
        reach = (taps - 1) * dilation // 2
        padded = self.add("Pad", x, self._ints(reach, 0, reach, 0))
        moved = []
        for tap in range(taps):
            last = FAR if tap == taps - 1 else (tap + 1 - taps) * dilation
            moved.append(self.add("Slice", padded, self._ints(tap * dilation), self._ints(last), self._zero))
        return moved

    def _convolution(self, x: str, name: str) -> str:
        weight = self._array(f"{name}.weight")
        side_by_side = self.add("Concat", *self._shifted(x, weight.shape[2], 1), axis=1)
        product = self.add("MatMul", side_by_side, self.constant(weight.transpose(2, 1, 0).reshape(-1, len(weight))))
        return self.add("Add", product, self.constant(self._array(f"{name}.bias")))

    def _norm(self, x: str, name: str) -> str:
        gamma, beta = self._array(f"{name}.gamma"), self._array(f"{name}.beta")
        return self.add("LayerNormalization", x, self.constant(gamma), self.constant(beta), axis=-1, epsilon=1e-5)

    # --- transformer

    def _feed_forward(self, x: str, layer: int) -> str:
        name = f"enc_p.encoder.ffn_layers.{layer}"
        return self._convolution(self.add("Relu", self._convolution(x, f"{name}.conv_1")), f"{name}.conv_2")

    def _attention(self, x: str, layer: int, heads: int) -> str:
        name = f"enc_p.encoder.attn_layers.{layer}"
        size = self._array(f"{name}.emb_rel_k").shape[2]

        def split(y: str) -> str:  # [n, heads * size] -> [heads, n, size]
            return self.add("Transpose", self.add("Reshape", y, self._ints(-1, heads, size)), perm=[1, 0, 2])

        query = split(self._linear(x, f"{name}.conv_q", 1 / math.sqrt(size)))
        key = self.add(
            "Transpose",
            self.add("Reshape", self._linear(x, f"{name}.conv_k"), self._ints(-1, heads, size)),
            perm=[1, 2, 0],
        )
        value = split(self._linear(x, f"{name}.conv_v"))
        near = self.add("MatMul", query, self.constant(self._array(f"{name}.emb_rel_k")[0].T))
        scores = self.add("Add", self.add("MatMul", query, key), self._to_band(near, heads))
        weights = self.add("Softmax", scores, axis=-1)
        nearby = self.add("MatMul", self._from_band(weights, heads), self.constant(self._array(f"{name}.emb_rel_v")[0]))
        mixed = self.add("Add", self.add("MatMul", weights, value), nearby)
        merged = self.add("Reshape", self.add("Transpose", mixed, perm=[1, 0, 2]), self._ints(-1, heads * size))
        return self._linear(merged, f"{name}.conv_o")

    def _to_band(self, near: str, heads: int) -> str:
        """[heads, n, 9] by distance -> [heads, n, n], zero where the distance is larger.

        Rows of n + 9 numbers, read as rows of n + 8: each row begins one place further right than the one above.
        """
        wide = self.add("Pad", near, self.add("Concat", self._ints(0, 0, 0, 0, 0), self._length, axis=0))
        flat = self.add("Reshape", wide, self._ints(heads, -1))
        stride = self.add("Add", self._length, self._ints(2 * WINDOW))
        kept = self.add("Slice", flat, self._zero, self.add("Mul", self._length, stride), self._one)
        skewed = self.add("Reshape", kept, self.add("Concat", self._ints(heads), self._length, stride, axis=0))
        return self.add("Slice", skewed, self._ints(WINDOW), self._ints(-WINDOW), self._ints(2))

    def _from_band(self, weights: str, heads: int) -> str:
        """The inverse: [heads, n, n] -> [heads, n, 9] by distance, zero beyond the ends."""
        wide = self.add("Pad", weights, self._ints(0, 0, WINDOW, 0, 0, WINDOW))
        flat = self.add("Reshape", wide, self._ints(heads, -1))
        longer = self.add("Pad", flat, self.add("Concat", self._ints(0, 0, 0), self._length, axis=0))
        stride = self.add("Add", self._length, self._ints(2 * WINDOW + 1))
        rows = self.add("Reshape", longer, self.add("Concat", self._ints(heads), self._length, stride, axis=0))
        return self.add("Slice", rows, self._ints(0), self._ints(2 * WINDOW + 1), self._ints(2))

    # --- durations

    def _durations(self, x: str) -> str:
        """ceil(exp(log duration) * length scale), [n]."""
        condition = self._linear(self._depthwise_stack(self._linear(x, "dp.pre"), "dp.convs"), "dp.proj")
        scale = self.add("Slice", "scales", self._ints(2), self._ints(3), self._zero)
        noise = self.add(
            "Transpose", self.add("Mul", self.add("Squeeze", "duration_noise", self._zero), scale), perm=[1, 0]
        )
        halves = [self._columns(noise, 0, 1), self._columns(noise, 1, 2)]
        flows = sorted(
            {
                int(name.split(".")[2])
                for name in self._weight_names()
                if name.startswith("dp.flows.") and name.endswith(".proj.weight")
            }
        )
        if not flows:
            raise self._reader.fail("no spline flows under the usual names")
        for index in reversed(flows):
            halves.reverse()
            halves[1] = self._inverse_spline(halves[0], halves[1], condition, f"dp.flows.{index}")
        halves.reverse()
        shift, shrink = self._affine()
        log_durations = self.add("Mul", self.add("Sub", halves[0], self._float(shift)), self._float(shrink))
        length = self.add("Slice", "scales", self._one, self._ints(2), self._zero)
        return self.add("Squeeze", self.add("Ceil", self.add("Mul", self.add("Exp", log_durations), length)), self._one)

    def _weight_names(self) -> list[str]:
        return [tensor.name for tensor in self._reader.model.graph.initializer]

    def _affine(self) -> tuple[float, float]:
        """(m, exp(-logs)) of the first channel; the second is often a folded constant, found behind the subtraction."""
        mean = self._array("dp.flows.0.m")
        subtraction = self._reader.users("dp.flows.0.m")[0]
        product = self._reader.users(subtraction.output[0])[0]
        other = next(tensor for tensor in product.input if tensor != subtraction.output[0])
        if self._has(other):
            shrink = float(np.asarray(self._reader.weight(other)).reshape(-1)[0])
        else:
            shrink = math.exp(-float(self._array("dp.flows.0.logs").reshape(-1)[0]))
        return float(mean.reshape(-1)[0]), shrink

    def _depthwise_stack(self, x: str, name: str) -> str:
        """Dilated depth-separable convolutions with residuals."""
        layer = 0
        while self._has(f"{name}.convs_sep.{layer}.weight"):
            weight = self._array(f"{name}.convs_sep.{layer}.weight")
            moved = self._shifted(x, weight.shape[2], weight.shape[2] ** layer)
            y = self.constant(self._array(f"{name}.convs_sep.{layer}.bias"))
            for tap, piece in enumerate(moved):
                y = self.add("Add", self.add("Mul", piece, self.constant(weight[:, 0, tap])), y)
            y = self.add("Gelu", self._norm(y, f"{name}.norms_1.{layer}"))
            y = self.add("Gelu", self._norm(self._linear(y, f"{name}.convs_1x1.{layer}"), f"{name}.norms_2.{layer}"))
            x = self.add("Add", x, y)
            layer += 1
        return x

    def _inverse_spline(self, given: str, x: str, condition: str, name: str) -> str:
        """The other half [n, 1], moved back through a monotonic spline that `given` [n, 1] shapes."""
        weight = self._array(f"{name}.pre.weight")
        hidden = self.add(
            "Add",
            self.add("MatMul", given, self.constant(weight[:, :, 0].T)),
            self.constant(self._array(f"{name}.pre.bias")),
        )
        hidden = self._depthwise_stack(self.add("Add", hidden, condition), f"{name}.convs")
        shape = self._linear(hidden, f"{name}.proj")
        scale = 1 / math.sqrt(weight.shape[0])
        width_edges, widths = self._knots(self._columns(shape, 0, BINS), scale)
        height_edges, heights = self._knots(self._columns(shape, BINS, 2 * BINS), scale)
        slopes = self._slopes(self._columns(shape, 2 * BINS, 3 * BINS - 1))
        # One-hot of the bin whose heights enclose x.
        low, high = self._columns(height_edges, 0, BINS), self._columns(height_edges, 1, BINS + 1)
        inside = self.add(
            "Cast", self.add("And", self.add("GreaterOrEqual", x, low), self.add("Less", x, high)), to=TensorProto.FLOAT
        )

        def pick(values: str) -> str:
            return self.add("ReduceSum", self.add("Mul", values, inside), self._one, keepdims=1)

        w, h = pick(widths), pick(heights)
        left, bottom = pick(self._columns(width_edges, 0, BINS)), pick(low)
        slope, next_slope = pick(self._columns(slopes, 0, BINS)), pick(self._columns(slopes, 1, BINS + 1))
        delta = self.add("Div", h, self.add("Max", w, self._float(1e-9)))
        above = self.add("Sub", x, bottom)
        bend = self.add("Sub", self.add("Add", slope, next_slope), self.add("Mul", delta, self._float(2)))
        a = self.add("Add", self.add("Mul", above, bend), self.add("Mul", h, self.add("Sub", delta, slope)))
        b = self.add("Sub", self.add("Mul", h, slope), self.add("Mul", above, bend))
        c = self.add("Neg", self.add("Mul", delta, above))
        discriminant = self.add("Sub", self.add("Mul", b, b), self.add("Mul", self.add("Mul", a, c), self._float(4)))
        root = self.add("Sub", self.add("Neg", b), self.add("Sqrt", self.add("Relu", discriminant)))
        solved = self.add("Add", self.add("Mul", self.add("Div", self.add("Mul", c, self._float(2)), root), w), left)
        bent = self.add("LessOrEqual", self.add("Abs", x), self._float(TAIL))
        return self.add("Where", bent, solved, x)

    def _knots(self, raw: str, scale: float) -> tuple[str, str]:
        """(edges [n, BINS + 1] from -TAIL to TAIL, sizes [n, BINS]) from unnormalised sizes."""
        share = self.add("Softmax", self.add("Mul", raw, self._float(scale)), axis=-1)
        share = self.add("Add", self.add("Mul", share, self._float(1 - LEAST * BINS)), self._float(LEAST))
        summing = np.triu(np.ones((BINS, BINS + 1), np.float32), 1)
        edges = self.add("MatMul", share, self.constant(summing * np.float32(2 * TAIL)))
        edges = self.add("Sub", edges, self._float(TAIL))
        return edges, self.add("Mul", share, self._float(2 * TAIL))

    def _slopes(self, raw: str) -> str:
        """[n, BINS + 1]; 1 at both ends, so that the spline meets the identity."""
        inner = self.add("Add", self.add("Softplus", raw), self._float(LEAST))
        return self.add("Pad", inner, self._ints(0, 1, 0, 1), self._float(1.0))
