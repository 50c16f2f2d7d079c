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


def pyramids(data):
    """(first row, number of rows) of the pyramidal contacts"""
    return [(c.efc_address, 2 * (c.dim - 1)) for c in data.contact if c.efc_address >= 0 and c.dim > 1]


TIGHT = dict(tolerance=1e-15, ls_tolerance=1e-6, iterations=200)


@unittest.skipIf(missing, missing)
class Noslip(unittest.TestCase):
    def check_sweeps(self, cone, dim, sweeps, impratio=1, mass=1):
        model = scene(cone, dim, impratio, mass)
        states = rollout(model, 6)
        r = softcon.solve_model(model, states, **TIGHT, noslip_iterations=sweeps, noslip_tolerance=0)
        before = softcon.solve_model(model, states, **TIGHT, noslip_iterations=0)
        changed = 0
        for i, (data, p) in enumerate(problems(model, states)):
            _, f, _ = oracle.polish_problem(p)
            pyr = pyramids(data) if cone == "pyramidal" else []
            want = oracle.noslip(p, f, sweeps, pyr, tol=0)
            qacc = p.s + np.linalg.solve(p.M, p.J.T @ want)
            self.assertLess(relative(r.efc_force[i], want), 1e-8, f"state {i}: forces")
            self.assertLess(relative(r.qacc[i], qacc), 1e-8, f"state {i}: accelerations")
            self.assertLess(relative(r.qfrc_constraint[i], p.J.T @ want), 1e-8, f"state {i}: J'f")
            moved = not np.array_equal(r.efc_force[i], before.efc_force[i])
            self.assertEqual(moved, bool(r.flags[i] & softcon.Flag.NOSLIP_APPLIED), f"state {i}: the flag")
            changed += moved
        self.assertGreater(changed, 3)
        for field in ("status", "gap", "gap_floor", "qacc_bound", "objective", "iterations"):
            np.testing.assert_array_equal(getattr(r, field), getattr(before, field), field)

    def test_sweeps(self):
        for cone, dim in KINDS:
            for sweeps in (1, 3, 10):
                with self.subTest(cone=cone, dim=dim, sweeps=sweeps):
                    self.check_sweeps(cone, dim, sweeps)

    def test_stiff_friction_and_light_on_heavy(self):
        for cone, dim in KINDS:
            with self.subTest(cone=cone, dim=dim):
                self.check_sweeps(cone, dim, 3, impratio=100, mass=50)

    def test_mujoco(self):
        """MuJoCo's own noslip, of one to ten sweeps, after its Newton's forces, as far as these are at the optimum"""
        options = dict(tolerance=1e-15, iterations=200, noslip_tolerance=0)
        options["disableflags"] = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
        exact = 0
        for cone, dim in KINDS:
            model = scene(cone, dim)
            states = rollout(model, 8, seed=2)
            start = [
                relative(np.array(data.efc_force), oracle.polish_problem(p)[1])
                for data, p in problems(model, states, noslip_iterations=0, **options)
            ]
            for sweeps in (1, 4, 10):
                with self.subTest(cone=cone, dim=dim, sweeps=sweeps):
                    r = softcon.solve_model(model, states, **TIGHT, noslip_iterations=sweeps, noslip_tolerance=0)
                    for i, (data, p) in enumerate(problems(model, states, noslip_iterations=sweeps, **options)):
                        f = r.efc_force[i]
                        sliding = [a for a, _, c in p.cones if np.linalg.norm(f[a + 1 : a + dim] / c) > f[a] * (1 - 1e-9)]
                        # on the rim of a contact of dim 6 MuJoCo's tangential solve runs out of its twenty steps
                        bound = 1e-8 + 30 * start[i] if dim < 6 or not sliding else 1e-3
                        self.assertLess(relative(f, data.efc_force), bound, f"state {i}: forces")
                        self.assertLess(relative(r.qacc[i], data.qacc), bound, f"state {i}: accelerations")
                        exact += bound < 2e-8
        self.assertGreater(exact, 80)

    def test_after_every_method_and_precision(self):
        for cone, dim in KINDS:
            model = scene(cone, dim)
            states = rollout(model, 4, seed=3)
            options = dict(noslip_iterations=200, noslip_tolerance=1e-14, tolerance=1e-15, iterations=20000)
            want = softcon.solve_model(model, states, **options)
            for method, precision, bound in (("cg", "f64", 1e-6), ("pgs", "f64", 1e-6), ("newton", "f32", 1e-3)):
                with self.subTest(cone=cone, dim=dim, method=method, precision=precision):
                    r = softcon.solve_model(model, states, method=method, precision=precision, **options)
                    np.testing.assert_array_equal(r.flags & softcon.Flag.NOSLIP_APPLIED, want.flags)
                    self.assertTrue(want.flags.any())
                    self.assertLess(relative(r.qacc, want.qacc), bound)

    def test_it_stops_slipping(self):
        """the contact points of a pushed box creep under regularised friction, not after noslip, whatever its mass"""
        able = [(c, d) for c, d in KINDS if (c, d) != ("elliptic", 6)]  # rolling friction is too weak there
        for cone, dim, mass in [(c, d, m) for c, d in able for m in (1e-3, 1, 1e3, 5e5)]:
            with self.subTest(cone=cone, dim=dim, mass=mass):
                model = mujoco.MjModel.from_xml_string(f"""
                  <mujoco><option cone="{cone}" gravity="2 0 -9.81"/><worldbody>
                    <geom type="plane" size="5 5 .1" condim="{dim}"/>
                    <body pos="0 0 .0999"><freejoint/>
                      <geom type="box" size=".1 .1 .1" mass="{mass}" condim="{dim}"/></body>
                  </worldbody></mujoco>""")
                state = np.empty((1, mujoco.mj_stateSize(model, STATE)))
                data = mujoco.MjData(model)
                mujoco.mj_getState(model, data, state[0], STATE)
                ((data, p),) = problems(model, state)
                creep = []
                for n in (0, 2000):
                    r = softcon.solve_model(model, state, noslip_iterations=n, noslip_tolerance=0)
                    x = (p.J @ r.qacc[0] - p.aref).reshape(data.ncon, -1)
                    creep.append(np.abs(x[:, 0::2] - x[:, 1::2] if cone == "pyramidal" else x[:, 1:]).max())
                self.assertGreater(creep[0], 1e-2)
                self.assertLess(creep[1], 1e-3 * creep[0])

    def test_the_models_own_iterations(self):
        model = scene("elliptic", 3)
        states = rollout(model, 4)
        plain = softcon.solve_model(model, states)
        self.assertFalse((plain.flags & softcon.Flag.NOSLIP_APPLIED).any())
        model.opt.noslip_iterations, model.opt.noslip_tolerance = 3, 0
        own = softcon.solve_model(model, states)
        given = softcon.solve_model(model, states, noslip_iterations=3, noslip_tolerance=0)
        np.testing.assert_array_equal(own.qacc, given.qacc)
        off = softcon.solve_model(model, states, noslip_iterations=0)
        np.testing.assert_array_equal(off.qacc, plain.qacc)
        self.assertTrue((own.flags & softcon.Flag.NOSLIP_APPLIED).any())

    def test_options_out_of_range(self):
        with softcon.Context() as context:
            for option in (dict(noslip_iterations=-1), dict(noslip_tolerance=-1.0), dict(noslip_tolerance=float("nan"))):
                with self.assertRaisesRegex(softcon.Error, next(iter(option))):
                    softcon.Solver(context, **option)


class Direct(unittest.TestCase):
    def problem(self, nv, nefc, seed, redundant=False):
        rng = np.random.default_rng(seed)
        C = rng.normal(size=(nv, nv))
        J = rng.normal(size=(nefc, nv))
        if redundant:
            J[1::2] = J[::2][: nefc // 2]
        M = C @ C.T + np.eye(nv)
        D = 10 ** rng.uniform(0, 4, nefc)
        return dict(M=M, J=J, qacc_smooth=rng.normal(size=nv), type="equality", D=D, aref=10 * rng.normal(size=nefc))

    def test_against_numpy(self):
        for nv, nefc, redundant in ((1, 1, False), (7, 5, False), (7, 30, True), (40, 33, False), (12, 256, True)):
            with self.subTest(nv=nv, nefc=nefc):
                q = self.problem(nv, nefc, seed=nv, redundant=redundant)
                r = softcon.solve(**q, method="direct")
                A = q["J"] @ np.linalg.solve(q["M"], q["J"].T)
                f = np.linalg.solve(A + np.diag(1 / q["D"]), q["aref"] - q["J"] @ q["qacc_smooth"])
                self.assertTrue(r.solved.all(), r)
                self.assertEqual(r.iterations[0], 1)
                np.testing.assert_allclose(r.efc_force[0], f, rtol=1e-8, atol=1e-8 * np.abs(f).max())
                qacc = q["qacc_smooth"] + np.linalg.solve(q["M"], q["J"].T @ f)
                np.testing.assert_allclose(r.qacc[0], qacc, rtol=1e-8, atol=1e-8)

    def test_large_by_conjugate_gradients(self):
        q = self.problem(30, 400, seed=5)
        r = softcon.solve(**q, method="direct", iterations=20000, tolerance=1e-12)
        newton = softcon.solve(**q, tolerance=1e-14)
        self.assertTrue(r.solved.all(), r)
        self.assertGreater(r.iterations[0], 1)
        np.testing.assert_allclose(r.qacc, newton.qacc, rtol=1e-4, atol=1e-5)
        few = softcon.solve(**q, method="direct", iterations=3)
        self.assertEqual(few.status[0], "iteration_limit")

    def test_other_rows_are_refused(self):
        q = self.problem(4, 3, seed=1)
        q["type"] = ["equality", "equality", "limit_joint"]
        with self.assertRaisesRegex(softcon.Error, "environment 0: row 2 is a limit") as caught:
            softcon.solve(**q, method="direct")
        self.assertEqual(caught.exception.code, softcon.Code.UNSUPPORTED)


if __name__ == "__main__":
    unittest.main()
