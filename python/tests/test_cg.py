"""Conjugate gradients beside MuJoCo's, without islands: the same law of iterations, and the model's own solver honoured."""

import unittest

import numpy as np
import support

import softcon

try:
    import mujoco

    softcon.mujoco_version()
    missing = ""
except ImportError as why:
    missing = str(why)


@unittest.skipIf(missing, missing)
class ConjugateGradients(unittest.TestCase):
    def states(self, scene, cone, count):
        """(model with solver CG, its states, MuJoCo's iterations and accelerations there)"""
        model = mujoco.MjModel.from_xml_path(str(support.TREE / "scenes" / scene))
        model.opt.cone = {"pyramidal": 0, "elliptic": 1}[cone]
        model.opt.solver, model.opt.iterations, model.opt.tolerance = mujoco.mjtSolver.mjSOL_CG, 1000, 1e-8
        model.opt.noslip_iterations = 0
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        with softcon.Context() as context, softcon.Model(model) as own:
            states = own.make_states(context, count, seed=3, warmup=60)
        data, iterations, qacc = mujoco.MjData(model), [], []
        for state in states:
            mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
            mujoco.mj_forward(model, data)
            iterations.append(int(data.solver_niter[0]) if data.nefc else 0)
            qacc.append(data.qacc.copy())
        return model, states, np.array(iterations), np.array(qacc)

    def test_iterations_are_comparable(self):
        for scene, cone in (("humanoid.xml", "pyramidal"), ("legged.xml", "elliptic"), ("boxes.xml", "pyramidal")):
            model, states, theirs, _ = self.states(scene, cone, 16)
            for precision in "f64", "f32":
                result = softcon.solve_model(model, states, precision=precision)
                with self.subTest(scene=scene, precision=precision, ours=result.iterations.mean(), theirs=theirs.mean()):
                    self.assertTrue((result.status == "solved").all())
                    self.assertGreater(theirs.mean(), 5)  # these states are work
                    self.assertLess(result.iterations.mean(), 2 * theirs.mean())
                    self.assertGreater(result.iterations.mean(), theirs.mean() / 2)

    def test_the_models_solver_is_honoured(self):
        model, states, _, _ = self.states("humanoid.xml", "elliptic", 4)
        own, cg, newton = (softcon.solve_model(model, states, method=m) for m in (None, "cg", "newton"))
        np.testing.assert_array_equal(own.qacc, cg.qacc)
        np.testing.assert_array_equal(own.iterations, cg.iterations)
        self.assertGreater(cg.iterations.max(), newton.iterations.max())
        np.testing.assert_allclose(own.qacc, newton.qacc, atol=1e-3 * np.abs(newton.qacc).max())


if __name__ == "__main__":
    unittest.main()
