"""Words and numbers of the library's enumerations, and the exception."""

import enum


class Code(enum.IntEnum):
    """What a call of the library returns (sc_code)."""

    OK = 0
    ARGUMENT = -1
    VALUE = -2
    MEMORY = -3
    UNSUPPORTED = -4
    DEVICE = -5
    FILE = -6
    INTERNAL = -7


class Type(enum.IntEnum):
    """Kind of a row (sc_type); the numbers are mjtConstraint's. Its word is the name in lower case."""

    EQUALITY = 0
    FRICTION_DOF = 1
    FRICTION_TENDON = 2
    LIMIT_JOINT = 3
    LIMIT_TENDON = 4
    CONTACT_FRICTIONLESS = 5
    CONTACT_PYRAMIDAL = 6
    CONTACT_ELLIPTIC = 7


class State(enum.IntEnum):
    """Zone of a row at the answer (sc_state); the numbers are mjtConstraintState's."""

    SATISFIED = 0
    QUADRATIC = 1
    LINEARNEG = 2
    LINEARPOS = 3
    CONE = 4


class Status(enum.IntEnum):
    """Verdict of an environment (sc_status). Its word is the name in lower case."""

    SOLVED = 0
    INACCURATE = 1
    ITERATION_LIMIT = 2
    STALLED = 3
    BAD_INPUT = 4
    NOT_FINITE = 5
    NOT_SPD = 6


class Flag(enum.IntFlag):
    """What was done to an environment's data or answer (sc_flag)."""

    REPAIRED = 1 << 0
    CLAMPED = 1 << 1
    ROWS_DROPPED = 1 << 2
    RETRIED_F64 = 1 << 3
    NOSLIP_APPLIED = 1 << 4


METHODS = {"newton": 0, "cg": 1, "pgs": 2, "direct": 3}
PRECISIONS = {"f64": 0, "f32": 1, "mixed": 2}
CONES = {"pyramidal": 0, "elliptic": 1}
JACOBIANS = {"dense": 0, "sparse": 1, "auto": 2}
TYPES = {t.name.lower(): int(t) for t in Type}


class Error(RuntimeError):
    """A call of the library failed. `code` is a Code; the text is the library's."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = Code(code)


def number(name, value, words):
    """The number of a word out of `words`; None and a number among them pass."""
    if value is None:
        return None
    if isinstance(value, str):
        if value in words:
            return words[value]
    elif isinstance(value, int) and not isinstance(value, bool) and value in words.values():
        return int(value)
    raise ValueError(f"{name} is {value!r}, not one of {', '.join(map(repr, words))}")
