"""softcon: soft constraints of many independent environments, solved in one call.

    import softcon
    result = softcon.solve(M, J, qfrc_smooth=..., type=..., pos=...)       # problems as arrays
    result = softcon.solve_model("robot.xml", states)                      # a MuJoCo model in many states

Context, Batch, Solver and Model are for repeated solves. row and row_force evaluate one row.
"""

from ._library import lib as _lib
from ._model import Model, mujoco_version
from ._objects import Batch, Context, Solver, backends
from ._result import Inverse, Ragged, Result
from ._row import Row, row, row_force
from ._solve import inverse, solve, solve_model
from ._words import Code, Error, Flag, State, Status, Type

__version__ = _lib.sc_version().decode()

__all__ = [
    "Batch",
    "Code",
    "Context",
    "Error",
    "Flag",
    "Inverse",
    "Model",
    "Ragged",
    "Result",
    "Row",
    "Solver",
    "State",
    "Status",
    "Type",
    "backends",
    "inverse",
    "mujoco_version",
    "row",
    "row_force",
    "solve",
    "solve_model",
]
