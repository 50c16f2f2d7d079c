#!/usr/bin/env python3
"""What changed between two runs of `softcon bench --json`.

    compare.py OLD.jsonl NEW.jsonl [--noise 0.1]

Compares ratios to MuJoCo, which travel between machines better than times do: of every scene, cone and precision that both
runs have, the speed-up and the speed-up with packing; and of whole-step and growth lines theirs. A change counts when it is
larger than the noise asked for and the quartiles of the two runs do not overlap, where they are there. An error that grew
tenfold, and environments that are no longer solved, count always. Lines that only one run has are named.

Exit status: 0 nothing got worse, 1 something did, 2 wrong usage, 3 a file cannot be read.
"""
import argparse
import json
import math
import sys

RATIOS = ("speedup", "speedup_packed", "gain")
ERROR_FLOOR = 1e-9  # a smaller error is as good as none
KEY = ("curve", "scene", "cone", "precision", "step", "envs", "threads")


def read(path):
    """{key: line} of the lines that have a scene"""
    lines = {}
    try:
        with open(path, encoding="utf8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                line = json.loads(text)
                if "scene" in line:
                    lines[key_of(line)] = line
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(fail(f"{path}: {error}"))
    except (ValueError, TypeError) as error:
        sys.exit(fail(f"{path}:{number}: not a JSON object: {error}"))
    if not lines:
        sys.exit(fail(f"{path}: no line of softcon bench --json"))
    return lines


def fail(text):
    print(f"compare.py: {text}", file=sys.stderr)
    return 3


def key_of(line):
    """what a line is about; the number of environments and threads belongs to it on a curve only"""
    names = KEY if "curve" in line else KEY[:5]
    return tuple((name, line[name]) for name in names if name in line)


def title(key):
    return " ".join(str(value) for _, value in key)


def overlap(old, new, name):
    """whether the middle halves of the rounds meet; without quartiles: no"""
    a, b = old.get(f"{name}_quartiles"), new.get(f"{name}_quartiles")
    if not a or not b or None in a or None in b:
        return False
    return a[0] <= b[1] and b[0] <= a[1]


def ratio_changes(key, old, new, noise):
    for name in RATIOS:
        a, b = old.get(name), new.get(name)
        if not a or not b or abs(math.log(b / a)) <= math.log1p(noise) or overlap(old, new, name):
            continue
        yield b < a, f"{title(key)}: {name} {a:.2f} -> {b:.2f} ({100 * (b / a - 1):+.0f} %)"


def answer_changes(key, old, new):
    a, b = old.get("qacc_error_max"), new.get("qacc_error_max")
    if a is not None and b is not None and max(a, b) > ERROR_FLOOR:
        change = max(b, ERROR_FLOOR) / max(a, ERROR_FLOOR)
        if change >= 10 or change <= 0.1:
            yield change > 1, f"{title(key)}: worst qacc error {a:.1e} -> {b:.1e}"
    bad = [sum(n for word, n in line.get("status", {}).items() if word != "solved") for line in (old, new)]
    if bad[0] != bad[1]:
        yield bad[1] > bad[0], f"{title(key)}: not solved {bad[0]} -> {bad[1]}"


def geomeans(old, new, both):
    for precision in ("f64", "f32", "mixed"):
        for name in RATIOS[:2]:
            pairs = [(old[k].get(name), new[k].get(name)) for k in both if ("precision", precision) in k and "curve" not in dict(k)]
            pairs = [(a, b) for a, b in pairs if a and b]
            if pairs:
                a, b = (math.exp(sum(math.log(p[i]) for p in pairs) / len(pairs)) for i in (0, 1))
                yield f"geometric mean of {len(pairs)}, {precision}, {name}: {a:.2f} -> {b:.2f} ({100 * (b / a - 1):+.0f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--noise", type=float, default=0.1, help="relative change of a ratio that is taken for noise (default 0.1)")
    args = parser.parse_args()
    if not (args.noise >= 0 and math.isfinite(args.noise)):
        parser.error(f"--noise: {args.noise} is not a finite number >= 0")
    old, new = read(args.old), read(args.new)
    both = [key for key in old if key in new]
    worse, better = [], []
    for key in both:
        for is_worse, text in (*ratio_changes(key, old[key], new[key], args.noise), *answer_changes(key, old[key], new[key])):
            (worse if is_worse else better).append(text)
    for heading, lines in (("worse", worse), ("better", better)):
        for text in lines:
            print(f"{heading}: {text}")
    for word, one, other in (("only in the old run", old, new), ("only in the new run", new, old)):
        for key in one:
            if key not in other:
                print(f"{word}: {title(key)}")
    for text in geomeans(old, new, both):
        print(text)
    print(f"{len(both)} lines compared: {len(worse)} worse, {len(better)} better, beyond {100 * args.noise:g} %")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
