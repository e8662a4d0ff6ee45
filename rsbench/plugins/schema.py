"""A component's constructor as a typed config: one dataclass, from its signature."""

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

from rsbench.errors import UserError, first_line, is_number

#: Types that OmegaConf checks by itself.
_PRIMITIVE = (bool, int, float, str)
#: Types that the default of a parameter can have.
_ALLOWED = (*_PRIMITIVE, type(None), list, tuple, dict)


def type_hints(cls: Callable[..., Any]) -> dict[str, Any]:
    """Return the type hints of a constructor; none where they cannot be made out."""
    constructor: Any = cls
    if isinstance(cls, type):
        constructor = cls.__init__  # type: ignore[misc]
    try:
        return typing.get_type_hints(constructor)
    except Exception:  # a stranger's hints may name anything
        return {}


def make_schema(name: str, cls: Callable[..., Any]) -> type:
    """Return a dataclass with a component's name and its parameters.

    Parameters
    ----------
    name : str
        What configs call the component.
    cls : type
        Its class.

    Raises
    ------
    UserError
        If a config cannot hold a parameter.
    """
    hints = type_hints(cls)
    fields: list[Any] = [("name", str, dataclasses.field(default=name))]
    for parameter in inspect.signature(cls).parameters.values():
        hint = _config_type(parameter, hints.get(parameter.name, Any))
        fields.append((parameter.name, hint, _field(parameter.default)))
    return dataclasses.make_dataclass(f"{name}_config", fields)


def _field(default: Any) -> Any:
    """Return a dataclass field, with a copy of its own where the default can change."""
    if isinstance(default, dict):
        return dataclasses.field(default_factory=functools.partial(dict, default))
    if isinstance(default, (list, tuple)):
        return dataclasses.field(default_factory=functools.partial(list, default))
    return dataclasses.field(default=default)


def check_schema(schema: type) -> None:
    """Raise an error unless OmegaConf can hold the defaults.

    Every command would stumble over such a component otherwise.
    """
    # Defaults of plain types were checked with the schema, and listing plugins is to
    # need no OmegaConf.
    if all(field.type in _PRIMITIVE for field in dataclasses.fields(schema)):
        return
    from omegaconf import OmegaConf

    try:
        OmegaConf.to_container(OmegaConf.structured(schema))
    except Exception as error:  # of many kinds
        raise UserError(
            f"its defaults cannot be configured: {first_line(error)}"
        ) from None


def _config_type(parameter: inspect.Parameter, hint: Any) -> Any:
    """Return a parameter's type for OmegaConf; an error if a config cannot hold it."""
    name = parameter.name
    default = parameter.default
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise UserError(
            f"parameter *{name} cannot be configured; spell its parameters out"
        )
    if default is parameter.empty:
        raise UserError(f"parameter '{name}' needs a default value")
    if name == "name":
        raise UserError(
            "a parameter cannot be called 'name', which configs use for the "
            "component's own"
        )
    if type(default) not in _ALLOWED:
        raise UserError(
            f"parameter '{name}' has the default {default!r}, "
            "which a config cannot hold"
        )
    kind = _omegaconf_type(hint)
    if default is None and kind is not Any:
        return kind | None
    # `C: float = 1` is how people write it.
    is_whole_float = kind is float and type(default) is int
    if kind in _PRIMITIVE and type(default) is not kind and not is_whole_float:
        raise UserError(
            f"parameter '{name}' is hinted as {kind.__name__}, "
            f"but its default is {default!r}"
        )
    return kind


def _omegaconf_type(hint: Any) -> Any:
    """Return the nearest type that OmegaConf can check.

    The words of a `Literal` are checked when a component is built.
    """
    if hint in _PRIMITIVE:
        return hint
    # OmegaConf knows no `Literal`.
    if literal_choices(hint):
        return Any
    parts = typing.get_args(hint)
    if is_union(hint) and all(part in (*_PRIMITIVE, type(None)) for part in parts):
        if len(parts) == 2 and type(None) in parts:
            return parts[0] | None
        return hint
    if typing.get_origin(hint) in (list, tuple):
        # list[int], tuple[int, ...] and tuple[int, int] are all lists of one type.
        items = {part for part in parts if part is not ...}
        if len(items) == 1 and parts[0] in _PRIMITIVE:
            return types.GenericAlias(list, parts[0])
    return Any


def check_value(value: Any, hint: Any, key: str, where: str) -> None:
    """Raise an error for a value outside of a `Literal`'s words.

    Parameters
    ----------
    value : object
        As the config has it.
    hint : object
        The parameter's type hint.
    key : str
        The setting's dotted key.
    where : str
        The component, for the error.
    """
    choices = literal_choices(hint)
    if not choices or value in choices:
        return
    # A union may allow other types beside the words, as `auto` or a number does.
    others: tuple[type, ...] = ()
    if is_union(hint):
        others = tuple(part for part in typing.get_args(hint) if isinstance(part, type))
    # A number from Python may be one of NumPy's; and true is not meant as 1.
    is_any_number = is_number(value) and float in others
    is_other = isinstance(value, others) and not isinstance(value, bool)
    if is_any_number or is_other:
        return
    expected = [str(choice) for choice in choices]
    expected += [other.__name__ for other in others]
    raise UserError(f"{key}={value!r}: expected {' or '.join(expected)} ({where})")


def as_hinted(value: Any, hint: Any) -> Any:
    """Return a value as its hint wants it: configs know lists, not tuples."""
    if isinstance(value, list) and typing.get_origin(hint) is tuple:
        return tuple(value)
    return value


def literal_choices(hint: Any) -> tuple[Any, ...]:
    """Return the words that a type hint allows, wherever a `Literal` is in it."""
    if typing.get_origin(hint) is Literal:
        return typing.get_args(hint)
    # `Literal["auto"] | float` has its words inside of the union.
    choices: list[Any] = []
    if is_union(hint):
        for part in typing.get_args(hint):
            choices += literal_choices(part)
    return tuple(choices)


def is_union(hint: Any) -> bool:
    """Tell whether a type hint is a union, in either spelling."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)
