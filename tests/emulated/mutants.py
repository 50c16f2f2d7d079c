#!/usr/bin/env python3
"""Whether the emulated tests of the CUDA backend notice what is broken in it.

    mutants.py BUILD [--table FILE] [--only REGEX]

BUILD: a build folder of Ninja's with the emulated tests. Two kinds of mutants, each tried in the race build with lanes ascending
and, where that notices nothing, descending:
  - every barrier that the tests reach is left out in turn (EMU_SKIP; nothing is compiled);
  - every change of TEXTS is made in a copy of kernels/, which is compiled and linked to the same test.
Prints a table of what noticed each one. --only: those whose description matches. Exit status: 0 all were noticed but those of
ACCEPTED, and every barrier of the CUDA text is reached; 1 not so; 2 the programs cannot be built or fail as they are, or a text of TEXTS
is no longer there.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "tests/emulated/emulated_test_cuda_answers_race"
PROGRAMS = (PROGRAM, "tests/emulated/emulated_test_cuda_rows_race", "tests/emulated/emulated_test_cuda_arrays_race",
            "tests/emulated/emulated_test_cuda_matrices_race", "tests/emulated/emulated_test_cuda_large_race")
# what cuda.cu includes, and in there functions that the device never calls
FILES = ("lane.h", "products.inl", "rows.inl", "factor.inl", "linesearch.inl", "iterate.inl", "multipliers.inl", "newton.inl", "cg.inl", "dual.inl", "pgs.inl",
         "direct.inl", "certificate.inl", "noslip.inl", "cuda_rows.inl", "cuda_solve.inl", "dense.inl", "cuda_dense.inl")
HOST_ONLY = ("prepare",)
BARRIER = re.compile(r"\bSYNC;")
LONGEST = 600  # seconds that a program may take

# Barriers that may be missed: {(file, function, which of the function's, from 1): why it stays}
ACCEPTED = {}

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
    ("vectors over dofs are too short", "cuda.h", "0, nv4, nefc, 4,", "0, nv4 - 4, nefc, 4,"),
    ("vectors over rows are too short", "cuda.h", "0, nv4, nefc, 4,", "0, nv4, nefc - 4, 4,"),
    ("the factor is too short", "cuda.h", "sc_work_sizes s = {H > nv4 ? H : nv4,", "sc_work_sizes s = {H > nv4 ? H - 16 : nv4,"),
    ("a product has a row too many", "products.inl", "EACH(part, TILE_PARTS * t->nb)", "EACH(part, TILE_PARTS * t->nb + 1)"),
    ("a result has a row too many", "cuda_solve.inl", "EACH(i, nefc) {", "EACH(i, nefc + 1) {"),
    ("not set: the first direction of CG", "cg.inl", "EACH(i, p->nv4) v[i] = z1[i] = g1[i] = splat(0);", ""),
    ("not set: earlier iterations", "cuda_solve.inl", "b->earlier = b->iterations = 0,", "b->iterations = 0,"),
    ("not set: which rows are in use", "rows.inl", "k[r] = D[r], used[r] = 1;", "k[r] = D[r];"),
    ("not set: a piece of the numbers", "cuda_solve.inl", "if (b->copy[k].to) copy_words", "if (b->copy[k].to && k != 1) copy_words"),
    ("not set: the pack with soft rows", "multipliers.inl", "    *view = *p;\n", ""),
    ("not set: no lane has soft rows", "multipliers.inl", "lane[SOFT_ON] = lane[SOFT_STIFF] =", "lane[SOFT_ON] ="),
    ("not set: the step's product with J", "newton.inl", "EACH(r, p->nefc) Jv[r] = x1[r] - x[r];", ""),
)


class Failure(Exception):
    pass


def run(program, folder, **environment):
    """(whether it passed, what the emulator or else the test said first); what the emulator says ends it"""
    done = subprocess.Popen([program, "-j1"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            start_new_session=True, env={**os.environ, **environment})
    failed = ""
    late = threading.Timer(LONGEST, os.killpg, (done.pid, signal.SIGKILL))
    late.start()
    with done:
        for line in done.stdout:
            if line.startswith("emu: ") and not line.startswith("emu:   "):
                os.killpg(done.pid, signal.SIGKILL)
                late.cancel()
                return False, line[5:].strip()
            if found := re.search(r"Assertion Failed|CRASH!|Unexpected", line):
                failed = failed or found[0]
    late.cancel()
    return (True, "") if done.returncode == 0 else (False, failed or f"exit status {done.returncode}")


def noticed(program, folder, **environment):
    for seed in ("0", "1"):
        passed, said = run(program, folder, EMU_SEED=seed, **environment)
        if not passed:
            return f"{said} (seed {seed})"
    return None


# ------------------------------------------------------------------ barriers


def barriers():
    """{FILE:LINE: (file, the function it stands in, which of that function's)} of the text that is compiled for the device"""
    sites = {}
    for name in FILES:
        path = ROOT / "kernels" / name
        function, n = "", 0
        for number, line in enumerate(path.read_text(encoding="utf8").splitlines(), 1):
            if found := re.match(r"(?:FN|FN_SHARED|PROC|SHARED|template <.*?>) .*?(\w+)\(", line):
                function, n = found[1], 0
            if BARRIER.search(line.split("/*")[0]):
                n += 1
                sites[f"{name}:{number}"] = name, function, n
    return sites


def reached(program, folder):
    with tempfile.TemporaryDirectory() as scratch:
        log = f"{scratch}/sites"
        passed, said = run(program, folder, EMU_SITES=log)
        if not passed:
            raise Failure(f"{program} fails as it is: {said}")
        return set(pathlib.Path(log).read_text(encoding="utf8").split())


def barrier_mutants(build):
    """(what, how to find out what notices it, why it may be missed)"""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        there = dict(zip(PROGRAMS, pool.map(lambda program: reached(build / program, build), PROGRAMS)))
    for site, key in barriers().items():
        programs = [program for program in PROGRAMS if site in there[program]]
        what = f"no barrier at {site}, {key[1]}"

        def by(site=site, programs=programs):
            return next(filter(None, (noticed(build / program, build, EMU_SKIP=site) for program in programs)), None)

        if programs:
            yield what, by, ACCEPTED.get(key)
        elif key[1] not in HOST_ONLY:
            yield f"{what}: the tests never come there", lambda: None, ACCEPTED.get(key)


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
    shutil.copytree(ROOT / "kernels", kernels)
    text = (kernels / name).read_text(encoding="utf8")
    (kernels / name).write_text(text.replace(old, new), encoding="utf8")
    command, folder = compile_command(build)
    found = re.search(r"-o (\S*emulated_kernels_race\S*\.o)", command)
    command = command.replace(found[0], f"-o {scratch}/cuda.o").replace(f"{ROOT}/kernels", str(kernels))
    shell(command, folder)
    link = link_command(build)
    program = scratch / "mutant"
    shell(link.replace(f"-o {PROGRAM}", f"-o {program}").replace(found[1], f"{scratch}/cuda.o"), build)
    return program


def text_mutants(build):
    for mutant in TEXTS:
        what, name, old, _ = mutant
        if old not in (ROOT / "kernels" / name).read_text(encoding="utf8"):
            raise Failure(f"kernels/{name} has no longer \"{old.strip()}\": change TEXTS along with it")

        def by(mutant=mutant):
            with tempfile.TemporaryDirectory() as folder:
                return noticed(text_mutant(build, pathlib.Path(folder), mutant), build)

        yield f"{what} ({name})", by, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--table", type=pathlib.Path, help="the table as a file, too")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX")
    args = parser.parse_args()
    lines, missed = ["| change | noticed |", "|---|---|"], 0
    try:
        mutants = [m for m in (*text_mutants(args.build), *barrier_mutants(args.build)) if args.only.search(m[0])]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (what, _, reason), by in zip(mutants, pool.map(lambda m: m[1](), mutants)):
                lines.append(f"| {what} | {by or (f'not noticed: {reason}' if reason else '**not noticed**')} |")
                print(lines[-1], flush=True)
                missed += by is None and reason is None
    except (Failure, OSError) as failure:
        print(f"mutants.py: {failure}", file=sys.stderr)
        return 2
    lines.append(f"\n{len(lines) - 2} changes, {missed} not noticed, besides those that are accepted")
    print(lines[-1])
    if args.table:
        args.table.write_text("\n".join(lines) + "\n", encoding="utf8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
