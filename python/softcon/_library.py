"""Finding and loading libsoftcon and libsoftcon_mujoco.

libsoftcon is looked for in this order:
  1. SOFTCON_LIBRARY, the library's path or its folder; when it is set, nowhere else;
  2. the folder of this package;
  3. the folder build/ of the source tree that this package lies in;
  4. where the system's loader looks.
libsoftcon_mujoco is looked for beside libsoftcon, and loaded when it is first needed.
"""

import ctypes
import functools
import operator
import os
import pathlib
import sys

from . import _abi
from ._words import Error

VERSION = "0.1"  # major.minor of the headers that _abi.py mirrors
_HERE = pathlib.Path(__file__).resolve().parent


def _file_names(name):
    if sys.platform == "darwin":
        return [f"lib{name}.0.dylib", f"lib{name}.dylib"]
    if sys.platform == "win32":
        return [f"{name}.dll"]
    return [f"lib{name}.so.0", f"lib{name}.so"]


def _place():
    """(folder, file) to load libsoftcon from; file only when it was given, both None: where the loader looks."""
    given = os.environ.get("SOFTCON_LIBRARY")
    if given:
        path = pathlib.Path(given).absolute()
        if not path.exists():
            raise ImportError(f"SOFTCON_LIBRARY is {given!r}: no such file or folder", name="softcon")
        return (path, None) if path.is_dir() else (path.parent, path)
    folders = [_HERE]
    tree = _HERE.parents[1]
    if (tree / "src" / "softcon.h").exists():
        folders.append(tree / "build")
    for folder in folders:
        if any((folder / name).exists() for name in _file_names("softcon")):
            return folder, None
    return None, None


def _open(name, folder, file=None):
    """The library `name`: this file, or in this folder, or where the loader looks."""
    if file:
        files = [file]
    elif folder:
        files = [folder / f for f in _file_names(name) if (folder / f).exists()]
    else:
        files = _file_names(name)
    reasons = []
    for f in files:
        try:
            return ctypes.CDLL(str(f))
        except OSError as why:
            reasons.append(str(why))
    why = "; ".join(reasons) or f"it is not in {folder}"
    raise ImportError(
        f"lib{name} cannot be loaded: {why}. Build softcon, or set SOFTCON_LIBRARY to the library or its folder",
        name="softcon",
    )


def _declare(library, functions):
    """Give the functions their types, and compare the structs' sizes with those the library itself writes into them."""
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}: it is not softcon {VERSION}", name="softcon") from None
        function.restype, function.argtypes = result, arguments
    for name in functions.keys() & _abi.INIT.keys():
        struct = _abi.INIT[name]
        room = ctypes.create_string_buffer(4096)  # more than any of the structs, should the library's be longer
        getattr(library, name)(ctypes.cast(room, ctypes.POINTER(struct)))
        size = ctypes.c_size_t.from_buffer(room).value
        if size != ctypes.sizeof(struct):
            raise ImportError(
                f"{library._name}: {struct.__doc__} has {size} bytes, not {ctypes.sizeof(struct)}: "
                "library and Python package are of different versions",
                name="softcon",
            )


def _load_softcon():
    folder, file = _place()
    library = _open("softcon", folder, file)
    _declare(library, {"sc_version": _abi.SOFTCON["sc_version"]})
    version = library.sc_version().decode()
    if version.split(".")[:2] != VERSION.split("."):
        raise ImportError(f"{library._name} is softcon {version}, this package needs {VERSION}", name="softcon")
    _declare(library, _abi.SOFTCON)
    return library, folder


lib, _folder = _load_softcon()


def _address(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


@functools.lru_cache(maxsize=None)
def mujoco_lib():
    """libsoftcon_mujoco. ImportError when it was not built, or does not use the libsoftcon loaded here."""
    try:
        library = _open("softcon_mujoco", _folder)
    except ImportError:
        try:
            import mujoco  # noqa: F401  loads the libmujoco of the Python package, which the loader then takes
        except ImportError:
            pass
        library = _open("softcon_mujoco", _folder)
    _declare(library, _abi.SOFTCON_MUJOCO)
    try:
        same = _address(library, "sc_version") == _address(lib, "sc_version")
    except AttributeError:
        same = True  # a loader that does not look into dependencies
    if not same:
        raise ImportError(f"{library._name} uses another libsoftcon than {lib._name}", name="softcon")
    return library


def error(code):
    """The calling thread's last error as an exception."""
    return Error(code, lib.sc_error_text().decode(errors="replace"))


def check(code):
    """Raise Error unless code is SC_OK."""
    if code:
        raise error(code)


def create(function, *arguments):
    """Call a function that ends with a pointer to a new object; return the object's address."""
    out = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(out)))
    return out.value


def _converted(struct, name, value):
    """A value as the member `name` of a struct takes it."""
    ctype = dict(struct._fields_)[name]
    try:
        if ctype is ctypes.c_double:
            return float(value)
        if ctype is ctypes.c_int:
            value = operator.index(value)
            if not -(2**31) <= value < 2**31:
                raise ValueError
            return value
        if issubclass(ctype, ctypes.Array):
            if len(value) != ctype._length_:
                raise ValueError
            return ctype(*value)
        return value
    except (TypeError, ValueError):
        kind = {ctypes.c_double: "a number", ctypes.c_int: "a 32-bit integer"}
        what = kind.get(ctype) or f"{ctype._length_} numbers"
        raise ValueError(f"{name} is {value!r}, not {what}") from None


def initialised(function, struct, **values):
    """A struct filled by its init function, with the values that are not None written into it."""
    s = struct()
    function(ctypes.byref(s))
    for name, value in values.items():
        if value is not None:
            setattr(s, name, _converted(struct, name, value))
    return s
