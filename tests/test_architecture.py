"""The arrows between the folders, proven by importing each in a process of its own."""

import subprocess
import sys

import pytest

ROOT_PACKAGES = ("metrics", "sql", "answers", "pipelines", "app")
FRAMEWORKS = ("dagster", "duckdb", "typer", "rich", "streamlit", "pandas", "pyarrow", "fastapi")

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print("\\n".join(sorted({name.split(".")[0] for name in sys.modules})))
"""


def imported_by(package: str) -> set[str]:
    """The top-level modules that are loaded once every module of the package is."""
    found = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, package], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


@pytest.mark.parametrize(
    ("package", "may_import"),
    [
        ("metrics", {"metrics"}),
        ("sql", {"sql"}),
        ("answers", {"metrics", "sql", "answers"}),
        ("pipelines", {"metrics", "sql", "answers", "pipelines"}),
        ("app", {"metrics", "sql", "answers", "app"}),
    ],
)
def test_a_package_imports_only_those_below_it(package: str, may_import: set[str]) -> None:
    assert imported_by(package) & set(ROOT_PACKAGES) <= may_import


def test_the_domain_imports_no_framework() -> None:
    assert not imported_by("metrics") & set(FRAMEWORKS)


def test_a_question_on_the_command_line_does_not_load_the_orchestrator() -> None:
    code = "import sys, pipelines.cli; print('dagster' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
