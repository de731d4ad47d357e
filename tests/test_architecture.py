"""The arrows between the folders, proven by importing each in a process of its own."""

import ast
import subprocess
import sys
from pathlib import Path

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


def test_pages_import_only_what_the_app_may() -> None:
    pages = (Path(__file__).parents[1] / "app" / "app_pages").glob("*.py")
    for page in pages:
        named = [
            name
            for node in ast.walk(ast.parse(page.read_text(encoding="utf-8")))
            for name in _modules(node)
        ]
        assert "pipelines" not in {name.split(".")[0] for name in named}, page.name


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_nothing_in_the_apps_folder_hides_a_package() -> None:
    # Streamlit puts that folder first on the path.
    names = {path.stem for path in (Path(__file__).parents[1] / "app").iterdir()}
    assert not names & set(ROOT_PACKAGES)


def test_the_domain_imports_no_framework() -> None:
    assert not imported_by("metrics") & set(FRAMEWORKS)


def test_a_question_on_the_command_line_does_not_load_the_orchestrator() -> None:
    code = "import sys, pipelines.cli; print('dagster' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
