# Sourced by setup, run and test. Everything below runs in the checkout's top folder.

cd "$(dirname "$0")/.."
say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }

# pip_install LIST [OPTION...]: the pinned packages of LIST into .venv, unless that very list was installed before
pip_install() {
  list=$1 stamp=.venv/$(basename "$1").installed
  shift
  if ! cmp -s "$list" "$stamp"; then
    say "Python packages into .venv: $(grep -v '^#' "$list" | tr '\n' ' ')"
    .venv/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: "$@" -r "$list"
    cp "$list" "$stamp"
  fi
}

# build PRESET: configure where that was never done or MuJoCo has come since, and build
build() {
  dir=$(if [ "$1" = default ]; then echo build; else echo "build-$1"; fi)
  if [ ! -e "$dir/build.ninja" ] || [ .venv/requirements.txt.installed -nt "$dir/build.ninja" ]; then
    say "configure $dir/"
    out=$(cmake --preset "$1" 2>&1) || { printf '%s\n' "$out" >&2; exit 1; }
    printf '%s\n' "$out" | grep 'softcon:' || true
  fi
  say "build $dir/"
  cmake --build --preset "$1"
}
