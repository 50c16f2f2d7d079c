"""Models of MuJoCo, through libsoftcon_mujoco."""

import ctypes
import functools
import os
import pathlib
import re
import tempfile

import numpy as np

from . import _abi
from ._interrupt import Progress
from ._library import check, create, error, initialised, lib, mujoco_lib
from ._objects import Handle
from ._words import CONES, JACOBIANS, Code, Error, number


@functools.lru_cache(maxsize=None)
def mujoco_version():
    """Version of the MuJoCo that libsoftcon_mujoco uses, such as "4.0.0"."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "empty.xml"
        path.write_text("<mujoco/>")
        with Model(path) as model:
            return model.info["mujoco_version"]


def _check_same_mujoco():
    """An MjModel is read by the bridge's MuJoCo: its layout must be that version's."""
    import mujoco

    theirs, ours = mujoco.mj_versionString(), mujoco_version()
    if theirs != ours:
        raise Error(
            Code.UNSUPPORTED,
            f"the MjModel is of MuJoCo {theirs}, libsoftcon_mujoco uses {ours}: save it with mujoco.mj_saveLastXML and "
            "pass the path, or use the same version in both",
        )


class Model(Handle):
    """A compiled model: an MJCF or .mjb file's, or a copy of a mujoco.MjModel.

    cone ("pyramidal", "elliptic"), jacobian ("dense", "sparse", "auto"), impratio: instead of the model's own.
    """

    def __init__(self, source, *, cone=None, jacobian=None, impratio=None):
        library = mujoco_lib()
        options = initialised(
            library.sc_model_options_init,
            _abi.ModelOptions,
            cone=number("cone", cone, CONES),
            jacobian=number("jacobian", jacobian, JACOBIANS),
            impratio=impratio,
        )
        if isinstance(source, (str, os.PathLike)):
            address = create(library.sc_model_load, os.fsencode(source), ctypes.byref(options))
        elif hasattr(source, "_address"):
            _check_same_mujoco()
            address = create(library.sc_model_wrap, source._address, ctypes.byref(options))
        else:
            raise TypeError(f"the model is a {type(source).__name__}, not a path or a mujoco.MjModel")
        super().__init__(library.sc_model_destroy, address)

    @property
    def info(self):
        """dict: nq, nv, nu, cone, solver, iterations, ls_iterations, noslip_iterations, tolerance, ls_tolerance,
        noslip_tolerance, impratio, timestep (s), warmstart, mujoco_version"""
        raw = _abi.ModelInfo()
        check(mujoco_lib().sc_model_get(self.address, ctypes.byref(raw)))
        info = {name: getattr(raw, name) for name, _ in raw._fields_}
        info["cone"] = {v: k for k, v in CONES.items()}[raw.cone]
        info["solver"] = ("pgs", "cg", "newton")[raw.solver]
        info["warmstart"] = bool(raw.warmstart)
        info["mujoco_version"] = raw.mujoco_version.decode()
        return info

    def state_size(self, sig=None):
        """Numbers in a state of signature sig (bits of mujoco.mjtState); None: mjSTATE_INTEGRATION."""
        size = ctypes.c_size_t()
        check(mujoco_lib().sc_state_size(self.address, _signature(sig), ctypes.byref(size)))
        return size.value

    def solver_options(self, **given):
        """Arguments for Solver: the model's own settings where `given` has None."""
        info = self.info
        own = {name: info[name] for name in ("iterations", "ls_iterations", "tolerance", "warmstart")}
        own["method"] = info["solver"]
        own["noslip_iterations"] = max(0, info["noslip_iterations"])
        own["noslip_tolerance"] = max(0, info["noslip_tolerance"])
        own["ls_iterations"] = max(1, own["ls_iterations"])
        if 0 < info["ls_tolerance"] < 1:
            own["ls_tolerance"] = info["ls_tolerance"]
        return {**own, **{name: value for name, value in given.items() if value is not None}}

    def make_states(self, context, nenv, *, seed=0, warmup=200, progress=None):
        """(nenv, nstate) states of mjSTATE_INTEGRATION, made by stepping under smooth random controls.

        State i depends on model, seed, warmup (steps) and i alone.
        """
        states = np.zeros((nenv, self.state_size()))
        with Progress(progress) as p:
            code = mujoco_lib().sc_states_make(
                context.address, self.address, nenv, seed, warmup, states.ctypes.data, p.callback, None
            )
        check(code)
        return states

    def _fill(self, batch, states, sig, progress):
        """Batch.fill_model"""
        states = self.check_states("Batch.fill_model", states, sig)
        if len(states) != batch.nenv:
            raise ValueError(f"Batch.fill_model: states has {len(states)} environments, expected {batch.nenv}")
        times = _abi.ModelTimes()
        batch.errors.clear()
        batch._sizes = {}
        with Progress(progress) as p:
            code = mujoco_lib().sc_model_batch(
                batch.context.address, self.address, states.ctypes.data, _signature(sig), len(states), batch.address,
                ctypes.byref(times), p.callback, None,
            )  # fmt: skip
        if code == Code.VALUE:
            text = str(error(code))
            env = re.search(r"environment (\d+)", text)
            batch.errors[int(env[1]) if env else 0] = text
        else:
            check(code)
        batch._sizes = {"nv": self.info["nv"]}
        return {name: getattr(times, name) for name, _ in times._fields_}

    def check_states(self, call, states, sig=None):
        """states as an (N, nstate) array of double; (nstate,) is one environment."""
        try:
            states = np.asarray(states, dtype=np.float64, order="C")
        except (TypeError, ValueError) as why:
            raise ValueError(f"{call}: states is not an array of numbers: {why}") from None
        size = self.state_size(sig)
        if states.ndim == 1:
            states = states[None]
        if states.ndim != 2 or states.shape[1] != size:
            raise ValueError(f"{call}: states has shape {states.shape}, expected (N, {size})")
        return np.ascontiguousarray(states)


def _signature(sig):
    return -1 if sig is None else int(sig)
