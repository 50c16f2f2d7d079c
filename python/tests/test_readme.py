"""The README's Python runs as it stands."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

import support

import softcon

try:
    softcon.mujoco_version()
    missing = "" if importlib.util.find_spec("mujoco") else "no Python package mujoco"
except ImportError as why:
    missing = str(why)


@unittest.skipIf(missing, missing)
class Readme(unittest.TestCase):
    def test_examples(self):
        text = (support.PYTHON / "README.md").read_text()
        code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code + "\nprint(rows['nefc'], result)"],
            env={**os.environ, "PYTHONPATH": str(support.PYTHON)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("1000 solved", "(1000, 3)", "'bad_input'", "256 solved", "Row(K=", "999 solved"):
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
