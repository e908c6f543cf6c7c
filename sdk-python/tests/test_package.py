"""The package: syntax of Python 3.9, no dependencies, complete types, and the same methods in both clients."""
import ast
import inspect
import sys
import typing
import unittest
from pathlib import Path

from parley_sdk import AsyncParley, Parley, errors, types

FOLDER = Path(__file__).parents[1]
FILES = sorted((FOLDER / "parley_sdk").glob("*.py"))


def methods_of(client: object) -> "typing.Dict[str, typing.Callable[..., object]]":
    """All public methods as `resource.method`."""
    found = {}
    for name, value in inspect.getmembers(client):
        if name.startswith("_"):
            continue
        if callable(value):
            found[name] = value
        else:
            found.update({f"{name}.{key}": part for key, part in inspect.getmembers(value, callable) if key[0] != "_"})
    return found


class PackageTest(unittest.TestCase):
    def test_the_syntax_is_that_of_python_3_9(self) -> None:
        self.assertGreater(len(FILES), 10)
        for file in [*FILES, *Path(__file__).parent.glob("*.py")]:
            with self.subTest(file.name):
                ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))

    @unittest.skipIf(sys.version_info < (3, 10), "Python 3.9 has no list of its own modules")
    def test_the_package_has_no_dependencies(self) -> None:
        for file in FILES:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                for name in names:
                    self.assertIn(name.split(".")[0], sys.stdlib_module_names, file.name)  # type: ignore[attr-defined]
        self.assertIn("dependencies = []", (FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
        self.assertTrue((FOLDER / "parley_sdk/py.typed").exists())

    def test_all_types_resolve(self) -> None:
        classes = [getattr(types, name) for name in types.__all__ if inspect.isclass(getattr(types, name))]
        self.assertGreater(len(classes), 50)
        for each in classes:
            self.assertTrue(typing.get_type_hints(each), each)
        self.assertIn("phone", types.NewContact.__required_keys__)
        self.assertIn("name", types.NewContact.__optional_keys__)

    def test_both_clients_have_the_same_methods_and_all_are_documented(self) -> None:
        blocking, asynchronous = methods_of(Parley("k")), methods_of(AsyncParley("k"))
        self.assertGreater(len(blocking), 50)
        self.assertEqual(sorted(blocking), sorted(asynchronous))
        for name, method in blocking.items():
            other = asynchronous[name]
            self.assertEqual(list(inspect.signature(method).parameters), list(inspect.signature(other).parameters))
            self.assertTrue(inspect.getdoc(method), name)
            self.assertEqual(inspect.getdoc(method), inspect.getdoc(other))

    def test_the_readme_explains_each_error_code_of_the_sdk(self) -> None:
        readme = (FOLDER / "README.md").read_text(encoding="utf-8")
        for code, meaning in errors.CLIENT_ERRORS.items():
            self.assertIn(f"| `{code}` | {meaning} |", readme)
            self.assertNotIn(code, str(typing.get_type_hints(types.ErrorBodyError)["code"]))
