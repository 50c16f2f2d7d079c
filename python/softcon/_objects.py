"""Context, Batch and Solver: for repeated solves, without making everything anew."""

import ctypes
import weakref

import numpy as np

from . import _abi
from ._fields import Table
from ._library import check, create, error, initialised, lib
from ._result import Inverse, Result
from ._words import METHODS, PRECISIONS, Code, Flag, number


def _release(destroy, address, parent):
    """Finalizer of a handle. `parent` is there to outlive it, even when both are found unreachable at once."""
    destroy(address)


class Handle:
    """An object of the library: destroyed by close(), at the end of a `with`, or with the Python object."""

    def __init__(self, destroy, address, parent=None):
        self._address = address
        self._finalizer = weakref.finalize(self, _release, destroy, address, parent)

    @property
    def address(self):
        """The C pointer. ValueError after close()."""
        if not self._finalizer.alive:
            raise ValueError(f"this softcon.{type(self).__name__} is closed")
        return self._address

    @property
    def closed(self):
        return not self._finalizer.alive

    def close(self):
        """Destroy the object now; a second time does nothing."""
        self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Context(Handle):
    """Threads and the code for this processor.

    threads: worker threads, the caller's included; 0: as many as the process may run on.
    backend: "auto", "reference" (one lane of double), or one of softcon.backends(), among them "cuda" where there is a device.
    device, stream: of "cuda": its ordinal, and a cudaStream_t as an integer; None: a stream of the context's own.
    Closing it closes its batches and solvers. One context, batch or solver is for one thread at a time.
    """

    def __init__(self, threads=0, backend=None, device=0, stream=None):
        name = str(backend).encode() if backend is not None else None
        options = initialised(
            lib.sc_context_options_init, _abi.ContextOptions, threads=threads, backend=name, device=device, stream=stream
        )
        super().__init__(lib.sc_context_destroy, create(lib.sc_context_create, ctypes.byref(options)))
        self._children = weakref.WeakSet()

    @property
    def threads(self):
        return lib.sc_context_threads(self.address)

    @property
    def backend(self):
        return lib.sc_context_backend(self.address).decode()

    def close(self):
        for child in list(self._children):
            child.close()
        super().close()


class _Child(Handle):
    """An object that must go before its context."""

    def __init__(self, context, destroy, address):
        super().__init__(destroy, address, context)
        self.context = context
        context._children.add(self)


def backends():
    """Names of the backends that this processor can run."""
    names = []
    while name := lib.sc_backend_name(len(names)):
        names.append(name.decode())
    return names


class Batch(_Child):
    """The problems of nenv environments. One that was never set has no dofs.

    Numbers that are not valid do not raise: the environment's verdict becomes bad_input, and `errors[env]` says why.
    max_rows, max_contacts: capacity of every environment; None: any number. One that has more loses whole contacts, those
    that ask for the least acceleration along their normals, and is flagged ROWS_DROPPED.
    """

    def __init__(self, context, nenv, *, max_rows=None, max_contacts=None):
        if not 0 <= nenv < 2**31:
            raise ValueError(f"Batch: nenv is {nenv}, not in 0 .. {2**31 - 1}")
        super().__init__(context, lib.sc_batch_destroy, create(lib.sc_batch_create, context.address, int(nenv)))
        self.nenv = int(nenv)
        self._limited = bool(max_rows or max_contacts)
        if self._limited:
            check(lib.sc_batch_capacity(self.address, max_rows or 0, max_contacts or 0))
        self.errors = {}
        self._sizes = {}  # nv and nefc where they are known to be equal for all environments

    def __len__(self):
        return self.nenv

    def fill(self, M, J=None, **problem):
        """Set all environments; arguments as of softcon.solve."""
        self.fill_table(Table("Batch.fill", {"M": M, "J": J, **problem}))

    def fill_table(self, table):
        """Set all environments to a table of problems."""
        if table.nenv != self.nenv:
            raise ValueError(f"Batch.fill: the arguments have {table.nenv} environments, expected {self.nenv}")
        self._sizes = {}
        self._put(table, range(self.nenv))
        self._sizes = {"nv": table.nv} if self._limited else {"nv": table.nv, "nefc": table.nefc}

    def set(self, env, M, J=None, **problem):
        """Set one environment; arguments as of softcon.solve, of one environment."""
        table = Table("Batch.set", {"M": M, "J": J, **problem})
        if table.nenv != 1:
            raise ValueError(f"Batch.set: the arguments have {table.nenv} environments, expected 1")
        if not 0 <= env < self.nenv:
            raise IndexError(f"Batch.set: environment {env} of {self.nenv}")
        self._sizes = {}
        self._put(table, [env])

    def _put(self, table, envs):
        batch, address, size, put = self.address, table.address, table.size, lib.sc_batch_set
        for k, env in enumerate(envs):
            code = put(batch, env, address + k * size)
            if code == Code.VALUE:
                self.errors[env] = str(error(code))
            elif code:
                raise error(code)
            elif self.errors:
                self.errors.pop(env, None)

    def fill_model(self, model, states, sig=None, progress=None):
        """Set all environments to a Model in the given states, with MuJoCo's own rows; see softcon.solve_model.

        Returns seconds spent, added up over threads: {"kinematics": ..., "rows": ...}.
        """
        return model._fill(self, states, sig, progress)

    def get(self, env):
        """What environment env holds, rows evaluated: a dict of arrays (copies), matrices dense.

        nv, nefc, ncon, M (nv, nv), J (nefc, nv), qfrc_smooth, qacc_smooth, warmstart (nv; None when not given), type,
        id, frictionloss, D, aref, R (nefc), contact_dim, contact_friction (ncon, 5), contact_mu, flags, bad, why (of a
        bad one), rows_needed, contacts_needed; and for rows given by parameters pos, margin, vel, K, B, d, dp, diagA
        (nefc), otherwise None.
        """
        p, rows = _abi.Problem(), _abi.Rows()
        check(lib.sc_batch_get(self.address, env, ctypes.byref(p), ctypes.byref(rows)))
        m, c = p.nefc, p.ncon
        out = {"nv": p.nv, "nefc": m, "ncon": c}
        lower = _dense(p.nv, p.nv, p.M, p.M_rownnz, p.M_rowadr, p.M_colind)
        out["M"] = lower + np.tril(lower, -1).T
        out["J"] = _dense(m, p.nv, p.efc_J, p.J_rownnz, p.J_rowadr, p.J_colind)
        for name, member in (("qfrc_smooth",) * 2, ("qacc_smooth",) * 2, ("warmstart", "qacc_warmstart")):
            out[name] = _array_at(getattr(p, member), np.float64, (p.nv,))
        for name in ("type", "id"):
            out[name] = _array_at(getattr(p, "efc_" + name), np.int32, (m,))
        for name in ("frictionloss", "D", "aref", "pos", "margin", "vel"):
            out[name] = _array_at(getattr(p, "efc_" + name), np.float64, (m,))
        for name in ("R", "K", "B", "d", "dp", "diagA"):
            out[name] = _array_at(getattr(rows, name), np.float64, (m,))
        out["contact_dim"] = _array_at(p.contact_dim, np.int32, (c,))
        out["contact_friction"] = _array_at(p.contact_friction, np.float64, (c, 5))
        out["contact_mu"] = _array_at(p.contact_mu, np.float64, (c,))
        out["flags"], out["bad"] = Flag(rows.flags), bool(rows.bad)
        out["why"] = rows.why.decode(errors="replace") if rows.why else None
        out["rows_needed"], out["contacts_needed"] = rows.rows_needed, rows.contacts_needed
        return out


def _array_at(address, dtype, shape):
    """Copy of an array at an address; None for NULL, unless it has no elements."""
    out = np.empty(shape, dtype)
    if out.size:
        if not address:
            return None
        ctypes.memmove(out.ctypes.data, address, out.nbytes)
    return out


def _dense(rows, cols, values, rownnz, rowadr, colind):
    """Compressed rows as a dense array."""
    out = np.zeros((rows, cols))
    nnz, adr = (_array_at(a, np.int32, (rows,)) for a in (rownnz, rowadr))
    entries = int((nnz + adr).max(initial=0))
    value, column = _array_at(values, np.float64, (entries,)), _array_at(colind, np.int32, (entries,))
    for i in range(rows):
        part = slice(adr[i], adr[i] + nnz[i])
        out[i, column[part]] = value[part]
    return out


class Solver(_Child):
    """Workspace and settings.

    method: "newton", "cg", "pgs", or "direct" where every row is an equality. precision: "f64", "f32" or "mixed" (factors in
    float, accuracy of double), of the iteration; the certificate is always in double.
    iterations, ls_iterations: at most (100; 50 line search evaluations per iteration).
    tolerance: of the scaled gradient and gap (1e-8). ls_tolerance: slope left by the line search, relative (0.01).
    warmstart: start at the problem's warm start where that is better than qacc_smooth (True).
    retry: what float leaves unsolved is solved again in double, flagged RETRIED_F64 (True).
    noslip_iterations, noslip_tolerance: at most so many sweeps of noslip (0) after the verdict, until a sweep's scaled
    decrease is less (1e-6); what it changes is flagged NOSLIP_APPLIED, and gap and bound are of the answer before it.
    None: the library's default.
    """

    def __init__(self, context, *, method=None, precision=None, iterations=None, ls_iterations=None, tolerance=None,
                 ls_tolerance=None, warmstart=None, retry=None, noslip_iterations=None, noslip_tolerance=None):  # fmt: skip
        options = initialised(
            lib.sc_solver_options_init,
            _abi.SolverOptions,
            method=number("method", method, METHODS),
            precision=number("precision", precision, PRECISIONS),
            iterations=iterations,
            ls_iterations=ls_iterations,
            tolerance=tolerance,
            ls_tolerance=ls_tolerance,
            warmstart=None if warmstart is None else bool(warmstart),
            retry=None if retry is None else bool(retry),
            noslip_iterations=noslip_iterations,
            noslip_tolerance=noslip_tolerance,
        )
        address = create(lib.sc_solver_create, context.address, ctypes.byref(options))
        super().__init__(context, lib.sc_solver_destroy, address)
        self._packed = {}
        self._ran = False

    def pack(self, batch):
        """Copy a batch into the layout of the solve; the batch is not needed afterwards."""
        check(lib.sc_solver_pack(self.address, batch.address))
        self._packed = {**batch._sizes, "errors": dict(batch.errors)}
        self._ran = False

    def run(self):
        """Solve what was packed last, and certify it; may be repeated. Returns a Result."""
        check(lib.sc_solver_run(self.address))
        self._ran = True
        return Result(self.address, **self._packed)

    def inverse(self, qacc=None):
        """Inverse dynamics of what was packed last: the forces that belong to qacc; see softcon.inverse.

        None: the answers of the last run, for its fwdinv diagnostic.
        """
        sizes = {name: self._packed.get(name) for name in ("nv", "nefc")}
        return Inverse(self.address, qacc, self._ran, **sizes)

    def solve(self, batch):
        """pack(batch) and run()."""
        self.pack(batch)
        return self.run()
