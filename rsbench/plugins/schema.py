"""A component's constructor as a typed config: one dataclass, made from its signature."""

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

from rsbench.errors import UserError, first_line

_PRIMITIVE = (bool, int, float, str)
_ALLOWED = (*_PRIMITIVE, type(None), list, tuple, dict)


def type_hints(cls: Callable[..., Any]) -> dict[str, Any]:
    """Type hints of a constructor; none where they cannot be made out."""
    try:
        return typing.get_type_hints(cls.__init__ if isinstance(cls, type) else cls)  # type: ignore[misc]
    except Exception:  # a stranger's hints may name anything
        return {}


def make_schema(name: str, cls: Callable[..., Any]) -> type:
    """A dataclass with the component's name and its parameters, typed and defaulted."""
    hints = type_hints(cls)
    fields: list[Any] = [("name", str, dataclasses.field(default=name))]
    for parameter in inspect.signature(cls).parameters.values():
        hint = _check(parameter, hints.get(parameter.name, Any))
        default = parameter.default
        spec: Any = dataclasses.field(default=default)
        if isinstance(default, (list, tuple, dict)):
            copy = dict if isinstance(default, dict) else list
            spec = dataclasses.field(default_factory=functools.partial(copy, default))
        fields.append((parameter.name, hint, spec))
    return dataclasses.make_dataclass(f"{name}_config", fields)


def check_schema(schema: type) -> None:
    """Raise an error unless OmegaConf can hold the defaults, which otherwise every command would stumble over."""
    if all(field.type in _PRIMITIVE for field in dataclasses.fields(schema)):
        return  # whose defaults `make_schema` has checked; listing plugins then needs no OmegaConf
    from omegaconf import OmegaConf

    try:
        OmegaConf.to_container(OmegaConf.structured(schema))
    except Exception as error:  # of many kinds
        raise UserError(
            f"its defaults cannot be configured: {first_line(error)}"
        ) from None


def _check(parameter: inspect.Parameter, hint: Any) -> Any:
    """The parameter's type for OmegaConf; an error if a config cannot hold it."""
    name, default = parameter.name, parameter.default
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise UserError(
            f"parameter *{name} cannot be configured; spell its parameters out"
        )
    if default is parameter.empty:
        raise UserError(f"parameter '{name}' needs a default value")
    if name == "name":
        raise UserError(
            "a parameter cannot be called 'name', which configs use for the component's own"
        )
    if type(default) not in _ALLOWED:
        raise UserError(
            f"parameter '{name}' has the default {default!r}, which a config cannot hold"
        )
    kind = omegaconf_type(hint)
    if default is None:
        return Any if kind is Any else typing.Optional[kind]  # noqa: UP045
    if (
        kind in _PRIMITIVE
        and type(default) is not kind
        and not (kind is float and type(default) is int)
    ):
        raise UserError(
            f"parameter '{name}' is hinted as {kind.__name__}, but its default is {default!r}"
        )
    return kind


def omegaconf_type(hint: Any) -> Any:
    """The nearest type that OmegaConf can check; `Literal`s are left to the registry."""
    if hint in _PRIMITIVE:
        return hint
    parts = typing.get_args(hint)
    if literal_choices(hint):
        return Any
    if is_union(hint) and all(part in (*_PRIMITIVE, type(None)) for part in parts):
        return (
            hint
            if len(parts) > 2 or type(None) not in parts
            else typing.Optional[parts[0]]
        )  # noqa: UP045
    if (
        typing.get_origin(hint) in (list, tuple)
        and {*parts} - {...} == {*parts[:1]}
        and parts[0] in _PRIMITIVE
    ):
        return list[parts[0]]  # type: ignore[valid-type]
    return Any


def literal_choices(hint: Any) -> tuple[Any, ...]:
    """The words that a type hint allows, wherever a `Literal` is in it."""
    if typing.get_origin(hint) is Literal:
        return typing.get_args(hint)
    if is_union(hint):
        return tuple(
            choice for part in typing.get_args(hint) for choice in literal_choices(part)
        )
    return ()


def is_union(hint: Any) -> bool:
    """Whether a type hint is a union, in either spelling."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)
