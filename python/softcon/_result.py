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
        nv_offset, efc_offset = (_copy(a, np.uintp, n + 1).astype(np.int64) for a in (r.nv_offset, r.efc_offset))

        def over(address, dtype, offsets, size):
            flat = _copy(address, dtype, int(offsets[-1]))
            return Ragged(flat, offsets) if size is None else flat.reshape(n, size)

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
