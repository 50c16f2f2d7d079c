"""The structs and functions of softcon.h and softcon_mujoco.h for ctypes.

Field order and types are the headers'; python/tests/test_abi.py compares them with a compiled program. Pointers are
plain addresses (c_void_p), so that NumPy can make a table of many problems at once.
"""

from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p


def _fields(ctype, names):
    return [(name, ctype) for name in names.split()]


class RowInput(Structure):
    """sc_row_input"""

    _fields_ = (
        _fields(c_size_t, "size")
        + _fields(c_int, "type refsafe")
        + _fields(c_double, "pos margin vel timestep diagA curvature")
        + _fields(c_double * 2, "solref")
        + _fields(c_double * 5, "solimp")
    )


class RowOutput(Structure):
    """sc_row_output"""

    _fields_ = _fields(c_double, "K B d dp R D aref") + _fields(c_uint, "flags")


class Problem(Structure):
    """sc_problem"""

    _fields_ = (
        _fields(c_size_t, "size")
        + _fields(c_int, "nv nefc ncon refsafe")
        + _fields(c_double, "timestep impratio")
        + _fields(c_void_p, "M M_rownnz M_rowadr M_colind qfrc_smooth qacc_smooth qacc_warmstart")
        + _fields(c_void_p, "efc_type efc_id efc_J J_rownnz J_rowadr J_colind efc_frictionloss")
        + _fields(c_void_p, "efc_pos efc_margin efc_vel efc_solref efc_solimp efc_diagA efc_curvature efc_adhesion")
        + _fields(c_void_p, "efc_D efc_aref contact_dim contact_friction contact_solreffriction contact_mu")
    )


class ContextOptions(Structure):
    """sc_context_options"""

    _fields_ = (
        _fields(c_size_t, "size")
        + _fields(c_int, "threads")
        + _fields(c_char_p, "backend")
        + _fields(c_int, "device")
        + _fields(c_void_p, "stream")
    )


class Rows(Structure):
    """sc_rows"""

    _fields_ = (
        _fields(c_void_p, "K B d dp R diagA")
        + _fields(c_uint, "flags")
        + _fields(c_int, "bad")
        + _fields(c_char_p, "why")
        + _fields(c_int, "rows_needed contacts_needed")
    )


class SolverOptions(Structure):
    """sc_solver_options"""

    _fields_ = (
        _fields(c_size_t, "size")
        + _fields(c_int, "method precision iterations ls_iterations")
        + _fields(c_double, "tolerance ls_tolerance")
        + _fields(c_int, "warmstart retry noslip_iterations")
        + _fields(c_double, "noslip_tolerance")
    )


class Result(Structure):
    """sc_result"""

    _fields_ = (
        _fields(c_int, "nenv")
        + _fields(c_void_p, "nv_offset efc_offset qacc qfrc_constraint efc_force efc_state status flags iterations")
        + _fields(c_void_p, "gap gap_floor qacc_bound objective rows_needed contacts_needed")
    )


class Inverse(Structure):
    """sc_inverse"""

    _fields_ = _fields(c_size_t, "size") + _fields(c_void_p, "qacc efc_force efc_state qfrc_constraint qfrc_inverse fwdinv")


class Phases(Structure):
    """sc_phases"""

    _fields_ = _fields(c_double, "pack solve certificate unpack")


class ModelOptions(Structure):
    """sc_model_options"""

    _fields_ = _fields(c_size_t, "size") + _fields(c_int, "cone jacobian") + _fields(c_double, "impratio") + _fields(c_int, "rows solver_defaults")


class ModelInfo(Structure):
    """sc_model_info"""

    _fields_ = (
        _fields(c_int, "nq nv nu cone solver iterations ls_iterations noslip_iterations")
        + _fields(c_double, "tolerance ls_tolerance noslip_tolerance impratio timestep")
        + _fields(c_int, "warmstart")
        + _fields(c_char_p, "mujoco_version")
    )


class ModelTimes(Structure):
    """sc_model_times"""

    _fields_ = _fields(c_double, "kinematics rows")


Progress = CFUNCTYPE(c_int, c_void_p, c_int, c_int)  # sc_progress

STRUCTS = {
    struct.__doc__: struct
    for struct in (
        RowInput, RowOutput, Problem, ContextOptions, Rows, SolverOptions, Result, Inverse, Phases,
        ModelOptions, ModelInfo, ModelTimes,
    )
}  # fmt: skip

_OUT = POINTER(c_void_p)

# name: (result, arguments); c_void_p stands for handles and for addresses of arrays and problems
SOFTCON = {
    "sc_version": (c_char_p, []),
    "sc_error_text": (c_char_p, []),
    "sc_row_init": (None, [POINTER(RowInput)]),
    "sc_row_eval": (c_int, [POINTER(RowInput), POINTER(RowOutput)]),
    "sc_row_force": (c_double, [c_int] + [c_double] * 5),
    "sc_problem_init": (None, [POINTER(Problem)]),
    "sc_context_options_init": (None, [POINTER(ContextOptions)]),
    "sc_context_create": (c_int, [POINTER(ContextOptions), _OUT]),
    "sc_context_destroy": (None, [c_void_p]),
    "sc_context_backend": (c_char_p, [c_void_p]),
    "sc_context_threads": (c_int, [c_void_p]),
    "sc_backend_name": (c_char_p, [c_int]),
    "sc_batch_create": (c_int, [c_void_p, c_int, _OUT]),
    "sc_batch_destroy": (None, [c_void_p]),
    "sc_batch_capacity": (c_int, [c_void_p, c_int, c_int]),
    "sc_batch_set_bad": (c_int, [c_void_p, c_int, c_int, c_char_p]),
    "sc_batch_set": (c_int, [c_void_p, c_int, c_void_p]),
    "sc_batch_get": (c_int, [c_void_p, c_int, POINTER(Problem), POINTER(Rows)]),
    "sc_solver_options_init": (None, [POINTER(SolverOptions)]),
    "sc_solver_create": (c_int, [c_void_p, POINTER(SolverOptions), _OUT]),
    "sc_solver_destroy": (None, [c_void_p]),
    "sc_solver_pack": (c_int, [c_void_p, c_void_p]),
    "sc_solver_run": (c_int, [c_void_p]),
    "sc_solver_wait": (c_int, [c_void_p]),
    "sc_solver_result": (c_int, [c_void_p, POINTER(Result)]),
    "sc_inverse_init": (None, [POINTER(Inverse)]),
    "sc_solver_inverse": (c_int, [c_void_p, POINTER(Inverse)]),
    "sc_solver_phases": (c_int, [c_void_p, POINTER(Phases)]),
}

_STATES = [c_void_p, c_int, c_int, c_void_p]  # states, sig, nenv, batch
SOFTCON_MUJOCO = {
    "sc_model_options_init": (None, [POINTER(ModelOptions)]),
    "sc_model_load": (c_int, [c_char_p, POINTER(ModelOptions), _OUT]),
    "sc_model_wrap": (c_int, [c_void_p, POINTER(ModelOptions), _OUT]),
    "sc_model_destroy": (None, [c_void_p]),
    "sc_model_get": (c_int, [c_void_p, POINTER(ModelInfo)]),
    "sc_state_integration": (c_int, []),
    "sc_state_size": (c_int, [c_void_p, c_int, POINTER(c_size_t)]),
    "sc_states_make": (c_int, [c_void_p, c_void_p, c_int, c_uint64, c_int, c_void_p, Progress, c_void_p]),
    "sc_model_batch": (c_int, [c_void_p, c_void_p] + _STATES + [POINTER(ModelTimes), Progress, c_void_p]),
}

# Functions that write a struct's own size into its first member: the library's word on the layout.
INIT = {
    "sc_row_init": RowInput,
    "sc_problem_init": Problem,
    "sc_context_options_init": ContextOptions,
    "sc_solver_options_init": SolverOptions,
    "sc_inverse_init": Inverse,
    "sc_model_options_init": ModelOptions,
}
