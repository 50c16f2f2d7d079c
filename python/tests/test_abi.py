"""The mirror in _abi.py and _words.py against the headers."""

import ctypes
import re
import shutil
import subprocess
import tempfile
import unittest

import support

from softcon import _abi, _words

HEADERS = [support.TREE / "src" / name for name in ("softcon.h", "softcon_mujoco.h")]
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def header_text():
    """The headers without comments and directives."""
    text = "\n".join(h.read_text() for h in HEADERS)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^\s*#.*(\\\n.*)*$", "", text, flags=re.M)


def header_members(name):
    body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", header_text(), re.S)[1]
    members = []
    for declaration in filter(str.strip, body.split(";")):
        for part in declaration.split(","):
            members.append(re.search(r"(\w+)\s*(\[\d+\])?\s*$", part)[1])
    return members


@unittest.skipUnless(HEADERS[0].exists(), "no headers beside this package")
class Header(unittest.TestCase):
    def test_members_in_order(self):
        for name, struct in _abi.STRUCTS.items():
            with self.subTest(name):
                self.assertEqual([f[0] for f in struct._fields_], header_members(name))

    @unittest.skipUnless(COMPILER, "no C compiler")
    def test_sizes_and_offsets(self):
        lines = []
        for name, struct in _abi.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field, *_ in struct._fields_:
                size = f"sizeof((({name} *)0)->{field})"
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), {size});')
        said = run_c(lines)
        for name, struct in _abi.STRUCTS.items():
            self.assertEqual(said[name], [ctypes.sizeof(struct)], name)
            for field, *_ in struct._fields_:
                mine = getattr(struct, field)
                self.assertEqual(said[f"{name}.{field}"], [mine.offset, mine.size], f"{name}.{field}")

    @unittest.skipUnless(COMPILER, "no C compiler")
    def test_enumerations(self):
        words = {}
        for enumeration in (_words.Type, _words.State, _words.Status, _words.Flag):
            words.update({f"SC_{w.name}": int(w) for w in enumeration})
        words.update({f"SC_ERROR_{w.name}" if w else "SC_OK": int(w) for w in _words.Code})
        words.update({f"SC_{w.upper()}": n for w, n in {**_words.METHODS, **_words.PRECISIONS}.items()})
        counts = {"SC_NTYPE": len(_words.Type), "SC_NSTATUS": len(_words.Status), "SC_NFLAG": len(_words.Flag)}
        said = run_c([f'printf("{w} %d\\n", (int){w});' for w in {**words, **counts}])
        for word, number in {**words, **counts}.items():
            self.assertEqual(said[word], [number], word)

    def test_functions_take_as_many_arguments(self):
        text = header_text()
        for name, (_, arguments) in {**_abi.SOFTCON, **_abi.SOFTCON_MUJOCO}.items():
            declared = re.search(rf"\b{name}\(([^)]*)\)", text)
            self.assertIsNotNone(declared, name)
            count = 0 if declared[1].strip() == "void" else declared[1].count(",") + 1
            self.assertEqual(len(arguments), count, name)

    def test_words_are_the_library_s(self):
        from softcon._library import lib

        for function, words in (("sc_status_name", _words.Status), ("sc_flag_name", _words.Flag)):
            name = getattr(lib, function)
            name.restype, name.argtypes = ctypes.c_char_p, [ctypes.c_int]
            self.assertEqual([name(i).decode() for i in range(len(words))], [w.name.lower() for w in words])


def run_c(lines):
    """{first word: numbers} of what a program with these statements prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = f"{folder}/layout.c", f"{folder}/layout"
        with open(source, "w") as f:
            f.write('#include <stdio.h>\n#include "softcon_mujoco.h"\nint main(void) {\n' + "\n".join(lines) + "\n}\n")
        subprocess.run([COMPILER, "-std=c11", f"-I{HEADERS[0].parent}", source, "-o", program], check=True)
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: [int(n) for n in line.split()[1:]] for line in out.splitlines()}


if __name__ == "__main__":
    unittest.main()
