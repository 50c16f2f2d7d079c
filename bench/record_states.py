#!/usr/bin/env python3
"""Record states of real robots in contact, for `softcon solve --states` and `softcon bench`.

    record_states.py OUT [--models ball ant ...] [--n 512] [--cones pyramidal elliptic]

Writes OUT/<model>-<cone>.h5 (dataset /states, N x nstate float64, attribute sig), the XML of the
inline models, and OUT/manifest.json (model -> xml path, own settings, cone -> states file). Needs mujoco, numpy, h5py, and for the
robots the asset files inside the wheels of dm_control, gymnasium, gymnasium-robotics and mujoco-warp (install those
four with --no-deps: only their files are read). Rollouts under smooth random controls from perturbed poses; states
without constraints are dropped; the warm start in a state is that of real stepping.

The states are recorded under one set of solver settings, not under each model's own: Newton, 100 iterations, tolerance 1e-8,
no noslip iterations, the cone asked for, and Euler where the model asks for RK4. manifest.json has for each model its own
settings under "own" (solver, iterations, tolerance, noslip_iterations, cone, integrator, jacobian, as names or numbers).
"""
import argparse, importlib.util, json, pathlib
import h5py, mujoco, numpy as np

BALL = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1" friction="0.7 0.01 0.001"/>
<body pos="0 0 .11"><freejoint/><geom type="sphere" size=".1" mass="1" condim="4" friction="0.7 0.01 0.001"/></body>
</worldbody></mujoco>"""
SLIDER = """<mujoco><option timestep="0.002"/><worldbody>
<body name="a" pos="0 0 1"><joint name="s" type="slide" axis="0 0 1" range="-.3 .3" limited="true" frictionloss=".5"/>
 <geom type="box" size=".1 .1 .1" mass="1"/></body>
<body name="b" pos=".3 0 1"><freejoint/><geom type="box" size=".1 .08 .06" mass=".5" contype="0" conaffinity="0"/></body>
</worldbody><equality><weld body1="a" body2="b"/></equality>
<actuator><motor joint="s" gear="40" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"""
BOXES = """<mujoco><option timestep="0.002"/><default><geom friction=".6"/></default><worldbody><geom type="plane" size="5 5 .1"/>
""" + "".join(f'<body pos="{0.01*i} {-0.01*i} {0.1+0.2*i}"><freejoint/><geom type="box" size=".15 .15 .1" mass="{1+0.3*i}"/></body>\n'
              for i in range(4)) + "</worldbody></mujoco>"
# name: (source, or package and path in it; how far to perturb the start, how long to roll)
MODELS = {
    'ball': (BALL, dict(T=400, free=.15, vel=1.5)),
    'slider': (SLIDER, dict(T=400, free=.02, vel=.5, amp=1.)),
    'boxes4': (BOXES, dict(T=400, free=.02, rot=.15, vel=.3)),
    'humanoid': (('mujoco_warp', 'test_data/humanoid/humanoid.xml'), dict(T=400, free=.05, rot=.4, jnt=.2, vel=.5, keys=True)),
    'ant': (('gymnasium', 'envs/mujoco/assets/ant.xml'), dict(T=200, free=.05, rot=.3, jnt=.3, vel=.5, z=-.15, ampk=.25)),
    'quadruped': (('dm_control', 'suite/quadruped.xml'), dict(T=400, free=.05, rot=.3, jnt=.2, vel=.5)),
    'hand': (('gymnasium_robotics', 'envs/assets/hand/manipulate_block.xml'), dict(T=500, free=.005, rot=.5, jnt=.1, vel=.1)),
    'aloha_pot': (('mujoco_warp', 'test_data/aloha_pot/scene.xml'), dict(T=500, free=.01, jnt=.1, vel=.2, hold=True)),
    'humanoid_cmu': (('dm_control', 'suite/humanoid_CMU.xml'), dict(T=800, free=.05, rot=.4, jnt=.15, vel=.3, z=-.1)),
}
SIG = mujoco.mjtState.mjSTATE_INTEGRATION
PER_ROLLOUT = 16


def model_path(name, out):
    source = MODELS[name][0]
    if isinstance(source, str):
        path = out / f'{name}.xml'
        path.write_text(source)
        return path
    package, inside = source
    spec = importlib.util.find_spec(package)          # not imported: only its files are needed
    if spec is None:
        raise SystemExit(f'{name}: install the package {package.replace("_", "-")} (with --no-deps)')
    return pathlib.Path(list(spec.submodule_search_locations)[0]) / inside


def own_settings(m):
    """The model's own solver settings, before recording overrides them."""
    o = m.opt
    name = lambda enum, value, prefix: enum(value).name.replace(prefix, '').lower()
    return dict(solver=name(mujoco.mjtSolver, o.solver, 'mjSOL_'), iterations=int(o.iterations), tolerance=float(o.tolerance),
                noslip_iterations=int(o.noslip_iterations), cone=name(mujoco.mjtCone, o.cone, 'mjCONE_'),
                integrator=name(mujoco.mjtIntegrator, o.integrator, 'mjINT_'), jacobian=name(mujoco.mjtJacobian, o.jacobian, 'mjJAC_'))


def perturb(m, d, o, rng):
    dq = np.zeros(m.nv)
    for j in range(m.njnt):
        a, t = m.jnt_dofadr[j], m.jnt_type[j]
        if t == 0:
            dq[a:a+3] = rng.normal(0, o.get('free', 0), 3)
            dq[a+2] = abs(dq[a+2]) + o.get('z', 0) * rng.random()
            dq[a+3:a+6] = rng.normal(0, o.get('rot', 0), 3)
        elif t == 1:
            dq[a:a+3] = rng.normal(0, o.get('jnt', 0), 3)
        else:
            spread = o.get('jnt', 0)
            if m.jnt_limited[j]:
                spread *= m.jnt_range[j, 1] - m.jnt_range[j, 0]
            elif t == 2:
                spread = 0.
            dq[a] = rng.normal(0, spread)
    mujoco.mj_integratePos(m, d.qpos, dq, 1.0)
    for j in range(m.njnt):
        if m.jnt_type[j] > 1 and m.jnt_limited[j]:
            q = m.jnt_qposadr[j]
            d.qpos[q] = np.clip(d.qpos[q], *m.jnt_range[j])
    d.qvel[:] = rng.normal(0, 1, m.nv) * o.get('vel', 0)


def rollout(m, o, rng):
    """Yield (step, state) before each step."""
    d = mujoco.MjData(m)
    mujoco.mj_resetData(m, d)
    base = None
    if m.nkey and (o.get('keys') or o.get('hold')):
        key = int(rng.integers(-1, m.nkey))
        if key >= 0 or o.get('hold'):
            mujoco.mj_resetDataKeyframe(m, d, max(key, 0))
        base = d.ctrl.copy() if o.get('hold') else None
    perturb(m, d, o, rng)
    lo, hi = m.actuator_ctrlrange[:, 0], m.actuator_ctrlrange[:, 1]
    limited = m.actuator_ctrllimited.astype(bool)
    mid, half = np.where(limited, (lo + hi) / 2, 0), np.where(limited, (hi - lo) / 2, .5)
    amp = o.get('amp', rng.uniform(.2, 1.) * o.get('ampk', 1.))
    tau = rng.uniform(.05, .5)
    x, y = np.zeros(m.nu), np.zeros(m.nu)
    for t in range(o['T']):
        a = min(1., m.opt.timestep / tau)
        x += -a * x + np.sqrt(2 * a) * rng.normal(0, 1, m.nu)
        y += 2 * a * (x - y)
        u = (mid if base is None else base) + amp * (1. if base is None else .3) * half * y
        d.ctrl[:] = np.where(limited, np.clip(u, lo, hi), u)
        state = np.zeros(mujoco.mj_stateSize(m, SIG))
        mujoco.mj_getState(m, d, state, SIG)
        yield t, state
        mujoco.mj_step(m, d)
        if not np.isfinite(d.qpos).all() or np.abs(d.qvel).max() > 300:
            return


def record(m, o, n, seed):
    rng = np.random.default_rng(seed)
    out, probe = [], mujoco.MjData(m)
    for _ in range(40 * max(1, n // PER_ROLLOUT)):
        if len(out) >= n:
            break
        pick = set(rng.choice(np.arange(5, o['T']), size=2 * PER_ROLLOUT, replace=False).tolist())
        found = [s for t, s in rollout(m, o, rng) if t in pick]
        rng.shuffle(found)
        kept = 0
        for s in found:
            if kept >= PER_ROLLOUT or len(out) >= n:
                break
            mujoco.mj_setState(m, probe, s, SIG)
            mujoco.mj_forward(m, probe)
            if probe.nefc and np.abs(probe.qacc).max() < 1e5:
                out.append(s)
                kept += 1
    return np.array(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('out', type=pathlib.Path)
    ap.add_argument('--models', nargs='+', default=list(MODELS), choices=list(MODELS))
    ap.add_argument('--cones', nargs='+', default=['pyramidal', 'elliptic'], choices=['pyramidal', 'elliptic'])
    ap.add_argument('--n', type=int, default=512)
    a = ap.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    manifest = {}
    for name in a.models:
        path, o = model_path(name, a.out), MODELS[name][1]
        manifest[name] = dict(xml=str(path))
        for cone in a.cones:
            m = mujoco.MjModel.from_xml_path(str(path))
            manifest[name]['own'] = own_settings(m)
            m.opt.cone = dict(pyramidal=0, elliptic=1)[cone]
            m.opt.solver, m.opt.iterations, m.opt.tolerance, m.opt.noslip_iterations = 2, 100, 1e-8, 0
            if m.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
                m.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
            states = record(m, o, a.n, seed=12345 + m.opt.cone)
            file = a.out / f'{name}-{cone}.h5'
            with h5py.File(file, 'w') as f:
                ds = f.create_dataset('states', data=states)
                ds.attrs['sig'] = int(SIG)
            manifest[name][cone] = file.name
            print(f'{name:14s} {cone:10s} {len(states)} states', flush=True)
    (a.out / 'manifest.json').write_text(json.dumps(manifest, indent=1) + '\n')


if __name__ == '__main__':
    main()
