#!/usr/bin/env python3
"""Whether the emulated tests of the CUDA backend notice what is broken in it.

    mutants.py BUILD [--table FILE]

BUILD: a build folder of Ninja's with the emulated tests. Two kinds of mutants, each tried in the race build with lanes ascending
and, where that notices nothing, descending:
  - every barrier that the tests reach is left out in turn (EMU_SKIP; nothing is compiled);
  - every change of TEXTS is made in a copy of kernels/, which is compiled and linked to the same test.
Prints a table of what noticed each one. Exit status: 0 all were noticed, and every barrier of the CUDA text is reached; 1 not so;
2 the programs cannot be built or fail as they are.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/emulated/emulated_test_cuda_answers_race"
PROGRAMS = (PROGRAM, "tests/emulated/emulated_test_cuda_rows_race", "tests/emulated/emulated_test_cuda_arrays_race",
            "tests/emulated/emulated_test_cuda_large_race")
# what cuda.cu includes, and in there functions that the device never calls
FILES = ("lane.h", "products.inl", "rows.inl", "factor.inl", "linesearch.inl", "iterate.inl", "newton.inl", "cg.inl", "dual.inl", "pgs.inl",
         "direct.inl", "certificate.inl", "noslip.inl", "cuda_rows.inl", "cuda_solve.inl", "dense.inl", "cuda_dense.inl")
HOST_ONLY = ("prepare",)
BARRIER = re.compile(r"\bSYNC;")

# (what, file, text, what stands in its place)
TEXTS = (
    ("a lane leaves alone: the queue", "cuda_solve.inl", "if (b->next >= (uint32_t)args->nenv) break;",
     "if (b->next + (RANK == 31) >= (uint32_t)args->nenv) break;"),
    ("a lane leaves alone: the iteration", "newton.inl", "it <= w->task.iterations && any(st.live); it++",
     "it <= w->task.iterations - (RANK == 31) && any(st.live) && (RANK != 31 || it < 2); it++"),
    ("a lane's own sum decides: the line search", "linesearch.inl", "  s.slope = total(s.slope);\n", ""),
    ("a lane's own rows decide: zones", "rows.inl", "  n.changed = anywhere(n.changed);\n", ""),
    ("a lane's own rows decide: sliding contacts", "rows.inl", "  n.slides = anywhere(n.slides);\n", ""),
    ("a copy is a word too long", "cuda_solve.inl", "EACH(i, (int)(bytes / 16))", "EACH(i, (int)(bytes / 16) + 1)"),
    ("vectors over dofs are too short", "cuda.h", "0, 0, 0, 0, nv4, nefc, 4,", "0, 0, 0, 0, nv4 - 4, nefc, 4,"),
    ("vectors over rows are too short", "cuda.h", "0, 0, 0, 0, nv4, nefc, 4,", "0, 0, 0, 0, nv4, nefc - 4, 4,"),
    ("the factor is too short", "cuda.h", "sc_work_sizes s = {H > nv4 ? H : nv4,", "sc_work_sizes s = {H > nv4 ? H - 16 : nv4,"),
    ("a product has a row too many", "products.inl", "EACH(part, TILE_PARTS * t->nb)", "EACH(part, TILE_PARTS * t->nb + 1)"),
    ("a result has a row too many", "cuda_solve.inl", "EACH(i, nefc) {", "EACH(i, nefc + 1) {"),
    ("not set: the first direction of CG", "cg.inl", "EACH(i, p->nv4) v[i] = z1[i] = g1[i] = splat(0);", ""),
    ("not set: earlier iterations", "cuda_solve.inl", "    b->earlier = 0;\n", ""),
    ("not set: which rows are in use", "rows.inl", "k[r] = D[r], used[r] = 1;", "k[r] = D[r];"),
    ("not set: a piece of the numbers", "cuda_solve.inl", "if (b->copy[k].to) copy_words", "if (b->copy[k].to && k != 1) copy_words"),
    ("not set: the step's product with J", "newton.inl", "EACH(r, p->nefc) Jv[r] = x1[r] - x[r];", ""),
)


class Failure(Exception):
    pass


def run(program, folder, **environment):
    """(whether it passed, what the emulator or else the test said first)"""
    done = subprocess.run([program], cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=900,
                          env={**os.environ, **environment})
    text = done.stdout + done.stderr
    said = [line[5:] for line in text.splitlines() if line.startswith("emu: ") and not line.startswith("emu:   ")]
    if done.returncode == 0 and not said:
        return True, ""
    failed = re.search(r"(Assertion Failed|CRASH!|Unexpected)", text)
    return False, said[0] if said else failed[1] if failed else f"exit status {done.returncode}"


def noticed(program, folder, **environment):
    for seed in ("0", "1"):
        passed, said = run(program, folder, EMU_SEED=seed, **environment)
        if not passed:
            return f"{said} (seed {seed})"
    return None


# ------------------------------------------------------------------ barriers


def barriers():
    """{FILE:LINE: the function it stands in} of the text that is compiled for the device"""
    sites = {}
    for name in FILES:
        path = ROOT / "kernels" / name
        function = ""
        for number, line in enumerate(path.read_text(encoding="utf8").splitlines() if path.exists() else (), 1):
            if found := re.match(r"(?:FN|FN_SHARED|PROC|SHARED|template <int single>).*?(\w+)\(", line):
                function = found[1]
            if BARRIER.search(line.split("/*")[0]):
                sites[f"{name}:{number}"] = function
    return sites


def reached(program, folder):
    with tempfile.TemporaryDirectory() as scratch:
        log = f"{scratch}/sites"
        passed, said = run(program, folder, EMU_SITES=log)
        if not passed:
            raise Failure(f"{program} fails as it is: {said}")
        return set(pathlib.Path(log).read_text(encoding="utf8").split())


def barrier_rows(build):
    there = {program: reached(build / program, build) for program in PROGRAMS}
    for site, function in barriers().items():
        programs = [program for program in PROGRAMS if site in there[program]]
        what = f"no barrier at {site}, {function}"
        if programs:
            yield what, next(filter(None, (noticed(build / program, build, EMU_SKIP=site) for program in programs)), None)
        elif function not in HOST_ONLY:
            yield f"{what}: the tests never come there", None


# ------------------------------------------------------------------ other changes


def compile_command(build):
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf8")):
        if "emulated_kernels_race" in entry["command"] and entry["file"].endswith("kernels/cuda.cu"):
            return entry["command"], entry["directory"]
    raise Failure(f"{build}/compile_commands.json has no emulated_kernels_race")


def link_command(build):
    out = subprocess.run(["ninja", "-C", build, "-t", "commands", PROGRAM], capture_output=True, text=True, check=False)
    if out.returncode:
        raise Failure(f"ninja names no commands for {PROGRAM}: {out.stderr.strip()}")
    return out.stdout.strip().splitlines()[-1]


def shell(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{command[:200]}...: {done.stderr.strip()[-1000:]}")


def text_mutant(build, scratch, mutant):
    """the test's program with that change"""
    _, name, old, new = mutant
    kernels = scratch / "kernels"
    shutil.rmtree(kernels, ignore_errors=True)
    shutil.copytree(ROOT / "kernels", kernels)
    text = (kernels / name).read_text(encoding="utf8")
    if text.count(old) < 1:
        raise Failure(f"kernels/{name} has no longer \"{old.strip()}\": change TEXTS along with it")
    (kernels / name).write_text(text.replace(old, new), encoding="utf8")
    command, folder = compile_command(build)
    found = re.search(r"-o (\S*emulated_kernels_race\S*\.o)", command)
    command = command.replace(found[0], f"-o {scratch}/cuda.o").replace(f"{ROOT}/kernels", str(kernels))
    shell(command, folder)
    link = link_command(build)
    program = scratch / "mutant"
    shell(link.replace(f"-o {PROGRAM}", f"-o {program}").replace(found[1], f"{scratch}/cuda.o"), build)
    return program


def text_rows(build):
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for mutant in TEXTS:
            yield f"{mutant[0]} ({mutant[1]})", noticed(text_mutant(build, scratch, mutant), build)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--table", type=pathlib.Path, help="the table as a file, too")
    args = parser.parse_args()
    lines, missed = ["| change | noticed |", "|---|---|"], 0
    try:
        for rows in (barrier_rows(args.build), text_rows(args.build)):
            for what, by in rows:
                lines.append(f"| {what} | {by or '**not noticed**'} |")
                print(lines[-1], flush=True)
                missed += by is None
    except (Failure, OSError, subprocess.TimeoutExpired) as failure:
        print(f"mutants.py: {failure}", file=sys.stderr)
        return 2
    lines.append(f"\n{len(lines) - 2} changes, {missed} not noticed")
    print(lines[-1])
    if args.table:
        args.table.write_text("\n".join(lines) + "\n", encoding="utf8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
