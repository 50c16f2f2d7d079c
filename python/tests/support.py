"""What the tests share. Imported before softcon: the package of this tree is tested, not an installed one."""

import pathlib
import sys

PYTHON = pathlib.Path(__file__).resolve().parents[1]
TREE = PYTHON.parent
sys.path.insert(0, str(PYTHON))

import numpy as np  # noqa: E402


def ball(n, seed=0):
    """Arguments of softcon.solve for n balls on the floor: nv 3, one elliptic contact of dim 3 each."""
    rng = np.random.default_rng(seed)
    pos = np.zeros((n, 3))
    pos[:, 0] = -1e-3 * rng.random(n)
    return dict(
        M=2 * np.eye(3),
        J=np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        qfrc_smooth=rng.normal(size=(n, 3)) * 5 + [0, 0, -19.62],
        type="contact_elliptic",
        pos=pos,
        contact_dim=[3],
        contact_friction=[0.8, 0.8, 0, 0, 0],
    )


def chain(rng, nv, nefc):
    """One environment with random M and J, and rows of types 0 to 5."""
    A = rng.normal(size=(nv, nv))
    return dict(
        M=A @ A.T + nv * np.eye(nv),
        J=rng.normal(size=(nefc, nv)),
        qfrc_smooth=rng.normal(size=nv) * 10,
        type=rng.integers(0, 6, nefc),
        frictionloss=rng.random(nefc),
        pos=-1e-3 * rng.random(nefc),
        vel=rng.normal(size=nefc),
    )


def stacked(problems):
    """Lists with one array per environment."""
    return {name: [p[name] for p in problems] for name in problems[0]}


def row_forces(problem, qacc):
    """Forces of rows of types 0 to 5 (Batch.get) at an acceleration, written down anew."""
    x = problem["J"] @ qacc - problem["aref"]
    f = -problem["D"] * x
    kind, loss = problem["type"], problem["frictionloss"]
    f = np.where((kind == 1) | (kind == 2), np.clip(f, -loss, loss), f)
    return np.where(kind >= 3, np.maximum(f, 0), f)
