"""softcon.solve_model against MuJoCo's own solver."""

import copy
import json
import os
import pathlib
import signal
import tempfile
import unittest
import unittest.mock

import numpy as np
import support  # noqa: F401

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

BOXES = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
    <body pos=".03 0 .31"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    <body pos="1 0 .5">
      <joint name="swing" type="hinge" axis="0 1 0" range="-20 20" limited="true" frictionloss=".3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      <body pos=".3 0 0">
        <joint name="knee" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="knee" joint2="swing"/></equality>
</mujoco>
"""


def states_of(model, n, seed=0):
    """(n, nstate) states along a rollout from a random velocity"""
    data = mujoco.MjData(model)
    data.qvel[:] = np.random.default_rng(seed).normal(size=model.nv) * 0.5
    states = np.empty((n, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)))
    for state in states:
        mujoco.mj_step(model, data, 3)
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return states


def mujoco_answers(model, states, cone=None):
    """qacc and efc_force of MuJoCo's Newton at a tight tolerance"""
    model = copy.copy(model)
    model.opt.solver, model.opt.tolerance, model.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-14, 200
    model.opt.noslip_iterations = 0
    if cone is not None:
        model.opt.cone = cone
    data = mujoco.MjData(model)
    for state in states:
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, data)
        yield data.qacc.copy(), data.efc_force.copy()


@unittest.skipIf(missing, missing)
class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = mujoco.MjModel.from_xml_string(BOXES)
        cls.states = states_of(cls.model, 40)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name) / "boxes.xml"
        cls.path.write_text(BOXES)

    def test_against_mujoco(self):
        for number, cone in enumerate(("pyramidal", "elliptic")):
            for precision, tolerance in (("f64", 1e-6), ("f32", 1e-2), ("mixed", 1e-6)):
                with self.subTest(cone=cone, precision=precision):
                    r = softcon.solve_model(self.model, self.states, cone=cone, precision=precision)
                    self.assertTrue(r.solved.all(), r)
                    self.assertEqual(r.qacc.shape, (40, self.model.nv))
                    for i, (qacc, force) in enumerate(mujoco_answers(self.model, self.states, number)):
                        self.assertLess(np.linalg.norm(r.qacc[i] - qacc), tolerance * max(1, np.linalg.norm(qacc)))
                        self.assertEqual(len(r.efc_force[i]), len(force))

    def test_path_and_mjmodel(self):
        by_model = softcon.solve_model(self.model, self.states)
        for source in (self.path, str(self.path)):
            by_path = softcon.solve_model(source, self.states)
            np.testing.assert_array_equal(by_path.qacc, by_model.qacc)
            np.testing.assert_array_equal(by_path.efc_force.flat, by_model.efc_force.flat)
        with softcon.Model(self.model) as model:
            np.testing.assert_array_equal(softcon.solve_model(model, self.states).qacc, by_model.qacc)
            with self.assertRaisesRegex(ValueError, "cone"):
                softcon.solve_model(model, self.states, cone="elliptic")

    def test_signature(self):
        sig = mujoco.mjtState.mjSTATE_PHYSICS
        states = np.empty((3, mujoco.mj_stateSize(self.model, sig)))
        data = mujoco.MjData(self.model)
        for state, full in zip(states, self.states):
            mujoco.mj_setState(self.model, data, full, mujoco.mjtState.mjSTATE_INTEGRATION)
            mujoco.mj_getState(self.model, data, state, sig)
        r = softcon.solve_model(self.model, states, sig)
        np.testing.assert_allclose(r.qacc, softcon.solve_model(self.model, self.states[:3]).qacc, rtol=1e-5, atol=1e-5)

    def test_model_info_and_settings(self):
        with softcon.Model(self.path, cone="elliptic", impratio=3) as model:
            info = model.info
            self.assertEqual((info["cone"], info["solver"], info["impratio"]), ("elliptic", "newton", 3))
            self.assertEqual((info["nv"], info["timestep"]), (self.model.nv, 0.005))
            self.assertEqual(info["mujoco_version"], mujoco.mj_versionString())
            options = model.solver_options(tolerance=1e-3, iterations=None)
            self.assertEqual((options["tolerance"], options["iterations"]), (1e-3, 100))
            self.assertEqual(model.state_size(), self.states.shape[1])

    def test_rows(self):
        """Batch.get after fill_model is MuJoCo's own mjData"""
        with softcon.Context() as context, softcon.Batch(context, 40) as batch, softcon.Model(self.path) as model:
            times = batch.fill_model(model, self.states)
            got = batch.get(7)
        self.assertGreater(times["kinematics"], 0)
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.states[7], mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(self.model, data)
        np.testing.assert_allclose(got["D"], data.efc_D, rtol=1e-12)
        np.testing.assert_allclose(got["aref"], data.efc_aref, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(got["type"], data.efc_type)
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, data, M)
        np.testing.assert_allclose(got["M"], M, atol=1e-12)

    def test_bad_state(self):
        states = self.states.copy()
        states[3, 5] = np.nan
        r = softcon.solve_model(self.model, states)
        self.assertEqual(r.status[3], "bad_input")
        self.assertEqual(r.solved.sum(), 39)

    def test_made_states(self):
        with softcon.Context() as context, softcon.Model(self.path) as model:
            states = model.make_states(context, 6, seed=4, warmup=20)
            again = model.make_states(context, 3, seed=4, warmup=20)
            np.testing.assert_array_equal(states[:3], again)
            self.assertTrue(softcon.solve_model(model, states, context=context).solved.all())

    def test_mistakes(self):
        size = self.states.shape[1]
        with self.assertRaisesRegex(ValueError, rf"states has shape \(4, 5\), expected \(N, {size}\)"):
            softcon.solve_model(self.model, np.zeros((4, 5)))
        with self.assertRaisesRegex(ValueError, "states"):
            softcon.solve_model(self.model, "states.npy")
        with self.assertRaisesRegex(softcon.Error, "nothing.xml") as caught:
            softcon.solve_model("nothing.xml", self.states)
        self.assertEqual(caught.exception.code, softcon.Code.FILE)
        with self.assertRaisesRegex(TypeError, "int"):
            softcon.solve_model(3, self.states)
        with self.assertRaisesRegex(ValueError, "cone"):
            softcon.solve_model(self.model, self.states, cone="round")
        with self.assertRaisesRegex(softcon.Error, "sig"):
            softcon.solve_model(self.model, self.states, 1 << 30)

    def test_other_mujoco(self):
        with unittest.mock.patch("mujoco.mj_versionString", lambda: "3.2.1"):
            with self.assertRaisesRegex(softcon.Error, "3.2.1.*4.0.0") as caught:
                softcon.Model(self.model)
        self.assertEqual(caught.exception.code, softcon.Code.UNSUPPORTED)

    def test_progress_and_interruption(self):
        many = np.repeat(self.states, 20, axis=0)
        seen = []
        softcon.solve_model(self.model, many, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (800, 800))
        self.assertEqual(seen, sorted(seen))
        seen.clear()

        def give_up(done, total):
            seen.append(done)
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            softcon.solve_model(self.model, many, progress=give_up)
        self.assertEqual(len(seen), 1)

        before = signal.getsignal(signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            softcon.solve_model(self.model, many, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
        self.assertIs(signal.getsignal(signal.SIGINT), before)


@unittest.skipIf(missing, missing)
@unittest.skipUnless(os.environ.get("SOFTCON_STATES"), "SOFTCON_STATES is not set")
class RecordedRobots(unittest.TestCase):
    """States that bench/record_states.py has recorded."""

    def test_all(self):
        import h5py

        folder = pathlib.Path(os.environ["SOFTCON_STATES"])
        for name, robot in json.loads((folder / "manifest.json").read_text()).items():
            for number, cone in enumerate(("pyramidal", "elliptic")):
                with self.subTest(robot=name, cone=cone), h5py.File(folder / robot[cone]) as file:
                    states = file["states"][:16]
                    sig = int(file["states"].attrs["sig"])
                    model = mujoco.MjModel.from_xml_path(robot["xml"])
                    r = softcon.solve_model(
                        model, states, sig, cone=cone, method="newton", tolerance=1e-10, iterations=100, noslip_iterations=0
                    )
                    self.assertTrue(r.solved.all(), r)
                    for i, (qacc, _) in enumerate(mujoco_answers(model, states, number)):
                        error = np.linalg.norm(r.qacc[i] - qacc) / max(1, np.linalg.norm(qacc))
                        self.assertLess(error, 1e-3, f"environment {i}")


if __name__ == "__main__":
    unittest.main()
