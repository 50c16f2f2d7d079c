"""Arguments of softcon.solve into a table of sc_problem, one row per environment.

Every argument has a shape per environment, in terms of nv (dofs), nefc (rows) and ncon (contacts with friction). It may
be given as
  - an array of that shape, or of its last axes only (a scalar, or a solref of shape (2,)): the same for all;
  - an array of that shape behind a leading axis over environments;
  - a list with one array per environment, when sizes differ.
"""

import ctypes
from dataclasses import dataclass

import numpy as np

from . import _abi
from ._library import lib
from ._words import TYPES


@dataclass(frozen=True)
class Field:
    name: str  # the argument
    member: str  # of sc_problem
    shape: tuple  # per environment: "nv", "nefc", "ncon" or a number
    dtype: type = np.float64
    least: int = 0  # axes that must be given

    @property
    def ndim(self):
        return len(self.shape)


FIELDS = (
    Field("M", "M", ("nv", "nv"), least=2),
    Field("J", "efc_J", ("nefc", "nv"), least=2),
    Field("qfrc_smooth", "qfrc_smooth", ("nv",)),
    Field("qacc_smooth", "qacc_smooth", ("nv",)),
    Field("warmstart", "qacc_warmstart", ("nv",)),
    Field("type", "efc_type", ("nefc",), np.int32),
    Field("id", "efc_id", ("nefc",), np.int32),
    Field("frictionloss", "efc_frictionloss", ("nefc",)),
    Field("pos", "efc_pos", ("nefc",)),
    Field("margin", "efc_margin", ("nefc",)),
    Field("vel", "efc_vel", ("nefc",)),
    Field("solref", "efc_solref", ("nefc", 2), least=1),
    Field("solimp", "efc_solimp", ("nefc", 5), least=1),
    Field("diagA", "efc_diagA", ("nefc",)),
    Field("curvature", "efc_curvature", ("nefc",)),
    Field("adhesion", "efc_adhesion", ("nefc",)),
    Field("D", "efc_D", ("nefc",)),
    Field("aref", "efc_aref", ("nefc",)),
    Field("contact_dim", "contact_dim", ("ncon",), np.int32, least=1),
    Field("contact_friction", "contact_friction", ("ncon", 5), least=1),
    Field("contact_solreffriction", "contact_solreffriction", ("ncon", 2), least=1),
    Field("contact_mu", "contact_mu", ("ncon",)),
    Field("timestep", "timestep", ()),
    Field("impratio", "impratio", ()),
    Field("refsafe", "refsafe", (), np.int32),
)
BY_NAME = {f.name: f for f in FIELDS}

# which argument's axis says how large a size is
SIZES = {"nv": ("M", 0), "nefc": ("J", 0), "ncon": ("contact_dim", 0)}

PARAMETERS = ("pos", "margin", "vel", "solref", "solimp", "diagA", "curvature", "adhesion")
DEFAULTS = {"solref": (0.02, 1.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0)}


# ---------------------------------------------------------------- one argument


def _word_numbers(name, words):
    try:
        return np.vectorize(TYPES.__getitem__, otypes=[np.int32])(words) if words.size else words.astype(np.int32)
    except KeyError as unknown:
        raise ValueError(f"{name} has the word {unknown}; the words are {', '.join(TYPES)}") from None


def _array(field, value, where=""):
    """One array of the field's element type, in C order."""
    try:
        a = np.asarray(value)
    except ValueError:
        each = "" if where else f", nor a list with one array {_shape_text(field.shape)} per environment"
        raise ValueError(f"{field.name}{where} is not a regular array{each}") from None
    if field.name == "type" and a.dtype.kind in "UO" and a.size:
        a = _word_numbers(field.name, a)
    integer = field.dtype is np.int32
    kinds, wanted = ("biu", "integers") if integer else ("biuf", "numbers")
    if a.size and a.dtype.kind not in kinds:
        raise ValueError(f"{field.name}{where} has elements of type {a.dtype}, not {wanted}")
    if integer and a.size and not (-(2**31) <= a.min() and a.max() < 2**31):
        raise ValueError(f"{field.name}{where} has a number that does not fit 32 bits")
    return np.asarray(a, dtype=field.dtype, order="C")


def _is_list(field, value):
    """Whether value is a list with one array per environment."""
    if not isinstance(value, (list, tuple)) or not field.ndim:
        return False
    if not value:
        return field.least == 2  # no environments; an empty list of numbers is an array
    try:
        return all(np.ndim(v) == field.ndim for v in value)
    except ValueError:  # an element is not a regular array: _array names it
        return True


@dataclass
class _Argument:
    field: Field
    array: np.ndarray = None  # shared, or with a leading axis
    items: list = None  # one array per environment

    @classmethod
    def of(cls, field, value):
        if _is_list(field, value):
            return cls(field, items=[_array(field, v, f" of environment {i}") for i, v in enumerate(value)])
        argument = cls(field, _array(field, value))
        if not field.least <= argument.array.ndim <= field.ndim + 1:
            raise ValueError(
                f"{field.name} has shape {argument.array.shape}, expected {_shape_text(field.shape)}, "
                "with a leading axis over environments or without"
            )
        return argument

    @property
    def batched(self):
        return self.items is not None or self.array.ndim == self.field.ndim + 1

    @property
    def nenv(self):
        return len(self.array) if self.items is None else len(self.items)

    def of_env(self, i):
        """Environment i's array."""
        if self.items is not None:
            return self.items[i]
        return self.array[i] if self.batched else self.array

    def length(self, axis):
        """Length of an axis where it is equal for all because they are one array; otherwise None."""
        return self.array.shape[axis + self.batched] if self.items is None else None

    def sizes(self, axis, nenv):
        """Length of an axis in every environment."""
        if self.items is not None:
            return np.array([v.shape[axis] for v in self.items], dtype=np.int64)
        return np.full(nenv, self.length(axis), dtype=np.int64)


def _shape_text(shape):
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# ---------------------------------------------------------------- all arguments


def _count(call, arguments):
    """Number of environments, on which all arguments that have one must agree."""
    first = None
    for a in arguments.values():
        if not a.batched:
            continue
        first = first or a
        if a.nenv != first.nenv:
            raise ValueError(
                f"{call}: {a.field.name} has {a.nenv} environments, expected {first.nenv} as in {first.field.name}"
                + (f" (its shape is {a.array.shape})" if a.items is None else "")
            )
    return first.nenv if first else 1


def _fit(call, field, value, shape, where=""):
    """value, repeated along the leading axes that it does not have."""
    if value.shape != shape[len(shape) - value.ndim :]:
        expected = f"{shape}, which is {_shape_text(field.shape)}"
        raise ValueError(f"{call}: {field.name}{where} has shape {value.shape}, expected {expected}")
    return np.ascontiguousarray(np.broadcast_to(value, shape))


def _flatten(call, argument, sizes, nenv):
    """(flat array, offset of every environment in it)"""
    field = argument.field
    per_env = [sizes[s] if isinstance(s, str) else np.full(nenv, s, dtype=np.int64) for s in field.shape]
    uniform = all((d == d[0]).all() for d in per_env if nenv)
    if argument.items is None and uniform:
        shape = tuple(int(d[0]) if nenv else -1 for d in per_env)
        if not nenv:
            return np.zeros(0, field.dtype), np.zeros(0, np.int64)
        if argument.batched:
            flat = _fit(call, field, argument.array, (nenv,) + shape)
            return flat, np.arange(nenv, dtype=np.int64) * int(np.prod(shape, dtype=np.int64))
        return _fit(call, field, argument.array, shape), np.zeros(nenv, np.int64)
    parts = []
    for i in range(nenv):
        value = argument.of_env(i)
        shape = tuple(int(d[i]) for d in per_env)
        parts.append(_fit(call, field, value, shape, f" of environment {i}").ravel())
    lengths = np.array([p.size for p in parts], dtype=np.int64)
    flat = np.concatenate(parts) if parts else np.zeros(0, field.dtype)
    return flat, np.cumsum(lengths) - lengths


def _check_form(call, given):
    """Rows are given by parameters or ready."""
    rows = [n for n in given if n in PARAMETERS]
    if "D" in given or "aref" in given:
        if "D" not in given or "aref" not in given:
            raise ValueError(f"{call}: D and aref go together, {'aref' if 'D' in given else 'D'} is missing")
        if rows:
            raise ValueError(f"{call}: {', '.join(rows)} given beside D and aref: rows are given in one form")
    elif "J" in given and "pos" not in given:
        raise ValueError(f"{call}: rows need pos (and solref, solimp, ...), or D and aref")
    if "J" in given and "type" not in given:
        raise ValueError(f"{call}: rows need type")
    if "J" not in given and (rows or "type" in given or "D" in given):
        raise ValueError(f"{call}: J is missing")
    if "qfrc_smooth" not in given and "qacc_smooth" not in given:
        raise ValueError(f"{call}: one of qfrc_smooth and qacc_smooth must be given")
    if "J" in given and "D" not in given:
        for name, value in DEFAULTS.items():
            given.setdefault(name, value)


class Table:
    """The problems of many environments as an array of sc_problem.

    nenv: number of environments. nv, nefc: the size when it came with an array and so is equal for all; None when with
    a list.
    """

    def __init__(self, call, given):
        unknown = given.keys() - BY_NAME.keys()
        if unknown:
            raise TypeError(f"{call}: unknown argument {', '.join(sorted(unknown))}")
        given = {name: value for name, value in given.items() if value is not None}
        if "M" not in given:
            raise ValueError(f"{call}: M is missing")
        _check_form(call, given)
        try:
            arguments = {f.name: _Argument.of(f, given[f.name]) for f in FIELDS if f.name in given}
        except ValueError as error:
            raise ValueError(f"{call}: {error}") from None
        self.nenv = nenv = _count(call, arguments)
        sizes = {
            size: arguments[name].sizes(axis, nenv) if name in arguments else np.zeros(nenv, np.int64)
            for size, (name, axis) in SIZES.items()
        }
        self.nv = arguments["M"].length(0)
        self.nefc = arguments["J"].length(0) if "J" in arguments else 0
        self._keep = []  # the arrays that the addresses point into
        self._fill(call, arguments, sizes)

    def _fill(self, call, arguments, sizes):
        default = _abi.Problem()
        lib.sc_problem_init(ctypes.byref(default))
        self.rows = np.zeros(self.nenv, dtype=np.dtype(_abi.Problem))
        self.rows[:] = np.frombuffer(default, dtype=self.rows.dtype)
        for size, values in sizes.items():
            self.rows[size] = values
        for argument in arguments.values():
            flat, offsets = _flatten(call, argument, sizes, self.nenv)
            field = argument.field
            if not field.ndim:
                self.rows[field.member] = flat.ravel()[offsets] if self.nenv else 0
                continue
            self._keep.append(flat)
            self.rows[field.member] = flat.ctypes.data + flat.itemsize * offsets

    @property
    def address(self):
        """Of the first sc_problem; the others follow at `size` bytes each."""
        return self.rows.ctypes.data

    @property
    def size(self):
        return self.rows.dtype.itemsize
