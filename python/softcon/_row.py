"""One row by itself."""

import ctypes
from typing import NamedTuple

from . import _abi
from ._library import check, initialised, lib
from ._words import TYPES, Flag, number


class Row(NamedTuple):
    """A row's parameters.

    K, B: stiffness 1/s^2 and damping 1/s of the reference; d, dp: impedance and its derivative by pos; R, D:
    regularisation max(1e-15, (1-d)/d diagA), and 1/R; aref: reference acceleration -B vel - K d (pos - margin) -
    curvature; flags: Flag.
    """

    K: float
    B: float
    d: float
    dp: float
    R: float
    D: float
    aref: float
    flags: Flag


def row(*, type=None, pos=None, margin=None, vel=None, timestep=None, diagA=None, curvature=None, solref=None,
        solimp=None, refsafe=None):  # fmt: skip
    """K, B, d, dp, R, D and aref of one row.

    type       a Type or its word; "contact_frictionless". Dry friction has no spring: K = 0
    pos        violation: distance or residual, m or rad; 0
    margin     the row acts on pos - margin; 0
    vel        J qvel, m/s or rad/s; 0
    timestep   s; 0.002
    diagA      inverse inertia seen by the row, 1/kg or 1/(kg m^2); 1
    curvature  dJ/dt qvel; 0
    solref     (time constant s, damping ratio), or both <= 0: (-stiffness, -damping); (0.02, 1)
    solimp     (d0, dwidth, width, midpoint, power); (0.9, 0.95, 0.001, 0.5, 2)
    refsafe    raise a positive time constant to 2 timesteps; True

    Returns a Row. Error with code VALUE names a number that is not valid.
    """
    inputs = initialised(
        lib.sc_row_init, _abi.RowInput, type=number("type", type, TYPES), pos=pos, margin=margin, vel=vel,
        timestep=timestep, diagA=diagA, curvature=curvature, solref=solref, solimp=solimp, refsafe=refsafe,
    )  # fmt: skip
    out = _abi.RowOutput()
    check(lib.sc_row_eval(ctypes.byref(inputs), ctypes.byref(out)))
    return Row(out.K, out.B, out.d, out.dp, out.R, out.D, out.aref, Flag(out.flags))


def row_force(type, A, R, aref, a0, frictionloss=0.0):
    """Force of a row that is alone, -(a0 - aref)/(A + R), cut to what its type allows (N or N m).

    A: J M^-1 J' of the row; R, aref: as from row(); a0: its acceleration without the force, J a_smooth; frictionloss:
    bound of dry friction.
    """
    return lib.sc_row_force(number("type", type, TYPES), A, R, aref, a0, frictionloss)
