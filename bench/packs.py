#!/usr/bin/env python3
"""What packs cost beyond their environments' own work, counted in operations.

    .venv/bin/python bench/packs.py DIR [PROGRAM]

DIR: what bench/record_states.py wrote; PROGRAM: default build/softcon. A pack does the union of its environments' patterns, as
often as its slowest needs. For every model and cone, for packs of 8 in double and of 16 in float, the operations of Newton's
method over those of the environments one by one: of the unions alone, of waiting alone, and of both. Environments are put in the
order of rows and patterns, much as the library does it; operations are counted tile by tile, 4 by 4.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import mujoco
import numpy as np

OUTSIDE = 0.7  # start, gradient and line search, in iterations


def members(bits):
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def patterns(model, data, state, sig):
    """the rows' sets of dof blocks, as bits, and how many rows are in each part of a pack"""
    mujoco.mj_setState(model, data, state, sig)
    mujoco.mj_forward(model, data)
    n, nv = data.nefc, model.nv
    J = np.zeros((n, nv))
    if n and mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(J, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    elif n:
        J = np.array(data.efc_J).reshape(n, nv)
    part = np.select([data.efc_type[:n] == 0, np.isin(data.efc_type[:n], (1, 2)), data.efc_type[:n] == 7], [0, 1, 3], 2)
    blocks = [sum(1 << k for k in {(nv - 1 - int(j)) // 4 for j in np.nonzero(row)[0]}) for row in J]
    return [(int(p), b) for p, b in zip(part, blocks)]


def columns_of_M(model, data):
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    cols = [1 << j for j in range((model.nv + 3) // 4)]
    for i, j in zip(*np.nonzero(full[::-1, ::-1])):
        if i // 4 >= j // 4:
            cols[int(j) // 4] |= 1 << int(i) // 4
    return cols


def operations(group, mcols):
    """of one iteration of a pack of these environments"""
    slots = {}
    for rows in group:
        seen = [0] * 4
        for part, blocks in rows:
            slots.setdefault((part, seen[part]), set()).add(blocks)
            seen[part] += 1
    cols, terms, touched = list(mcols), 0, 0
    for sets in slots.values():
        pairs, union = set(), 0
        for s in sets:
            union |= s
            pairs |= {(x, y) for x in members(s) for y in members(s) if y <= x}
            for j in members(s):
                cols[j] |= s >> j << j
        terms, touched = terms + len(pairs), touched + len(members(union))
    products, tiles = 0, 0
    for j, column in enumerate(cols):
        below = members(column >> (j + 1) << (j + 1))
        products, tiles = products + len(below) * (len(below) + 1) // 2, tiles + 1 + len(below)
        if below:
            cols[below[0]] |= column >> below[0] << below[0]
    return 64 * products + 61 * tiles + 17 * terms + 16 * touched + 14 * len(slots) + 32 * sum(map(lambda c: len(members(c)), mcols))


def iterations(program, xml, states, cone, precision):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "r.h5"
        words = [program, "solve", xml, "--states", states, "--cone", cone, "--precision", precision, "--quiet", "--out", out]
        subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, check=False)
        with h5py.File(out) as f:
            return f["iterations"][:] + OUTSIDE


def measure(program, folder, entry, cone):
    model = mujoco.MjModel.from_xml_path(entry["xml"])
    model.opt.cone = cone == "elliptic"
    data, states = mujoco.MjData(model), folder / entry[cone]
    with h5py.File(states) as f:
        rows = [patterns(model, data, s, int(f["states"].attrs["sig"])) for s in f["states"][:]]
    mcols = columns_of_M(model, data)
    own = np.array([operations([r], mcols) for r in rows])
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i]), rows[i]))
    for precision, lanes in (("f64", 8), ("f32", 16)):
        it = iterations(program, entry["xml"], states, cone, precision)
        packs = [order[i : i + lanes] for i in range(0, len(order), lanes)]
        cost = [operations([rows[i] for i in p], mcols) for p in packs]
        alone = float((own * it).sum())
        union = sum(c * it[p].mean() for c, p in zip(cost, packs)) * lanes / alone
        both = sum(c * it[p].max() for c, p in zip(cost, packs)) * lanes / alone
        yield precision, union, both



def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "build/softcon"
    logs = {}
    for name, entry in json.loads((folder / "manifest.json").read_text()).items():
        for cone in ("pyramidal", "elliptic"):
            for precision, union, both in measure(program, folder, entry, cone):
                print(f"{name:14} {cone:10} {precision}  unions {union:.2f}  waiting {both / union:.2f}  together {both:.2f}", flush=True)
                logs.setdefault(precision, []).append(np.log([union, both / union, both]))
    for precision, values in logs.items():
        print("geometric mean", precision, np.exp(np.mean(values, axis=0)).round(2))


if __name__ == "__main__":
    main()
