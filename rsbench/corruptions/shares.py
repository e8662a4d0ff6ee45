"""Parameters that are shares or chances."""

from typing import Any

from rsbench.core.components import Corruption
from rsbench.errors import UserError, is_number


def check_share(corruption: Corruption, name: str) -> None:
    """Raise an error unless the parameter is a number from 0 to 1."""
    value: Any = corruption.get_params()[name]
    if not is_number(value) or not 0 <= value <= 1:
        raise UserError(
            f"annotation.{name}={value!r}, expected a share between 0 and 1"
        )
