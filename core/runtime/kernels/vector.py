"""The few machine instructions that decide the speed and the order of every sum.

LLVM may regroup a sum when it makes vectors out of a loop, and may do so differently
for different numbers of rows. Here the vectors are written out, so a row is added up in
one order whether it is computed alone or beside sixteen others, on every machine alike.

Addresses are integers; strides count float32 elements.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # partial sums of each dot product: part of every result, so never changed
_FLOAT = ir.FloatType()
_WORD = ir.IntType(64)
_INT32 = ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_NEAR = 2  # prefetch into the second cache; the first is full of activations
_YIELD = "SwitchToThread" if os.name == "nt" else "sched_yield"


_intrinsic: Any = intrinsic  # who calls one leaves out its first parameter


class _Writer:
    """Writes the instructions of one intrinsic."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def function(self, name: str, result: ir.Type, *args: ir.Type) -> Any:
        kind = ir.FunctionType(result, args)
        return cgutils.get_or_insert_function(self.builder.module, kind, name)

    def row(self, base: Any, stride: Any, index: int) -> Any:
        """Return the address of row ``index``."""
        return self.element(base, self.builder.mul(stride, _WORD(index)))

    def element(self, base: Any, index: Any) -> Any:
        return self.builder.add(base, self.builder.mul(index, _WORD(4)))

    def load(self, kind: ir.Type, address: Any) -> Any:
        pointer = self.builder.inttoptr(address, kind.as_pointer())
        return self.builder.load(pointer, align=4)

    def store(self, value: Any, address: Any) -> None:
        pointer = self.builder.inttoptr(address, value.type.as_pointer())
        self.builder.store(value, pointer, align=4)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Return a * b + c, rounded once, for numbers and vectors."""
        kind = a.type
        name = f"llvm.fma.v{LANES}f32" if kind == _VECTOR else "llvm.fma.f32"
        return self.builder.call(self.function(name, kind, kind, kind, kind), [a, b, c])

    def prefetch(self, address: Any) -> None:
        byte = ir.IntType(8).as_pointer()
        args = (byte, _INT32, _INT32, _INT32)
        call = self.function("llvm.prefetch.p0", ir.VoidType(), *args)
        pointer = self.builder.inttoptr(address, byte)
        self.builder.call(call, [pointer, _INT32(0), _INT32(_NEAR), _INT32(1)])

    def splat(self, number: Any) -> Any:
        """Return a vector that holds ``number`` in every lane."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, number, _INT32(0))
        same = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, undefined, same)

    def add_lanes(self, vector: Any) -> Any:
        """Return the sum of all lanes: halves onto halves, always in this order."""
        width = LANES
        while width > 1:
            width //= 2
            low, high = (self._part(vector, width, at) for at in (0, width))
            vector = self.builder.fadd(low, high)
        return self.builder.extract_element(vector, _INT32(0))

    def _part(self, vector: Any, width: int, start: int) -> Any:
        lanes = [_INT32(i) for i in range(start, start + width)]
        mask = ir.Constant(ir.VectorType(_INT32, width), lanes)
        undefined = ir.Constant(vector.type, ir.Undefined)
        return self.builder.shuffle_vector(vector, undefined, mask)

    def loop(
        self,
        first: Any,
        end: Any,
        by: int,
        sums: list[Any],
        body: Callable[[Any, list[Any]], list[Any]],
    ) -> list[Any]:
        """Carry ``sums`` through ``body`` for each index and return the last ones."""
        build = self.builder
        before = build.block
        head, inside, after = (build.append_basic_block(n) for n in ("h", "b", "a"))
        build.branch(head)
        build.position_at_end(head)
        index = build.phi(_WORD)
        index.add_incoming(first, before)
        carried = [build.phi(value.type) for value in sums]
        for phi, value in zip(carried, sums, strict=True):
            phi.add_incoming(value, before)
        build.cbranch(build.icmp_signed("<", index, end), inside, after)
        build.position_at_end(inside)
        results = body(index, carried)
        index.add_incoming(build.add(index, _WORD(by)), build.block)
        for phi, value in zip(carried, results, strict=True):
            phi.add_incoming(value, build.block)
        build.branch(head)
        build.position_at_end(after)
        return carried


def dot_tile(outs: int, rows: int) -> Any:
    """Return an intrinsic for ``outs`` weight rows times ``rows`` activation rows.

    Its arguments are (w, w_stride, x, x_stride, size, y, y_stride); it adds
    dot(w[o], x[r]) over ``size`` elements to y[r, o].
    """

    @_intrinsic
    def tile(typing, w, w_stride, x, x_stride, size, y, y_stride):
        signature = types.void(*[types.intp] * 7)
        return signature, lambda context, builder, _, args: _write_dots(
            context, _Writer(builder), outs, rows, args
        )

    return tile


def _write_dots(context: Any, code: _Writer, outs: int, rows: int, args: Any) -> Any:
    w, w_stride, x, x_stride, size, y, y_stride = args
    weights = [code.row(w, w_stride, o) for o in range(outs)]
    inputs = [code.row(x, x_stride, r) for r in range(rows)]
    next_tile = code.builder.mul(w_stride, _WORD(4 * outs))

    def multiply(kind: ir.Type, ahead: bool):
        def body(index: Any, sums: list[Any]) -> list[Any]:
            places = [code.element(row, index) for row in weights]
            for place in places if ahead else ():
                code.prefetch(code.builder.add(place, next_tile))
            loaded = [code.load(kind, place) for place in places]
            given = [code.load(kind, code.element(row, index)) for row in inputs]
            pairs = ((a, b) for b in given for a in loaded)
            return [code.fma(a, b, s) for (a, b), s in zip(pairs, sums, strict=True)]

        return body

    zeros = [ir.Constant(_VECTOR, [0.0] * LANES)] * (outs * rows)
    whole = code.builder.and_(size, _WORD(-LANES))
    sums = code.loop(_WORD(0), whole, LANES, zeros, multiply(_VECTOR, True))
    totals = [code.add_lanes(s) for s in sums]
    totals = code.loop(whole, size, 1, totals, multiply(_FLOAT, False))
    for place, total in enumerate(totals):
        r, o = divmod(place, outs)
        address = code.element(code.row(y, y_stride, r), _WORD(o))
        code.store(code.builder.fadd(code.load(_FLOAT, address), total), address)
    return context.get_dummy_value()


def combine_tile(rows: int, columns: int) -> Any:
    """Return an intrinsic that adds up vectors with weights, for ``rows`` rows.

    Its arguments are (x, x_stride, m, m_stride, m_column, size, y, y_stride, fetch); it
    sets the sixteen numbers at y[r, 16 c] to the sum over k < ``size`` of x[r, k] times
    those at m[k] + c * m_column, for each of ``columns`` c. Meanwhile it fetches
    ``size`` cache lines from ``fetch``, one for each k, which changes no number.
    """

    @_intrinsic
    def tile(typing, x, x_stride, m, m_stride, m_column, size, y, y_stride, fetch):
        signature = types.void(*[types.intp] * 9)
        return signature, lambda context, builder, _, args: _write_combination(
            context, _Writer(builder), rows, columns, args
        )

    return tile


def _write_combination(
    context: Any, code: _Writer, rows: int, columns: int, args: Any
) -> Any:
    x, x_stride, m, m_stride, m_column, size, y, y_stride, fetch = args
    inputs = [code.row(x, x_stride, r) for r in range(rows)]
    starts = [code.row(m, m_column, c) for c in range(columns)]

    def body(index: Any, sums: list[Any]) -> list[Any]:
        code.prefetch(code.element(fetch, code.builder.mul(index, _WORD(LANES))))
        step = code.builder.mul(index, m_stride)
        vectors = [code.load(_VECTOR, code.element(start, step)) for start in starts]
        shares = [code.splat(code.load(_FLOAT, code.element(r, index))) for r in inputs]
        pairs = ((share, vector) for share in shares for vector in vectors)
        return [code.fma(a, b, s) for (a, b), s in zip(pairs, sums, strict=True)]

    zeros = [ir.Constant(_VECTOR, [0.0] * LANES)] * (rows * columns)
    for place, total in enumerate(code.loop(_WORD(0), size, 1, zeros, body)):
        r, c = divmod(place, columns)
        code.store(total, code.element(code.row(y, y_stride, r), _WORD(LANES * c)))
    return context.get_dummy_value()


@_intrinsic
def add_scaled(typing, share, x, size, y):
    """Add ``share`` times the ``size`` elements at x to those at y."""

    def generate(context, builder, signature, args):
        code, (number, source, count, target) = _Writer(builder), args

        def body(kind: ir.Type, factor: Any):
            def add(index: Any, sums: list[Any]) -> list[Any]:
                place = code.element(target, index)
                given = code.load(kind, code.element(source, index))
                code.store(code.fma(factor, given, code.load(kind, place)), place)
                return sums

            return add

        whole = builder.and_(count, _WORD(-LANES))
        code.loop(_WORD(0), whole, LANES, [], body(_VECTOR, code.splat(number)))
        code.loop(whole, count, 1, [], body(_FLOAT, number))
        return context.get_dummy_value()

    return types.void(types.float32, types.intp, types.intp, types.intp), generate


@_intrinsic
def largest(typing, first, x, size):
    """Return the largest of ``first`` and the ``size`` elements at x."""

    def generate(context, builder, signature, args):
        code, (number, source, count) = _Writer(builder), args

        def body(kind: ir.Type):
            def keep(index: Any, best: list[Any]) -> list[Any]:
                given = code.load(kind, code.element(source, index))
                higher = builder.fcmp_ordered(">", given, best[0])
                return [builder.select(higher, given, best[0])]

            return keep

        whole = builder.and_(count, _WORD(-LANES))
        start = [code.splat(number)]
        (lanes,) = code.loop(_WORD(0), whole, LANES, start, body(_VECTOR))
        best = number
        for lane in range(LANES):
            given = builder.extract_element(lanes, _INT32(lane))
            best = builder.select(builder.fcmp_ordered(">", given, best), given, best)
        (best,) = code.loop(whole, count, 1, [best], body(_FLOAT))
        return best

    return types.float32(types.float32, types.intp, types.intp), generate


@_intrinsic
def fetch_add(typing, address):
    """Add one to the int64 at ``address`` for all threads; return what was there."""

    def generate(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.atomic_rmw("add", pointer, _WORD(1), "seq_cst")

    return types.int64(types.intp), generate


@_intrinsic
def read_shared(typing, address):
    """Return the int64 at ``address`` as other threads last wrote it."""

    def generate(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], _WORD.as_pointer())
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(types.intp), generate


@_intrinsic
def float_from_bits(typing, bits):
    """Return the float32 with these 32 bits."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], _FLOAT)

    return types.float32(types.int32), generate


give_way = types.ExternalFunction(_YIELD, types.int32())
