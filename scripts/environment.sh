# Sourced by the other scripts: make the virtual environment once, and again when pyproject.toml changes.
# $1 is what to install, such as "." or ".[test]". DPLDA_VENV names another folder than .venv, from the top of the
# checkout, and PYTHON the interpreter to use. Sets $venv and goes to that top. Errors are returned by hand:
# `set -e` does not reach every caller.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || return 1
venv=${DPLDA_VENV:-.venv}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "No Python 3.11 or newer with the venv module was found. Install one (on Debian and Ubuntu:" >&2
  echo "python3 and python3-venv), make sure it is on PATH, and run this again." >&2
  return 1
}

make_environment() {
  local sum wanted stamp="$venv/.dplda-installed" python
  sum=$(cksum < pyproject.toml)
  wanted=("-e$1 $sum")
  if [ "$1" = . ]; then wanted+=("-e.[test] $sum"); fi  # an environment with extras serves commands that need none
  if [ -x "$venv/bin/python" ] && grep -qsFx "${wanted[@]}" "$stamp"; then return; fi
  if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    python=$(find_python) || return 1
    echo "Making $venv with $("$python" --version) ..." >&2
    "$python" -m venv "$venv" || return 1
  fi
  echo "Installing into $venv (some minutes the first time) ..." >&2
  "$venv/bin/python" -m pip install --quiet --editable "$1" || return 1
  echo "$1 $sum" >> "$stamp"
}

make_environment "$1"
