"""Charts: one module a kind. Each builds its Altair template once a theme, and fills in data."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def kinds() -> list[ModuleType]:
    """Every module that draws a kind of chart: what they share builds no template."""
    found = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    return [module for module in found if hasattr(module, "template")]
