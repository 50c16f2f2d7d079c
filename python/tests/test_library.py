"""Finding the library, and what is said when there is none."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

from softcon import _library

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def run(code, **environment):
    """stdout of a new Python; on failure the last line of stderr"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(support.PYTHON), **environment},
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


class Finding(unittest.TestCase):
    def test_file_and_folder(self):
        path = os.path.realpath(loaded_path())
        folder = os.path.dirname(path)
        for given in (path, folder):
            said = run("import softcon; print(softcon.__version__)", SOFTCON_LIBRARY=given)
            self.assertEqual(said, _library.lib.sc_version().decode())

    def test_no_such_file(self):
        said = run("import softcon", SOFTCON_LIBRARY="/nowhere/libsoftcon.so")
        self.assertIn("ImportError", said)
        self.assertIn("/nowhere/libsoftcon.so", said)

    def test_empty_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            said = run("import softcon", SOFTCON_LIBRARY=folder)
        self.assertIn("libsoftcon cannot be loaded", said)
        self.assertIn(folder, said)

    def test_not_a_library(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"text")
            file.flush()
            self.assertIn("ImportError", run("import softcon", SOFTCON_LIBRARY=file.name))

    def test_no_bridge(self):
        """only solve_model needs libsoftcon_mujoco"""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.realpath(loaded_path()), os.path.join(folder, _library._file_names("softcon")[-1]))
            self.assertEqual(run("import softcon; print(softcon.row().aref + 1)", SOFTCON_LIBRARY=folder), "1.0")
            said = run("import softcon; softcon.solve_model('x.xml', [])", SOFTCON_LIBRARY=folder)
        self.assertIn("libsoftcon_mujoco cannot be loaded", said)

    @unittest.skipUnless(COMPILER, "no C compiler")
    def test_other_versions(self):
        for version, words in (("9.0.0", "softcon 9.0.0"), ("0.1.7", "has no sc_")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, _library._file_names("softcon")[-1])
                source = f'const char *sc_version(void) {{ return "{version}"; }}\n'
                command = [COMPILER, "-shared", "-fPIC", "-x", "c", "-", "-o", path]
                subprocess.run(command, input=source, text=True, check=True)
                self.assertIn(words, run("import softcon", SOFTCON_LIBRARY=path))


def loaded_path():
    """Path of the loaded libsoftcon; skips where the system does not tell it."""
    if os.path.isabs(_library.lib._name):
        return _library.lib._name
    raise unittest.SkipTest("loaded by name")


if __name__ == "__main__":
    unittest.main()
