import math
import unittest

import support  # noqa: F401

import softcon


class Row(unittest.TestCase):
    def test_default_row(self):
        """pos 0: d = d0; K and B of (0.02, 1) at dmax 0.95"""
        r = softcon.row()
        self.assertAlmostEqual(r.d, 0.9)
        self.assertAlmostEqual(r.K, 1 / (0.95**2 * 0.02**2))
        self.assertAlmostEqual(r.B, 2 / (0.95 * 0.02))
        self.assertAlmostEqual(r.R, 0.1 / 0.9)
        self.assertAlmostEqual(r.D, 9)
        self.assertEqual((r.aref, r.flags), (0, 0))

    def test_direct_form(self):
        solimp = (0.5, 0.5, 0.1, 0.5, 1)
        r = softcon.row(type="limit_joint", pos=-0.1, vel=2, solref=(-100, -10), solimp=solimp, diagA=2)
        self.assertAlmostEqual(r.aref, -r.B * 2 + r.K * 0.5 * 0.1)
        self.assertAlmostEqual(r.R, 2)

    def test_flags(self):
        self.assertEqual(softcon.row(solref=(0.001, 1)).flags, softcon.Flag.CLAMPED)
        self.assertEqual(softcon.row(solref=(0.02, -1)).flags, softcon.Flag.REPAIRED)
        self.assertEqual(softcon.row(solref=(0.001, 1), refsafe=False).flags, softcon.Flag(0))

    def test_dry_friction_has_no_spring(self):
        self.assertEqual(softcon.row(type=softcon.Type.FRICTION_DOF, pos=-1).K, 0)

    def test_invalid(self):
        with self.assertRaises(softcon.Error) as caught:
            softcon.row(pos=math.nan)
        self.assertEqual(caught.exception.code, softcon.Code.VALUE)
        self.assertIn("pos", str(caught.exception))
        for bad in (dict(solref=(1,)), dict(solimp=3), dict(pos="deep"), dict(type="wall"), dict(type=17)):
            with self.subTest(bad), self.assertRaisesRegex(ValueError, next(iter(bad))):
                softcon.row(**bad)

    def test_force(self):
        self.assertAlmostEqual(softcon.row_force("equality", 1, 1, 2, 6), -2)
        self.assertEqual(softcon.row_force("limit_joint", 1, 1, 2, 6), 0)
        self.assertAlmostEqual(softcon.row_force(softcon.Type.FRICTION_DOF, 1, 1, 2, 6, 0.5), -0.5)


if __name__ == "__main__":
    unittest.main()
