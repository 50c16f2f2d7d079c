#!/usr/bin/env python3
"""mujoco_warp's constraint solver on the states of scripts/gpu-check, in its own precision (float).

    mujoco_warp_solve.py DIR [--most N] [--seconds S]

DIR holds SCENE.mjb and SCENE.states as gpu_inputs wrote them. Prints lines in the columns of `bench_gpu time`:
solver, scene, states, precision, environments, ns per environment. Timed is mujoco_warp.solve alone, from the recorded warm start,
the stages before it done; on a GPU captured in a CUDA graph and replayed. Median of five rounds.
"""
import argparse
import pathlib
import statistics
import sys
import time

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp

SIZES = (1, 64, 1024, 4096, 8192, 16384, 65536)
FIELDS = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")


def read_states(path):
    header = np.fromfile(path, dtype=np.int32, count=3)
    n, size, sig = (int(x) for x in header)
    return np.fromfile(path, dtype=np.float64, offset=header.nbytes).reshape(n, size), sig


def fields_of(model, states, sig):
    """{field: one row a state}, and the most rows and contacts of any of them"""
    data = mujoco.MjData(model)
    rows, most_rows, most_contacts = {name: [] for name in FIELDS}, 1, 1
    for state in states:
        mujoco.mj_setState(model, data, state, sig)
        for name in FIELDS:
            rows[name].append(np.array(getattr(data, name)))
        mujoco.mj_forward(model, data)
        most_rows, most_contacts = max(most_rows, data.nefc), max(most_contacts, data.ncon)
    return {name: np.array(values) for name, values in rows.items()}, most_rows, most_contacts


def fill(data, fields, nworld):
    for name, values in fields.items():
        array = getattr(data, name)
        if not values.size:
            continue
        many = values[np.arange(nworld) % len(values)]
        array.assign(many.reshape(nworld, *values.shape[1:]).astype(np.float32))


def replayed(work):
    """work, captured once where the device can"""
    if not wp.get_device().is_cuda:
        return work
    with wp.ScopedCapture() as capture:
        work()
    return lambda: wp.capture_launch(capture.graph)


def ns_of_a_solve(model, fields, rows, contacts, nworld):
    m = mjw.put_model(model)
    # room to spare: its collisions are not bit for bit MuJoCo's
    d = mjw.make_data(model, nworld=nworld, nconmax=2 * contacts + 8, njmax=2 * rows + 16)
    fill(d, fields, nworld)
    mjw.forward(m, d)
    fill(d, fields, nworld)
    solve = replayed(lambda: mjw.solve(m, d))
    repeat = 20 if nworld < 1024 and wp.get_device().is_cuda else 3
    rounds = []
    for _ in range(6): # the first is not counted
        wp.synchronize()
        begin = time.perf_counter()
        for _ in range(repeat):
            solve()
        wp.synchronize()
        rounds.append((time.perf_counter() - begin) / repeat)
    if not np.isfinite(d.qacc.numpy()).all():
        raise ValueError("an answer is not finite")
    return 1e9 * statistics.median(rounds[1:]) / nworld


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="environments")
    parser.add_argument("--seconds", type=float, default=100, help="no new measurement is begun after these")
    args = parser.parse_args()
    models = sorted(args.folder.glob("*.mjb"))
    if not models:
        parser.error(f"{args.folder} has no *.mjb")
    until = time.monotonic() + args.seconds
    for path in models:
        model = mujoco.MjModel.from_binary_path(str(path))
        fields, rows, contacts = fields_of(model, *read_states(path.with_suffix(".states")))
        for nworld in (n for n in SIZES if n <= args.most):
            if time.monotonic() > until:
                print(f"mujoco_warp_solve.py: {path.stem} {nworld} and what follows: no time is left", file=sys.stderr)
                return 0
            ns = ns_of_a_solve(model, fields, rows, contacts, nworld)
            print("mujoco_warp", path.stem, "recorded", "f32", nworld, f"{ns:.6g}", sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
