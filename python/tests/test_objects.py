import gc
import os
import pathlib
import threading
import unittest

import numpy as np
import support

import softcon


def resident():
    """Memory of this process in bytes (Linux)."""
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


class Lifetime(unittest.TestCase):
    def test_repeated_solves(self):
        args = support.ball(30)
        once = softcon.solve(**args)
        with softcon.Context(2) as context, softcon.Batch(context, 30) as batch, softcon.Solver(context) as solver:
            batch.fill(**args)
            solver.pack(batch)
            for _ in range(3):
                np.testing.assert_array_equal(solver.run().qacc, once.qacc)
            smaller = softcon.Batch(context, 2)
            smaller.fill(**support.ball(2, seed=5))
            self.assertEqual(solver.solve(smaller).qacc.shape, (2, 3))
            np.testing.assert_array_equal(solver.solve(batch).qacc, once.qacc)
            np.testing.assert_array_equal(softcon.solve(**args, context=context).qacc, once.qacc)
        self.assertTrue(smaller.closed and batch.closed and solver.closed and context.closed)

    def test_closed(self):
        context = softcon.Context(1)
        batch, solver = softcon.Batch(context, 1), softcon.Solver(context)
        context.close()
        context.close()
        batch.close()
        for use in (lambda: batch.get(0), solver.run, lambda: context.threads, lambda: softcon.Batch(context, 1)):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_collected_in_any_order(self):
        """a cycle through all of them: the collector may finalize them in any order"""
        for order in ("context", "batch", "solver"), ("solver", "batch", "context"):
            holder = {"context": softcon.Context(2)}
            made = {"context": holder["context"], "batch": softcon.Batch(holder["context"], 5)}
            made["solver"] = softcon.Solver(holder["context"])
            for name in order:
                made[name].cycle = (holder, made)
            del holder, made
            gc.collect()

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps freed memory")
    @unittest.skipUnless(pathlib.Path("/proc/self/statm").exists(), "no /proc")
    def test_no_leak(self):
        args = support.ball(200)

        def work():
            for _ in range(40):
                softcon.solve(**args, threads=1)
                try:
                    softcon.solve(**{**args, "contact_dim": [5]}, threads=1)
                except softcon.Error:
                    pass
            gc.collect()

        work()
        before = resident()
        for _ in range(4):
            work()
        self.assertLess(resident() - before, 2 << 20)

    def test_threads_have_their_own_errors(self):
        texts = {}

        def fail(backend):
            for _ in range(50):
                try:
                    softcon.Context(backend=backend)
                except softcon.Error as error:
                    texts.setdefault(backend, set()).add(backend in str(error))

        threads = [threading.Thread(target=fail, args=(f"backend{i}",)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(texts, {f"backend{i}": {True} for i in range(4)})


class Contexts(unittest.TestCase):
    def test_backends(self):
        self.assertIn("reference", softcon.backends())
        with softcon.Context(1, "reference") as context:
            self.assertEqual((context.backend, context.threads), ("reference", 1))


class Batches(unittest.TestCase):
    def test_set_one_by_one(self):
        args = support.ball(3)
        whole = softcon.solve(**args)
        with softcon.Context(1) as context, softcon.Batch(context, 3) as batch, softcon.Solver(context) as solver:
            for i in range(2):
                one = {**args, "qfrc_smooth": args["qfrc_smooth"][i], "pos": args["pos"][i]}
                batch.set(i, **one)
            r = solver.solve(batch)
            self.assertEqual([len(a) for a in r.qacc], [3, 3, 0])
            np.testing.assert_array_equal(r.qacc.flat, whole.qacc[:2].ravel())
            batch.set(0, np.eye(1) * np.nan, qfrc_smooth=0)
            self.assertEqual(solver.solve(batch).status.tolist(), ["bad_input", "solved", "solved"])
            self.assertIn("M row 0", batch.errors[0])
            batch.set(0, np.eye(1), qfrc_smooth=0)
            self.assertEqual(batch.errors, {})
            with self.assertRaises(IndexError):
                batch.set(3, np.eye(1), qfrc_smooth=0)
            with self.assertRaisesRegex(ValueError, "2 environments, expected 1"):
                batch.set(0, np.eye(1), qfrc_smooth=[[1], [2]])
            with self.assertRaisesRegex(ValueError, "2 environments, expected 3"):
                batch.fill(**support.ball(2))

    def test_get(self):
        args = support.ball(2)
        with softcon.Context(1) as context, softcon.Batch(context, 2) as batch:
            batch.fill(**args, solref=(0.03, 1), vel=0.1)
            got = batch.get(1)
        np.testing.assert_array_equal(got["M"], args["M"])
        np.testing.assert_array_equal(got["J"], args["J"])
        np.testing.assert_array_equal(got["qfrc_smooth"], args["qfrc_smooth"][1])
        self.assertEqual((got["nv"], got["nefc"], got["ncon"], got["bad"]), (3, 3, 1, False))
        self.assertIsNone(got["warmstart"])
        row = softcon.row(pos=args["pos"][1, 0], vel=0.1, solref=(0.03, 1), diagA=0.5)
        for name in ("K", "B", "d", "dp", "D", "aref"):
            self.assertAlmostEqual(got[name][0], getattr(row, name), delta=1e-9 * abs(getattr(row, name)), msg=name)

    def test_empty(self):
        with softcon.Context(1) as context, softcon.Batch(context, 2) as batch:
            got = batch.get(1)
        self.assertEqual((got["nv"], got["M"].shape, got["J"].shape), (0, (0, 0), (0, 0)))
        with self.assertRaisesRegex(ValueError, "nenv"), softcon.Context(1) as context:
            softcon.Batch(context, -1)


if __name__ == "__main__":
    unittest.main()
