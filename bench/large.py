#!/usr/bin/env python3
"""Large systems in one environment: softcon's Newton and conjugate gradients beside MuJoCo's, on the same state.

    bench/large.py [--scenes pile,heap,chain,crowd,free] [--threads N] [--repeat N] [--tolerance T] [--precision f64|f32] [--backend NAME]

Times are the smallest of some rounds, softcon and MuJoCo by turns: `sc_solver_run` (solve and certificate of what is packed)
against `mj_fwdConstraint` at the same tolerance and limit of iterations, once without islands, once with, from the same warm
start. Memory is what the process holds (resident) more after packing and a run than before.
"""

import argparse
import copy
import ctypes
import pathlib
import sys
import time
import warnings

import mujoco
import numpy as np

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "python"))
import softcon  # noqa: E402


def pile(count, columns, seed=0):
    """boxes dropped between four walls in layers of columns x columns, turned at random"""
    rng = np.random.default_rng(seed)
    far, middle = 0.125 * columns + 0.12, -0.125
    bodies = [
        f'<geom type="box" size="{far if side else 0.02} {0.02 if side else far} 3" pos="{middle + (0 if side else sign * far)} '
        f'{middle + (sign * far if side else 0)} 3"/>'
        for side in (0, 1)
        for sign in (-1, 1)
    ]
    for i in range(count):
        x, y, z = i % columns, i // columns % columns, i // columns**2
        place = np.array([x - columns / 2, y - columns / 2, z + 0.6]) * 0.25 + rng.uniform(-0.02, 0.02, 3)
        size = rng.uniform(0.07, 0.11, 3)
        bodies.append(
            f'<body pos="{place[0]:.4f} {place[1]:.4f} {place[2]:.4f}" euler="{rng.uniform(-20, 20):.1f} '
            f'{rng.uniform(-20, 20):.1f} {rng.uniform(0, 90):.1f}"><freejoint/>'
            f'<geom type="box" size="{size[0]:.4f} {size[1]:.4f} {size[2]:.4f}"/></body>'
        )
    return '<geom type="plane" size="20 20 .1"/>' + "".join(bodies)


def chain(links, cone):
    """hinges about y and z in turn, held at one end, falling on the floor; limits and dry friction in every joint"""
    spec = mujoco.MjSpec()
    spec.option.cone, spec.option.timestep = {"pyramidal": 0, "elliptic": 1}[cone], 0.004
    spec.memory = 1 << 30
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[500, 500, 0.1])
    body = spec.worldbody
    for i in range(links):
        body = body.add_body(pos=[0.1, 0, 0] if i else [0, 0, 0.05])
        body.add_joint(axis=[0, i % 2, 1 - i % 2], range=[-20, 20], limited=1, frictionloss=0.002, armature=1e-4)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0.1, 0, 0], size=[0.03, 0, 0], contype=0, conaffinity=int(i % 20 == 19)
        )
    return spec.compile()


def free(count):
    """bodies of every primitive kind falling on the floor"""
    kinds = ('sphere" size=".1', 'capsule" size=".07 .1', 'ellipsoid" size=".1 .08 .06', 'cylinder" size=".09 .07', 'box" size=".08 .09 .07')
    text, side = '<geom type="plane" size="20 20 .1"/>', 5
    for i in range(count):
        x, y, z = i % side, i // side % side, i // side**2
        text += f'<body pos="{0.24 * x + 0.01 * z:.3f} {0.24 * y + 0.01 * (i % 3):.3f} {0.15 + 0.24 * z:.3f}"><freejoint/>'
        text += f'<geom type="{kinds[i % 5]}" condim="{(3, 4, 6)[i % 3]}" friction=".8 .01 .001"/></body>'
    return text


def model_of(world, cone):
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="1G"/><option timestep=".004" cone="{cone}" jacobian="sparse"/><worldbody>{world}</worldbody></mujoco>'
    )


def crowd(count, cone):
    """humanoids side by side"""
    one, spec = str(TREE / "scenes" / "humanoid.xml"), mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20, 20, 0.1])
    spec.option.cone = {"pyramidal": 0, "elliptic": 1}[cone]
    spec.option.timestep = 0.004
    for i in range(count):
        child = mujoco.MjSpec.from_file(one)
        for geom in list(child.worldbody.geoms):
            child.delete(geom)
        frame = spec.worldbody.add_frame(pos=[0.7 * (i % 4), 0.7 * (i // 4), 0])
        frame.attach_body(child.worldbody.first_body(), f"h{i}_", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the humanoid's own options are not those of the whole
        return spec.compile()


SCENES = {
    "pile": lambda cone: (model_of(pile(300, 5), cone), 150),
    "heap": lambda cone: (model_of(pile(500, 6), cone), 130),
    "chain": lambda cone: (chain(1000, cone), 20),
    "crowd": lambda cone: (crowd(20, cone), 100),
    "free": lambda cone: (model_of(free(125), cone), 150),
}


def resident():
    """MiB"""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def state_of(model, steps):
    """after so many steps, with the acceleration of the step before as warm start"""
    data = mujoco.MjData(model)
    model.opt.solver, model.opt.tolerance, model.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1e-8, 100
    for _ in range(steps):
        mujoco.mj_step(model, data)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return state


class Theirs:
    def __init__(self, model, state, method, islands, args):
        model = copy.copy(model)
        self.model, self.data = model, mujoco.MjData(model)
        flag = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
        model.opt.disableflags = model.opt.disableflags & ~flag if islands else model.opt.disableflags | flag
        model.opt.solver = {"newton": mujoco.mjtSolver.mjSOL_NEWTON, "cg": mujoco.mjtSolver.mjSOL_CG}[method]
        model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = args.tolerance, args.iterations, 50
        model.opt.noslip_iterations = 0
        mujoco.mj_setState(model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, self.data)
        mujoco.mj_setState(model, self.data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
        self.start = self.data.qacc_warmstart.copy()

    def run(self):
        self.data.qacc_warmstart[:] = self.start
        began = time.perf_counter()
        mujoco.mj_fwdConstraint(self.model, self.data)
        return time.perf_counter() - began

    def iterations(self):
        return int(max(self.data.solver_niter))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="pile,heap,chain,crowd,free")
    parser.add_argument("--cones", default="pyramidal,elliptic")
    parser.add_argument("--methods", default="newton,cg")
    parser.add_argument("--precision", default="f64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--backend")
    args = parser.parse_args()
    ctypes.CDLL(None).mallopt(-3, 65536)  # M_MMAP_THRESHOLD: blocks are given back when freed, so that each scene's are counted
    print(
        f"{'scene':6} {'cone':9} {'nv':>5} {'rows':>6} {'method':6} {'status':15} {'steps':>5} {'bound':>8} {'pack s':>7} {'run s':>8} {'MiB':>6}"
        f"  {'MuJoCo s':>9} {'steps':>5} {'ratio':>6}  {'islands s':>9} {'ratio':>6}"
    )
    for scene in args.scenes.split(","):
        for cone in args.cones.split(","):
            model, steps = SCENES[scene](cone)
            state = state_of(model, steps)
            for method in args.methods.split(","):
                with softcon.Context(args.threads, args.backend) as context, softcon.Model(model) as own, softcon.Batch(context, 1) as batch:
                    batch.fill_model(own, state[None])
                    before = resident()
                    with softcon.Solver(
                        context, method=method, precision=args.precision, tolerance=args.tolerance, iterations=args.iterations
                    ) as solver:
                        began = time.perf_counter()
                        solver.pack(batch)
                        packing = time.perf_counter() - began
                        result = solver.run()
                        memory = resident() - before
                        whole, islands = (Theirs(model, state, method, i, args) for i in (False, True))
                        ours, theirs, apart = [], [], []
                        for _ in range(args.repeat):
                            began = time.perf_counter()
                            result = solver.run()
                            ours.append(time.perf_counter() - began)
                            theirs.append(whole.run())
                            apart.append(islands.run())
                rows = len(result.efc_force[0])
                us, them, part = min(ours), min(theirs), min(apart)
                print(
                    f"{scene:6} {cone:9} {model.nv:5} {rows:6} {method:6} {result.status[0]:15} {result.iterations[0]:5} {result.qacc_bound[0]:8.1e} "
                    f"{packing:7.3f} {us:8.4f} {memory:6.0f}  {them:9.4f} {whole.iterations():5} {them / us:5.2f}x  {part:9.4f} {part / us:5.2f}x",
                    flush=True,
                )


if __name__ == "__main__":
    main()
