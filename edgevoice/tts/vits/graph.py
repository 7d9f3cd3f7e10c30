"""Reading and rebuilding ONNX graphs: who makes a tensor, cutting a piece out, one weight as an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from edgevoice.errors import ModelDataError

OPSET = 20
"""Operator set of the graphs built here (has LayerNormalization and Gelu); ONNX Runtime >= 1.17."""


class GraphReader:
    """Look-ups over one ONNX model. Raises ModelDataError (naming `name`) when something expected is not there."""

    def __init__(self, model: onnx.ModelProto, name: str) -> None:
        self.model, self.name = model, name
        self.nodes = list(model.graph.node)
        self._maker = {output: node for node in self.nodes for output in node.output}
        self._users: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for tensor in node.input:
                self._users.setdefault(tensor, []).append(node)
        self._initializers = {tensor.name: tensor for tensor in model.graph.initializer}

    def fail(self, why: str, mend: str = "use a single-speaker voice exported by Piper") -> ModelDataError:
        """The error of a voice that is not the VITS graph Piper exports."""
        return ModelDataError(self.name, f"not a Piper VITS voice that can be used ({why})", mend)

    def maker(self, tensor: str) -> onnx.NodeProto:
        """The node that produces `tensor`."""
        if tensor not in self._maker:
            raise self.fail(f"nothing produces {tensor!r}")
        node: onnx.NodeProto = self._maker[tensor]
        return node

    def users(self, tensor: str) -> list[onnx.NodeProto]:
        """The nodes that read `tensor`, in order."""
        return self._users.get(tensor, [])

    def of_type(self, *kinds: str) -> list[onnx.NodeProto]:
        """All nodes of these operator types, in order."""
        return [node for node in self.nodes if node.op_type in kinds]

    def is_weight(self, tensor: str) -> bool:
        """Whether `tensor` is stored in the file (an initializer or a Constant node)."""
        return tensor in self._initializers or (tensor in self._maker and self._maker[tensor].op_type == "Constant")

    def weight(self, tensor: str) -> NDArray[np.generic]:
        """The stored array named `tensor`."""
        if tensor in self._initializers:
            return numpy_helper.to_array(self._initializers[tensor])
        node = self.maker(tensor)
        if node.op_type != "Constant":
            raise self.fail(f"{tensor!r} is not a stored weight")
        return numpy_helper.to_array(node.attribute[0].t)

    def cut(self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[str], name: str) -> onnx.ModelProto:
        """The part of the graph that computes `outputs` from `inputs`, as a model of its own (branches nobody reads
        are gone).
        """
        borders = {value.name for value in inputs}
        kept: set[int] = set()
        weights: dict[str, onnx.TensorProto] = {}
        waiting = list(outputs)
        while waiting:
            tensor = waiting.pop()
            if tensor == "" or tensor in borders:
                continue
            if tensor in self._initializers:
                weights[tensor] = self._initializers[tensor]
                continue
            node = self.maker(tensor)
            if id(node) not in kept:
                kept.add(id(node))
                waiting.extend(node.input)
        return make_model(
            [node for node in self.nodes if id(node) in kept],
            name,
            inputs,
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs],
            weights.values(),
            self.model.opset_import[0].version,
        )


def make_model(
    nodes: Iterable[onnx.NodeProto],
    name: str,
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
    weights: Iterable[onnx.TensorProto],
    opset: int,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model of these nodes; IR version 8 so that every ONNX Runtime since 1.14 reads it. `domains`: other operator
    sets and their versions.
    """
    graph = helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(weights))
    imports = [helper.make_opsetid(domain, version) for domain, version in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="edgevoice")


def integer(node: onnx.NodeProto, name: str, default: int) -> int:
    """An integer attribute of `node`, or the last of a list of integers."""
    for item in node.attribute:
        if item.name == name:
            return int(item.ints[-1]) if item.ints else int(item.i)
    return default


def number(node: onnx.NodeProto, name: str, default: float) -> float:
    """A float attribute of `node`."""
    return next((float(item.f) for item in node.attribute if item.name == name), default)


class GraphWriter:
    """Builds a graph node by node: every method adds one operator and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._count = 0

    def constant(self, value: NDArray[np.generic]) -> str:
        """Store an array."""
        self._count += 1
        name = f"w{self._count}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Add an operator; the name of its (first) output."""
        self._count += 1
        names = [f"t{self._count}"] + [f"t{self._count}_{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def name_output(self, tensor: str, name: str) -> None:
        """Give `tensor` the public name `name`."""
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
