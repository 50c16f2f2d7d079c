"""The two calls that do everything: solve and solve_model."""

import contextlib

from ._fields import Table
from ._model import Model
from ._objects import Batch, Context, Solver


@contextlib.contextmanager
def _context(given, threads, backend):
    """The caller's context, or one for this call."""
    if given is not None:
        if threads is not None or backend is not None:
            raise ValueError("threads and backend belong to the context that is given")
        yield given
        return
    with Context(threads or 0, backend) as own:
        yield own


def solve(M, J=None, *, qfrc_smooth=None, qacc_smooth=None, warmstart=None, type=None, id=None, pos=None, margin=None,
          vel=None, solref=None, solimp=None, diagA=None, curvature=None, adhesion=None, D=None, aref=None,
          frictionloss=None, contact_dim=None, contact_friction=None, contact_solreffriction=None, contact_mu=None,
          timestep=None, impratio=None, refsafe=None, method=None, precision=None, iterations=None,
          ls_iterations=None, tolerance=None, ls_tolerance=None, retry=None, noslip_iterations=None,
          noslip_tolerance=None, max_rows=None, max_contacts=None, threads=None, backend=None,
          context=None):  # fmt: skip
    """Solve N independent problems: minimise 1/2 (a - a_smooth)' M (a - a_smooth) + sum of the rows' costs over a.

    Every argument is an array with a leading axis over environments; or an array without it, the same for all; or a
    list with one array per environment, when sizes differ. Leading axes of the shapes below may be left out too: a
    scalar pos, a solref of shape (2,). Shapes are those of one environment with nv dofs, nefc rows and ncon contacts
    with friction.

    M (nv, nv)           inertia, symmetric positive definite; the lower triangle is read
    J (nefc, nv)         constraint Jacobian; None: no rows
    qfrc_smooth (nv)     force without constraints, N or N m; or
    qacc_smooth (nv)     acceleration without constraints. One of them must be given
    warmstart (nv)       acceleration to start at
    type (nefc)          Type or its word of every row
    id (nefc)            consecutive equality rows of equal id form one block (connect, weld)
    frictionloss (nefc)  largest force of dry friction rows, N or N m

    Rows by parameters:
    pos (nefc)           violation, m or rad
    margin, vel (nefc)   m or rad; m/s or rad/s
    solref (nefc, 2)     default (0.02, 1)
    solimp (nefc, 5)     default (0.9, 0.95, 0.001, 0.5, 2)
    diagA (nefc)         inverse inertia of the row; None: exact, J M^-1 J'
    curvature, adhesion (nefc)   m/s^2 or rad/s^2, subtracted from aref; N, R times it is added to aref
    timestep, impratio, refsafe  s, 0.002; 1; True

    Or ready rows, as in mjData:
    D, aref (nefc)       1/R, and the reference acceleration
    contact_mu (ncon)    of elliptic contacts, sqrt(friction[0]^2 R_1/R_0)

    Contacts with friction are blocks of 2 (dim-1) pyramidal or dim elliptic rows; contact i is the i-th block:
    contact_dim (ncon)               3, 4 or 6
    contact_friction (ncon, 5)       tangents, spin, rolls
    contact_solreffriction (ncon, 2) solref of friction rows

    method, precision ("f64", "f32", "mixed"), iterations, ls_iterations, tolerance, ls_tolerance, retry, noslip_iterations,
    noslip_tolerance: see Solver. max_rows, max_contacts: see Batch. threads, backend: see Context; or a context that is
    kept from call to call.

    Returns a Result. ValueError: shapes that do not fit. Error: what the library refuses. Numbers that are not valid
    (NaN, negative masses) raise nothing: that environment's verdict is bad_input or not_spd.
    """
    problem = dict(
        M=M, J=J, qfrc_smooth=qfrc_smooth, qacc_smooth=qacc_smooth, warmstart=warmstart, type=type, id=id, pos=pos,
        margin=margin, vel=vel, solref=solref, solimp=solimp, diagA=diagA, curvature=curvature, adhesion=adhesion, D=D,
        aref=aref, frictionloss=frictionloss, contact_dim=contact_dim, contact_friction=contact_friction,
        contact_solreffriction=contact_solreffriction, contact_mu=contact_mu, timestep=timestep, impratio=impratio,
        refsafe=refsafe,
    )  # fmt: skip
    table = Table("softcon.solve", problem)
    with (
        _context(context, threads, backend) as ctx,
        Solver(
            ctx, method=method, precision=precision, iterations=iterations, ls_iterations=ls_iterations,
            tolerance=tolerance, ls_tolerance=ls_tolerance, retry=retry, noslip_iterations=noslip_iterations,
            noslip_tolerance=noslip_tolerance,
        ) as solver,
        Batch(ctx, table.nenv, max_rows=max_rows, max_contacts=max_contacts) as batch,
    ):  # fmt: skip
        batch.fill_table(table)
        return solver.solve(batch)


def inverse(qacc, M, J=None, *, threads=None, backend=None, context=None, **problem):
    """Inverse dynamics of N environments: the constraint forces at given accelerations, in closed form, in double.

    qacc (nv)   with a leading axis over environments, or the same for all, or a list with one array per environment
    M, J and the other arguments of the problem: as in solve

    Returns an Inverse: efc_force, efc_state, qfrc_constraint, qfrc_inverse. For models: Batch.fill_model, Solver.pack,
    Solver.inverse.
    """
    table = Table("softcon.inverse", {"M": M, "J": J, **problem})
    with (
        _context(context, threads, backend) as ctx,
        Solver(ctx) as solver,
        Batch(ctx, table.nenv) as batch,
    ):
        batch.fill_table(table)
        solver.pack(batch)
        return solver.inverse(qacc)


def solve_model(model, states, sig=None, *, cone=None, jacobian=None, impratio=None, method=None, precision=None,
                iterations=None, ls_iterations=None, tolerance=None, ls_tolerance=None, warmstart=None, retry=None,
                noslip_iterations=None, noslip_tolerance=None, max_rows=None, max_contacts=None, threads=None,
                backend=None, context=None, progress=None):  # fmt: skip
    """Solve a MuJoCo model's problem in N states.

    model     path of an MJCF or .mjb file, a mujoco.MjModel (copied), or a softcon.Model
    states    (N, nstate) or (nstate,): what mj_getState gives, mj_stateSize(model, sig) numbers each
    sig       bits of mujoco.mjtState; None: mjSTATE_INTEGRATION. Parts that it lacks have the model's initial values
    cone ("pyramidal", "elliptic"), jacobian, impratio: instead of the model's own; not with a softcon.Model
    method    "newton", "cg", "pgs" or "direct"; precision "f64", "f32" or "mixed"
    method, iterations, ls_iterations, tolerance, ls_tolerance, warmstart, noslip_iterations, noslip_tolerance:
              None: the model's own
    max_rows, max_contacts, threads, backend, context: as in solve
    progress  function(done, total), called while rows are made; what it raises ends the call

    Returns a Result: qacc is (N, nv), efc_force is Ragged, its rows in MuJoCo's order.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(model, Model):
            if cone is not None or jacobian is not None or impratio is not None:
                raise ValueError("cone, jacobian and impratio belong to the softcon.Model that is given")
        else:
            model = stack.enter_context(Model(model, cone=cone, jacobian=jacobian, impratio=impratio))
        states = model.check_states("softcon.solve_model", states, sig)
        ctx = stack.enter_context(_context(context, threads, backend))
        options = model.solver_options(
            iterations=iterations, ls_iterations=ls_iterations, tolerance=tolerance, ls_tolerance=ls_tolerance,
            warmstart=warmstart, method=method, noslip_iterations=noslip_iterations, noslip_tolerance=noslip_tolerance,
        )  # fmt: skip
        solver = stack.enter_context(Solver(ctx, precision=precision, retry=retry, **options))
        batch = stack.enter_context(Batch(ctx, len(states), max_rows=max_rows, max_contacts=max_contacts))
        batch.fill_model(model, states, sig, progress)
        return solver.solve(batch)
