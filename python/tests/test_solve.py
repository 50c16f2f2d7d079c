import unittest

import numpy as np
import support

import softcon


class Answers(unittest.TestCase):
    def test_no_rows(self):
        r = softcon.solve(np.diag([1.0, 4.0]), qfrc_smooth=[[2.0, 2.0], [0, 8]])
        self.assertEqual(r.qacc.tolist(), [[2, 0.5], [0, 2]])
        self.assertEqual(r.efc_force.shape, (2, 0))
        self.assertTrue(r.solved.all())

    def test_one_row_is_row_and_row_force(self):
        """a mass on a limit, against the two one-row functions"""
        rows = dict(pos=-0.002, vel=-0.3, solref=(0.05, 0.7))
        for mass, force in ((2.0, -19.62), (0.5, 100)):
            with self.subTest(mass=mass):
                row = softcon.row(type="limit_joint", diagA=1 / mass, **rows)
                f = softcon.row_force("limit_joint", 1 / mass, row.R, row.aref, force / mass)
                r = softcon.solve([[mass]], [[1.0]], qfrc_smooth=force, type="limit_joint", **rows)
                self.assertEqual(r.efc_force.shape, (1, 1))
                self.assertAlmostEqual(r.efc_force[0, 0], f, delta=1e-9 * max(1, f))
                self.assertAlmostEqual(r.qacc[0, 0], (force + f) / mass, delta=1e-9)

    def test_equation_of_motion(self):
        """random problems of all kinds without cones: forces are the law's, and M a = qfrc_smooth + J'f"""
        rng = np.random.default_rng(1)
        problems = [support.chain(rng, nv, nefc) for nv, nefc in [(1, 0), (3, 2), (5, 9), (12, 7), (30, 40), (0, 0)]]
        with softcon.Context(1) as context, softcon.Solver(context, tolerance=1e-12) as solver:
            with softcon.Batch(context, len(problems)) as batch:
                batch.fill(**support.stacked(problems))
                r = solver.solve(batch)
                got = [batch.get(i) for i in range(len(problems))]
        self.assertTrue(r.solved.all(), r)
        for i, p in enumerate(got):
            np.testing.assert_allclose(r.efc_force[i], support.row_forces(p, r.qacc[i]), rtol=1e-9, atol=1e-9)
            rest = p["M"] @ r.qacc[i] - p["qfrc_smooth"] - p["J"].T @ r.efc_force[i]
            self.assertLess(np.abs(rest).max(initial=0), 1e-8)
            np.testing.assert_allclose(r.qfrc_constraint[i], p["J"].T @ r.efc_force[i], atol=1e-9)
            np.testing.assert_array_equal(p["M"], p["M"].T)

    def test_sliding_contact(self):
        """a pushed ball slides: the force is on the cone, against the motion"""
        r = softcon.solve(**{**support.ball(1), "qfrc_smooth": [[30.0, 0, -19.62]]})
        normal, along, across = r.efc_force[0]
        self.assertAlmostEqual(along, -0.8 * normal, delta=1e-6)
        self.assertAlmostEqual(across, 0, delta=1e-9)
        self.assertTrue((r.efc_state == softcon.State.CONE).all())

    def test_ready_rows_give_the_same(self):
        args = support.ball(20)
        by_parameters = softcon.solve(**args)
        with softcon.Context() as context, softcon.Batch(context, 20) as batch:
            batch.fill(**args)
            got = [batch.get(i) for i in range(20)]
        names = ("M", "J", "qfrc_smooth", "type", "D", "aref", "contact_dim", "contact_friction", "contact_mu")
        ready = softcon.solve(**{name: np.array([p[name] for p in got]) for name in names})
        np.testing.assert_allclose(ready.qacc, by_parameters.qacc, rtol=1e-12)

    def test_precision(self):
        double, single = (softcon.solve(**support.ball(50), precision=p) for p in ("f64", "f32"))
        self.assertTrue(double.solved.all() and single.solved.all())
        error = np.abs(double.qacc - single.qacc).max()
        self.assertLess(error, 1e-3)
        self.assertGreater(single.qacc_bound.max(), double.qacc_bound.max())
        mixed = softcon.solve(**support.ball(50), precision="mixed", tolerance=1e-15)
        self.assertTrue(mixed.solved.all())
        self.assertLess(np.abs(double.qacc - mixed.qacc).max(), 1e-9)

    def test_warmstart(self):
        args = support.ball(50)
        cold = softcon.solve(**args)
        warm = softcon.solve(**args, warmstart=cold.qacc)
        self.assertLessEqual(warm.iterations.sum(), cold.iterations.sum())
        np.testing.assert_allclose(warm.qacc, cold.qacc, atol=1e-7)

    def test_threads_and_backends(self):
        args = support.ball(200)
        one, two = (softcon.solve(**args, threads=t) for t in (1, 2))
        np.testing.assert_array_equal(one.qacc, two.qacc)
        for backend in softcon.backends():
            r = softcon.solve(**args, backend=backend)
            np.testing.assert_allclose(r.qacc, one.qacc, rtol=1e-9, atol=1e-9)


class Forms(unittest.TestCase):
    """The same problem, given in different ways, has the same bits."""

    def same(self, a, b):
        for name in ("qacc", "efc_force", "gap", "iterations"):
            x, y = getattr(a, name), getattr(b, name)
            if isinstance(x, softcon.Ragged):
                x = np.array(list(x))
            if isinstance(y, softcon.Ragged):
                y = np.array(list(y))
            np.testing.assert_array_equal(x, y, name)

    def test_shared_batched_listed(self):
        n = 7
        args = support.ball(n)
        shared = softcon.solve(**args)
        full = dict(
            args,
            M=np.tile(args["M"], (n, 1, 1)),
            J=np.tile(args["J"], (n, 1, 1)),
            type=np.full((n, 3), 7),
            solref=np.tile([0.02, 1], (n, 3, 1)),
            solimp=(0.9, 0.95, 0.001, 0.5, 2),
            contact_dim=np.full((n, 1), 3),
            contact_friction=np.tile([0.8, 0.8, 0, 0, 0], (n, 1, 1)),
            timestep=np.full(n, 0.002),
            margin=0,
            refsafe=True,
        )
        batched = softcon.solve(**full)
        listed = softcon.solve(**{k: list(v) if np.ndim(v) > 1 else v for k, v in full.items()})
        self.same(shared, batched)
        self.same(shared, listed)
        self.assertIsInstance(shared.efc_force, np.ndarray)
        self.assertIsInstance(listed.efc_force, softcon.Ragged)

    def test_other_layouts(self):
        args = support.ball(4)
        plain = softcon.solve(**args)
        turned = {k: np.asfortranarray(v) if isinstance(v, np.ndarray) else v for k, v in args.items()}
        self.same(plain, softcon.solve(**turned))
        strided = {k: np.repeat(v, 2, axis=-1)[..., ::2] if isinstance(v, np.ndarray) else v for k, v in args.items()}
        self.same(plain, softcon.solve(**strided))
        self.same(plain, softcon.solve(**dict(args, M=(2 * np.eye(3)).astype(int).tolist())))

    def test_single(self):
        """company does not matter"""
        rng = np.random.default_rng(3)
        problems = [support.chain(rng, nv, nefc) for nv, nefc in [(4, 4), (9, 2), (4, 4), (20, 31)]]
        together = softcon.solve(**support.stacked(problems))
        for i, p in enumerate(problems):
            alone = softcon.solve(**p)
            np.testing.assert_array_equal(alone.qacc[0], together.qacc[i])
            np.testing.assert_array_equal(alone.efc_force[0], together.efc_force[i])

    def test_none_at_all(self):
        r = softcon.solve(np.zeros((0, 3, 3)), np.zeros((0, 2, 3)), qfrc_smooth=0, type=0, pos=0)
        self.assertEqual((len(r), r.qacc.shape, r.efc_force.shape), (0, (0, 3), (0, 2)))
        r = softcon.solve([], [], qfrc_smooth=[], type=[], pos=[])
        self.assertEqual((len(r), len(r.qacc)), (0, 0))
        self.assertIn("0 environments", repr(r))


class InverseDynamics(unittest.TestCase):
    def test_closed_form(self):
        balls = support.ball(6)
        with softcon.Context(1) as context, softcon.Solver(context) as solver, softcon.Batch(context, 6) as batch:
            batch.fill(**balls)
            result = solver.solve(batch)
            own = solver.inverse()
            ready = batch.get(0)
        np.testing.assert_allclose(own.efc_force, result.efc_force, rtol=1e-9)
        self.assertLess(own.fwdinv.max(), 1e-9)
        qacc = result.qacc + [0, 0, -3.0]  # sticks deeper: every row quadratic
        at = softcon.inverse(qacc, **balls)
        x = ready["J"] @ qacc[0] - ready["aref"]
        quadratic = at.efc_state[0] == softcon.State.QUADRATIC
        np.testing.assert_allclose(at.efc_force[0][quadratic], (-ready["D"] * x)[quadratic], rtol=1e-13)
        np.testing.assert_allclose(at.qfrc_constraint[0], ready["J"].T @ at.efc_force[0], rtol=1e-13)
        residual = ready["M"] @ qacc[0] - balls["qfrc_smooth"][0] - at.qfrc_constraint[0]
        np.testing.assert_allclose(at.qfrc_inverse[0], residual, rtol=1e-12)
        self.assertIsNone(at.fwdinv)

    def test_shapes(self):
        balls = support.ball(3)
        self.assertEqual(softcon.inverse([0, 0, 1.0], **balls).qfrc_inverse.shape, (3, 3))
        self.assertEqual(softcon.inverse(np.zeros((3, 3)), **balls).efc_force.shape, (3, 3))
        with self.assertRaisesRegex(ValueError, r"qacc has shape \(2, 3\)"):
            softcon.inverse(np.zeros((2, 3)), **balls)
        with softcon.Context(1) as context, softcon.Solver(context) as solver, softcon.Batch(context, 1) as batch:
            batch.fill(**support.ball(1))
            solver.pack(batch)
            with self.assertRaisesRegex(softcon.Error, "sc_solver_run"):
                solver.inverse()


class Results(unittest.TestCase):
    def test_ragged(self):
        x = softcon.Ragged(np.arange(5.0), np.array([0, 2, 2, 5]))
        self.assertEqual([v.tolist() for v in x], [[0, 1], [], [2, 3, 4]])
        self.assertEqual(x[-1].tolist(), [2, 3, 4])
        self.assertEqual([len(v) for v in x[1:]], [0, 3])
        self.assertEqual(x.padded(-1).tolist(), [[0, 1, -1], [-1, -1, -1], [2, 3, 4]])
        self.assertEqual(x.sizes.tolist(), [2, 0, 3])
        with self.assertRaises(IndexError):
            x[3]

    def test_bad_environments_are_named_and_alone(self):
        args = support.ball(6)
        good = softcon.solve(**args)
        args["pos"][2, 0] = np.nan
        args["M"] = np.tile(args["M"], (6, 1, 1))
        args["M"][4] = -np.eye(3)
        r = softcon.solve(**args)
        self.assertEqual(r.status.tolist(), ["solved"] * 2 + ["bad_input", "solved", "not_spd", "solved"])
        self.assertEqual(list(r.errors), [2])
        self.assertIn("efc_pos[0]", r.errors[2])
        self.assertTrue(np.isnan(r.qacc[[2, 4]]).all() and np.isnan(r.gap[[2, 4]]).all())
        np.testing.assert_array_equal(r.qacc[r.solved], good.qacc[r.solved])
        self.assertRegex(repr(r), "^softcon.Result: 6 environments, 4 solved, 1 bad_input, 1 not_spd; at most")

    def test_flags(self):
        r = softcon.solve(**support.ball(2), solref=(0.001, 1))
        self.assertEqual(r.flag_words(1), ["clamped"])
        self.assertEqual(softcon.solve(**support.ball(2)).flag_words(1), [])

    def test_capacity(self):
        balls = support.ball(5)
        balls["pos"][:, 0] = -1e-3
        two = dict(  # the same ball twice, the second contact deeper
            balls, J=np.tile(balls["J"], (2, 1)), type=["contact_elliptic"] * 6, contact_dim=[3, 3],
            contact_friction=np.tile(balls["contact_friction"], (2, 1)), pos=np.tile(balls["pos"], (1, 2)),
        )  # fmt: skip
        two["pos"][:, 3] *= 2
        balls["pos"][:, 0] *= 2
        for kept in (dict(max_rows=5), dict(max_contacts=1)):
            result, alone = softcon.solve(**two, **kept), softcon.solve(**balls)
            np.testing.assert_array_equal(result.qacc, alone.qacc)
            self.assertTrue((result.flags == softcon.Flag.ROWS_DROPPED).all())
            self.assertEqual((result.rows_needed[0], result.contacts_needed[0]), (6, 2))
            self.assertEqual(list(result.efc_force.sizes), [3] * 5)
        self.assertEqual(softcon.solve(**two, max_rows=6).flags.max(), 0)

    def test_outlives_solver(self):
        with softcon.Context() as context, softcon.Batch(context, 3) as batch, softcon.Solver(context) as solver:
            batch.fill(**support.ball(3))
            r = solver.solve(batch)
            before = r.qacc.copy()
            batch.fill(**support.ball(3, seed=9))
            solver.solve(batch)
        np.testing.assert_array_equal(r.qacc, before)


class Mistakes(unittest.TestCase):
    def raises(self, words, **change):
        args = {**support.ball(4), **change}
        with self.assertRaises(ValueError) as caught:
            softcon.solve(**{k: v for k, v in args.items() if v is not None or k in change})
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_shapes(self):
        self.raises(["qfrc_smooth", "(4, 2)", "(4, 3)", "nv"], qfrc_smooth=np.zeros((4, 2)))
        self.raises(["qfrc_smooth", "5", "4", "pos"], pos=np.zeros((5, 3)))
        self.raises(["pos", "(4, 1)", "(4, 3)"], pos=np.zeros((4, 1)))
        self.raises(["J", "(3, 2)", "(3, 3)"], J=np.zeros((3, 2)))
        self.raises(["M", "(3, 4)", "(3, 3)"], M=np.zeros((3, 4)))
        self.raises(["M", "(3,)", "(nv, nv)"], M=np.ones(3))
        self.raises(["solref", "(4, 3, 3)", "(4, 3, 2)"], solref=np.zeros((4, 3, 3)))
        self.raises(["solref", "()"], solref=0.02)
        self.raises(["contact_friction", "(3,)", "(1, 5)"], contact_friction=[1, 1, 1])
        self.raises(["timestep", "(4, 1)"], timestep=np.zeros((4, 1)))
        listed = [np.eye(3)] * 3 + [np.zeros((2, 3))]
        self.raises(["type of environment 3", "(3,)", "(2,)"], J=listed, type=[[7] * 3] * 4)

    def test_kinds(self):
        self.raises(["pos", "complex"], pos=np.zeros((4, 3), complex))
        self.raises(["type", "float"], type=np.zeros(3))
        self.raises(["type", "wall", "contact_elliptic"], type=["wall"] * 3)
        self.raises(["contact_dim", "32 bits"], contact_dim=[2**40])
        self.raises(["J", "regular", "(nefc, nv)"], J=[[1, 2], [1]])

    def test_missing_and_double(self):
        self.raises(["qfrc_smooth and qacc_smooth"], qfrc_smooth=None)
        self.raises(["type"], type=None)
        self.raises(["pos"], pos=None)
        self.raises(["J"], J=None)
        self.raises(["M"], M=None)
        self.raises(["D", "pos"], D=1.0, aref=0.0)
        self.raises(["aref is missing"], D=1.0)

    def test_options(self):
        self.raises(["precision", "f16", "f64"], precision="f16")
        self.raises(["iterations"], iterations=2**40)
        self.raises(["tolerance"], tolerance="small")
        with self.assertRaises(TypeError):
            softcon.solve(**support.ball(1), solrev=1)
        with softcon.Context() as context:
            self.raises(["threads"], context=context, threads=2)
            with softcon.Batch(context, 1) as batch, self.assertRaisesRegex(TypeError, "solrev"):
                batch.fill(**support.ball(1), solrev=1)

    def test_what_the_library_refuses(self):
        for change, words in (
            (dict(contact_dim=[2]), "contact_dim"),
            (dict(contact_dim=None), "ncon is 0"),
            (dict(type=9), "efc_type"),
            (dict(tolerance=-1), "tolerance"),
            (dict(backend="abacus"), "abacus"),
            (dict(max_rows=-1), "max_rows"),
        ):
            with self.subTest(words), self.assertRaisesRegex(softcon.Error, words) as caught:
                softcon.solve(**{**support.ball(4), **change})
            self.assertIn(caught.exception.code, (softcon.Code.ARGUMENT, softcon.Code.DEVICE))


if __name__ == "__main__":
    unittest.main()
