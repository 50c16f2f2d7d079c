"""The methods on the dual against the oracle, sweep by sweep, and against MuJoCo's own."""

import importlib.util
import unittest

import numpy as np
import support

import softcon

try:
    import mujoco
except ImportError:
    mujoco = None
try:
    softcon.mujoco_version()
    missing = "" if mujoco else "no Python package mujoco"
except ImportError as why:
    missing = str(why)

spec = importlib.util.spec_from_file_location("oracle", support.TREE / "tests/oracle/solver_reference.py")
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

# a box that lies, one that slides and spins, an arm at its limit with dry friction, an equality
SCENE = """
<mujoco>
  <option timestep="0.005" cone="{cone}" impratio="{impratio}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1" condim="{dim}" friction=".7 .02 .003"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2" condim="{dim}"/></body>
    <body pos=".03 0 .31"><freejoint/><geom type="box" size=".1 .1 .1" mass="{mass}" condim="{dim}"/></body>
    <body pos="1 0 .5">
      <joint name="swing" axis="0 1 0" range="-20 20" limited="true" frictionloss=".3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      <body pos=".3 0 0">
        <joint name="knee" axis="0 1 0" frictionloss="1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="knee" joint2="swing"/></equality>
</mujoco>
"""
STATE = None if mujoco is None else mujoco.mjtState.mjSTATE_INTEGRATION


def scene(cone, dim, impratio=1, mass=1):
    return mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, dim=dim, impratio=impratio, mass=mass))


def rollout(model, n, seed=0):
    """n states after pushes; the last warm starts are kept in them"""
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    states = np.empty((n, mujoco.mj_stateSize(model, STATE)))
    for state in states:
        data.qvel[:] += rng.normal(size=model.nv) * 0.3
        mujoco.mj_step(model, data, 5)
        mujoco.mj_getState(model, data, state, STATE)
    return states


def problems(model, states, **options):
    """(data, problem of the oracle) of each state, after mj_forward with these options"""
    for name, value in options.items():
        setattr(model.opt, name, value)
    for state in states:
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, state, STATE)
        mujoco.mj_forward(model, data)
        yield data, oracle.extract(model, data)


def pgs_sweeps(p, f, sweeps):
    """the oracle's sweeps in the order of the rows, with softcon's rule for the momentum"""
    A, _ = p.delassus()
    A += np.diag(1 / p.D)
    b = p.J @ p.s - p.aref
    weight = np.ones(p.n)
    for i, _, friction in p.cones:
        weight[i + 1 : i + 1 + len(friction)] = 1 / friction**2
    since, before = 0, f.copy()
    for _ in range(sweeps):
        beta = max(0, (since - 1) / (since + 2))
        start = f + beta * (f - before)
        if beta > 0:
            oracle.project(p, start)
        after = oracle.pgs(p, start, maxit=1, gap_tol=0, accel=False, shuffle=False)["f"]
        cost = [0.5 * x @ A @ x + b @ x for x in (f, after)]
        against = weight @ ((after - start) * (start - f)) < 0 or cost[1] > cost[0]
        since = 0 if beta > 0 and against else since + 1
        before, f = f, after
    return p.s + np.linalg.solve(p.M, p.J.T @ f)


def relative(a, b):
    return float(np.max(np.abs(a - b), initial=0) / max(1, np.max(np.abs(b), initial=0)))


KINDS = [("pyramidal", 3), ("pyramidal", 4), ("pyramidal", 6), ("elliptic", 3), ("elliptic", 4), ("elliptic", 6)]


@unittest.skipIf(missing, missing)
class Pgs(unittest.TestCase):
    def test_sweeps(self):
        for cone, dim in KINDS:
            model = scene(cone, dim)
            states = rollout(model, 6)
            for sweeps in (1, 2, 7):
                with self.subTest(cone=cone, dim=dim, sweeps=sweeps):
                    r = softcon.solve_model(model, states, method="pgs", iterations=sweeps, tolerance=0, warmstart=False)
                    for i, (_, p) in enumerate(problems(model, states)):
                        want = pgs_sweeps(p, np.zeros(p.n), sweeps)
                        self.assertLess(relative(r.qacc[i], want), 1e-8, f"state {i}")
                    self.assertEqual(r.iterations.max(), sweeps)

    def test_agrees_with_newton(self):
        for cone, dim in KINDS:
            with self.subTest(cone=cone, dim=dim):
                model = scene(cone, dim, impratio=10)
                states = rollout(model, 8, seed=1)
                newton = softcon.solve_model(model, states, tolerance=1e-14)
                r = softcon.solve_model(model, states, method="pgs", iterations=20000, tolerance=1e-14)
                self.assertTrue(r.solved.all(), r)
                self.assertLess(relative(r.qacc, newton.qacc), 1e-5)

    def test_the_models_own_solver_is_used(self):
        model = scene("elliptic", 3)
        states = rollout(model, 3)
        model.opt.solver = mujoco.mjtSolver.mjSOL_PGS
        model.opt.iterations = 3
        own = softcon.solve_model(model, states)
        np.testing.assert_array_equal(own.qacc, softcon.solve_model(model, states, method="pgs").qacc)
        self.assertEqual(own.iterations.max(), 3)
        self.assertFalse(own.solved.all())
        self.assertTrue(softcon.solve_model(model, states, method="newton", iterations=50).solved.all())


if __name__ == "__main__":
    unittest.main()
