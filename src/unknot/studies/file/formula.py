"""Settings that follow from others: ``"= 10 * objective.lambda_od"``.

Numbers, dotted names of settings, ``+ - * /`` and brackets; parsed, never run as code. A formula
may name what came of another run, ``result('l_vae').beta_hat``: then it has no value before that.
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


def source_of(text: str) -> str | None:
    """Which run a formula takes a result of; None where it has a value at once.

    Raises:
        ConfigError: It names several, or is no formula.

    Example:
        >>> source_of("= 2 * result('l_vae').beta_hat"), source_of("= 10 * objective.beta")
        ('l_vae', None)
    """
    named = [_source(node) for node in ast.walk(_parse(text)) if isinstance(node, ast.Call)]
    sources = [*dict.fromkeys(source for source in named if source is not None)]
    if len(sources) > 1:
        raise ConfigError(f"A formula takes results of one source; '{text}' has {sources}.")
    return sources[0] if sources else None


def canonical(text: str) -> str:
    """A formula with spaces and quotes in one way, which its run's id depends on.

    Example:
        >>> canonical('=2*result("l_vae").beta_hat')
        "= 2 * result('l_vae').beta_hat"
    """
    return f"= {ast.unparse(_parse(text))}"


def compute(
    text: str,
    lookup: Callable[[str], object],
    result: Callable[[str], object] | None = None,
) -> int | float:
    """The value of a formula.

    Args:
        text: With its ``=``.
        lookup: Gives the setting of a dotted name.
        result: Gives a result of the formula's source by name.

    Example:
        >>> compute("= 10 * (objective.lambda_od + 1)", {"objective.lambda_od": 2}.get)
        30
        >>> compute("= batch / 2", {"batch": 64}.get)
        32
        >>> compute("= 2 * result('l_vae').beta_hat", {}.get, {"beta_hat": 1.5}.get)
        3
    """
    body = _parse(text)
    try:
        value = _value(body, lookup, result)
    except (SyntaxError, ValueError) as error:
        raise _no_formula(text, error) from error
    except (ZeroDivisionError, OverflowError) as error:
        raise ConfigError(f"'{text}' has no value: {error}.") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"'{text}' has no finite value.")
    # Half of 64 is 32 also where a whole number is wanted.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _parse(text: str) -> ast.expr:
    source = text.lstrip().removeprefix("=").strip()
    if len(source) > LONGEST:
        raise ConfigError(f"A formula has at most {LONGEST} characters; got {len(source)}.")
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _no_formula(text, error) from error


def _no_formula(text: str, error: SyntaxError | ValueError) -> ConfigError:
    reason = getattr(error, "msg", None) or str(error)
    return ConfigError(f"'{text}' is not a formula such as '= 10 * objective.lambda_od': {reason}.")


def _source(node: ast.expr) -> str | None:
    """The name in ``result('name')``; None of anything else."""
    is_result = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if not isinstance(node, ast.Call) or not is_result or ast.unparse(node.func) != "result":
        return None
    match node.args:
        case [ast.Constant(value=str(name))] if name.strip() and not node.keywords:
            return name
    raise ConfigError(
        f"A result is written result('l_vae').beta_hat, with the name of an objective; "
        f"got {ast.unparse(node)}."
    )


def _value(
    node: ast.expr,
    lookup: Callable[[str], object],
    result: Callable[[str], object] | None,
) -> int | float:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        value: int | float = OPERATIONS[type(node.op)](
            _value(node.left, lookup, result), _value(node.right, lookup, result)
        )
        if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            raise OverflowError(f"it has more than {MOST_DIGITS} digits")
        return value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, lookup, result)
    if isinstance(node, ast.Constant):
        return _number(node.value, ast.unparse(node))
    root, names = node, list[str]()
    while isinstance(root, ast.Attribute):
        names.insert(0, root.attr)
        root = root.value
    if result is not None and names and _source(root) is not None:
        return _number(result(".".join(names)), ".".join(names))
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
