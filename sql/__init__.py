"""The models: one SELECT a file, read by name. What each yields stands at its head."""

from functools import cache
from importlib.resources import files


@cache
def read(name: str) -> str:
    """The text of the model `folder/name`, without its file ending.

    Raises FileNotFoundError where there is no such model.
    """
    return files("sql").joinpath(f"{name}.sql").read_text(encoding="utf-8").rstrip().rstrip(";")
