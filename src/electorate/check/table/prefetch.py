"""An order to the processor to fetch a piece of memory that will be needed soon."""

from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic
get_function: Any = cgutils.get_or_insert_function


@intrinsic
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Have `array[index]` fetched; nothing depends on it but time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        order = get_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(order, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
