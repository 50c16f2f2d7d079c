"""What a solve returns: copies, independent of the solver that made them."""

import collections.abc
import ctypes

import numpy as np

from . import _abi
from ._library import check, lib
from ._words import Flag, Status

_WORDS = np.array([s.name.lower() for s in Status] + ["unknown"])


class Ragged(collections.abc.Sequence):
    """One array per environment, of different lengths: x[i] is environment i's.

    flat: all of them one after another; offsets: (N+1,), x[i] is flat[offsets[i]:offsets[i+1]].
    """

    def __init__(self, flat, offsets):
        self.flat, self.offsets = flat, offsets

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"environment {i} of {n}")
        i %= n
        return self.flat[self.offsets[i] : self.offsets[i + 1]]

    @property
    def sizes(self):
        """(N,) length of every environment's array"""
        return np.diff(self.offsets)

    def padded(self, fill=np.nan):
        """(N, longest) array; `fill` where an environment has no more."""
        sizes = self.sizes
        out = np.full((len(self), int(sizes.max(initial=0))), fill, dtype=np.result_type(self.flat.dtype, type(fill)))
        out[np.arange(out.shape[1]) < sizes[:, None]] = self.flat
        return out

    def __repr__(self):
        lengths = f", lengths {self.sizes.min()} .. {self.sizes.max()}" if len(self) else ""
        return f"softcon.Ragged: {len(self)} environments{lengths}, {self.flat.dtype}"


def _copy(address, dtype, n):
    """n elements at an address"""
    out = np.empty(n, dtype)
    if n:
        ctypes.memmove(out.ctypes.data, address, out.nbytes)
    return out


def _offsets(r):
    """nv_offset and efc_offset of an sc_result"""
    return [_copy(a, np.uintp, r.nenv + 1).astype(np.int64) for a in (r.nv_offset, r.efc_offset)]


def _shaped(flat, offsets, size):
    """(N, size), or Ragged where the sizes differ (None)"""
    return Ragged(flat, offsets) if size is None else flat.reshape(len(offsets) - 1, size)


class Inverse:
    """What forces belong to given accelerations, in closed form. Shapes and NaN as in Result.

    efc_force        f(J qacc - aref)
    efc_state        State of every row (uint8)
    qfrc_constraint  J' efc_force
    qfrc_inverse     M qacc - qfrc_smooth - J' efc_force: what must be applied beyond qfrc_smooth. MuJoCo's is this plus
                     qfrc_applied + qfrc_actuator + J'xfrc_applied
    fwdinv           (N, 2) |J'f of the last run - J'f| and |qfrc_inverse|; None without a run
    """

    def __init__(self, solver, qacc, ran, nv=None, nefc=None):
        r = _abi.Result()
        check(lib.sc_solver_result(solver, ctypes.byref(r)))
        nv_offset, efc_offset = _offsets(r)
        dofs, rows = int(nv_offset[-1]), int(efc_offset[-1])
        io = _abi.Inverse()
        lib.sc_inverse_init(ctypes.byref(io))
        if qacc is not None:
            qacc = _flat("qacc", qacc, nv_offset)
            io.qacc = qacc.ctypes.data
        force, state, constraint, inverse = np.empty(rows), np.empty(rows, np.uint8), np.empty(dofs), np.empty(dofs)
        self.fwdinv = np.empty((r.nenv, 2)) if ran else None
        io.efc_force, io.efc_state = force.ctypes.data, state.ctypes.data
        io.qfrc_constraint, io.qfrc_inverse = constraint.ctypes.data, inverse.ctypes.data
        io.fwdinv = self.fwdinv.ctypes.data if ran else None
        check(lib.sc_solver_inverse(solver, ctypes.byref(io)))
        self.efc_force, self.efc_state = _shaped(force, efc_offset, nefc), _shaped(state, efc_offset, nefc)
        self.qfrc_constraint, self.qfrc_inverse = _shaped(constraint, nv_offset, nv), _shaped(inverse, nv_offset, nv)


def _flat(name, values, offsets):
    """An array (N, nv), one of its shape (nv,) for all, or a list of arrays, one after another."""
    sizes = np.diff(offsets)
    if isinstance(values, Ragged) or (isinstance(values, (list, tuple)) and len({np.shape(v) for v in values}) > 1):
        values = [np.asarray(v, np.float64) for v in values]
        if [v.shape for v in values] != [(int(s),) for s in sizes]:
            raise ValueError(f"{name}: {len(values)} arrays, expected one of (nv,) for each of {len(sizes)} environments")
        return np.ascontiguousarray(np.concatenate(values) if values else np.empty(0))
    out = np.asarray(values, np.float64)
    nv = int(sizes[0]) if len(sizes) else 0
    if len(set(sizes.tolist())) > 1 or out.shape not in ((len(sizes), nv), (nv,)):
        raise ValueError(f"{name} has shape {out.shape}, expected ({len(sizes)}, nv) or (nv,)")
    return np.ascontiguousarray(np.broadcast_to(out, (len(sizes), nv))).reshape(-1)


class Result:
    """Answers of N environments.

    Arrays over dofs or rows are (N, nv), (N, nefc) when the problems came as arrays; accelerations of a model are
    (N, nv) too. Otherwise they are Ragged. Environments without an answer (bad_input, not_finite, not_spd) have NaN.

    qacc             acceleration, rad/s^2 or m/s^2
    efc_force        constraint forces in the order of the rows, N or N m
    qfrc_constraint  J' efc_force
    efc_state        State of every row (uint8)
    status           (N,) words: solved, inaccurate, iteration_limit, stalled, bad_input, not_finite, not_spd
    status_code      (N,) the same as Status (uint8)
    solved           (N,) bool: the certificate holds
    flags            (N,) Flag bits (uint32); flag_words(i) has words
    iterations       (N,)
    gap              (N,) 1/2 g' M^-1 g at the answer, in the unit of the cost: bounds its distance to the optimum
    gap_floor        (N,) what rounding alone can leave of it
    qacc_bound       (N,) bound on the relative error of qacc in the metric of M
    objective        (N,) cost at the answer
    rows_needed, contacts_needed (N,) how many each has without a capacity (max_rows, max_contacts)
    phases           seconds spent, added up over threads: pack, solve, certificate, unpack
    errors           {environment: text} for numbers that are not valid, where the library named them
    """

    def __init__(self, solver, nv=None, nefc=None, errors=()):
        r, phases = _abi.Result(), _abi.Phases()
        check(lib.sc_solver_result(solver, ctypes.byref(r)))
        check(lib.sc_solver_phases(solver, ctypes.byref(phases)))
        n = r.nenv
        nv_offset, efc_offset = _offsets(r)

        def over(address, dtype, offsets, size):
            return _shaped(_copy(address, dtype, int(offsets[-1])), offsets, size)

        self.qacc = over(r.qacc, np.float64, nv_offset, nv)
        self.qfrc_constraint = over(r.qfrc_constraint, np.float64, nv_offset, nv)
        self.efc_force = over(r.efc_force, np.float64, efc_offset, nefc)
        self.efc_state = over(r.efc_state, np.uint8, efc_offset, nefc)
        self.status_code = _copy(r.status, np.uint8, n)
        self.flags = _copy(r.flags, np.uint32, n)
        self.iterations = _copy(r.iterations, np.int32, n)
        for name in ("gap", "gap_floor", "qacc_bound", "objective"):
            setattr(self, name, _copy(getattr(r, name), np.float64, n))
        for name in ("rows_needed", "contacts_needed"):
            setattr(self, name, _copy(getattr(r, name), np.int32, n))
        self.phases = {name: getattr(phases, name) for name, _ in _abi.Phases._fields_}
        self.errors = dict(errors)

    def __len__(self):
        return len(self.status_code)

    @property
    def solved(self):
        return self.status_code == Status.SOLVED

    @property
    def status(self):
        return _WORDS[np.minimum(self.status_code, len(_WORDS) - 1)]

    def flag_words(self, i):
        """Words of the flags of environment i."""
        return [f.name.lower() for f in Flag if int(self.flags[i]) & f]

    def __repr__(self):
        words = ", ".join(
            f"{count} {_WORDS[code]}"
            for code, count in enumerate(np.bincount(self.status_code, minlength=len(_WORDS)))
            if count or code == Status.SOLVED
        )
        text = f"softcon.Result: {len(self)} environment{'s' * (len(self) != 1)}, {words}"
        answered = np.isfinite(self.gap)
        if answered.any():
            text += f"; at most {self.iterations.max()} iterations, qacc_bound {self.qacc_bound[answered].max():.1e}"
        return text
