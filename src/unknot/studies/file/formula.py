"""Settings that follow from others: ``"= 10 * objective.lambda_od"``.

Numbers, dotted names of settings, ``+ - * /`` and brackets; parsed, never run as code.
"""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from unknot.core.border import MOST_DIGITS
from unknot.core.errors import ConfigError

LONGEST = 200
"""Characters; longer ones are no formula, and deep nesting would exhaust the parser."""
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def is_formula(value: object) -> bool:
    """Whether a setting is to be computed: a text that starts with ``=``."""
    return isinstance(value, str) and value.lstrip().startswith("=")


def compute(text: str, lookup: Callable[[str], object]) -> int | float:
    """The value of a formula.

    Args:
        text: With its ``=``.
        lookup: Gives the setting of a dotted name.

    Example:
        >>> compute("= 10 * (objective.lambda_od + 1)", {"objective.lambda_od": 2}.get)
        30
        >>> compute("= batch / 2", {"batch": 64}.get)
        32
    """
    source = text.lstrip().removeprefix("=").strip()
    if len(source) > LONGEST:
        raise ConfigError(f"A formula has at most {LONGEST} characters; got {len(source)}.")
    try:
        value = _value(ast.parse(source, mode="eval").body, lookup)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise ConfigError(
            f"'{text}' is not a formula such as '= 10 * objective.lambda_od': {reason}."
        ) from error
    except (ZeroDivisionError, OverflowError) as error:
        raise ConfigError(f"'{text}' has no value: {error}.") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"'{text}' has no finite value.")
    # Half of 64 is 32 also where a whole number is wanted.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _value(node: ast.expr, lookup: Callable[[str], object]) -> int | float:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        result: int | float = OPERATIONS[type(node.op)](
            _value(node.left, lookup), _value(node.right, lookup)
        )
        if isinstance(result, int) and abs(result) >= 10**MOST_DIGITS:
            raise OverflowError(f"it has more than {MOST_DIGITS} digits")
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, lookup)
    if isinstance(node, ast.Constant):
        return _number(node.value, ast.unparse(node))
    name = _name(node)
    return _number(lookup(name), name)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise SyntaxError(f"'{ast.unparse(node)}' is neither a number, a setting nor + - * /")


def _number(value: object, name: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"A formula needs a number for {name}; it is {value!r}.")
    return value
