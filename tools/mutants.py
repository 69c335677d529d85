"""Small changes of a module, made in its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
"""The operator that takes the place of another one."""

REMOVED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
"""Statements that a mutant leaves out."""


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the number of the changed node, its line, and a description."""

    path: Path
    number: int
    line: int
    change: str

    def compile(self) -> CodeType:
        """Compile the module with the change."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        node, parent = list(_nodes(tree))[self.number]
        change = _change_of(node)
        assert change is not None
        _replace(parent, node, change[1](node))
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")

    def describe(self, root: Path) -> str:
        """Return the place, the change and the original line."""
        text = self.path.read_text(encoding="utf-8").splitlines()[self.line - 1].strip()
        return f"{self.path.relative_to(root)}:{self.line}: {self.change}: {text}"


def find_mutants(path: Path) -> list[Mutant]:
    """Return all mutants of the functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        Mutant(path, number, node.lineno, change[0])
        for number, (node, _) in enumerate(_nodes(tree))
        if (change := _change_of(node))
    ]


Place = ast.stmt | ast.expr


def _nodes(tree: ast.Module) -> Iterator[tuple[Place, ast.AST]]:
    """Yield the statements and expressions inside functions, with their parents.

    Annotations, decorators and default values are left out, since they run on import.
    """
    waiting: list[tuple[ast.AST, ast.AST, bool]] = [(child, tree, False) for child in tree.body]
    while waiting:
        node, parent, inside = waiting.pop()
        if inside and isinstance(node, (ast.stmt, ast.expr)):
            yield node, parent
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            children: list[ast.AST] = [*node.body]
            inside = True
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        elif isinstance(node, ast.JoinedStr):
            continue  # a message
        else:
            children = list(ast.iter_child_nodes(node))
        waiting += [(child, node, inside) for child in reversed(children)]


def _change_of(node: Place) -> tuple[str, Callable[[Place], ast.AST]] | None:
    """Return the description of a node's change and the function that makes it, if it has one."""
    match node:
        case ast.Compare(ops=[operator]) | ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            other = SWAPPED.get(type(operator))
            if other is None:
                return None
            return f"{type(operator).__name__} to {other.__name__}", _swap
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "not removed", lambda _: operand
        case ast.Constant(value=bool()):
            return "other truth value", lambda _: ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            return "number plus one", lambda _: ast.Constant(node.value + 1)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            return "None returned", lambda _: ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Constant()):
            return None  # a docstring
        case ast.If(test=test):
            return "condition negated", lambda _: _negated(node, test)
    if isinstance(node, REMOVED):
        return "statement removed", lambda _: ast.Pass()
    return None


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _swap(node: Place) -> ast.AST:
    """Return the expression with the other operator."""
    changed = copy.copy(node)
    if isinstance(changed, ast.Compare):
        changed.ops = [SWAPPED[type(changed.ops[0])]()]  # type: ignore[list-item]
    elif isinstance(changed, (ast.BinOp, ast.BoolOp)):
        changed.op = SWAPPED[type(changed.op)]()  # type: ignore[assignment]
    return changed


def _negated(node: ast.If, test: ast.expr) -> ast.If:
    changed = copy.copy(node)
    changed.test = ast.UnaryOp(ast.Not(), test)
    return changed


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another one."""
    ast.copy_location(new, old)
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            value[:] = [new if each is old else each for each in value]
