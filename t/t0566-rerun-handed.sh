#!/bin/sh
# rerun of commands whose shell opens what a program writes; of interpreters that list folders to find their modules; and
# with the folder for temporary files in memory.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

# fresh: an empty folder with two files that are older than the run.
fresh()
{
	cd "$T" && rm -rf work "$STEMMA_HOME" && mkdir work && cd work || exit 1
	echo l0 >l && echo in >in
}

# appended SHELL SCRIPT: what l held before is an input; it can be repeated with a copy of it, and not without one.
appended()
{
	fresh
	cmd 0 run -q --keep-inputs -- "$1" -c "$2" && says "$(cat l >"$out" && echo "$out")" l0 in && cmd 0 rerun @ && says "$out" 'l: kept copy' 'identical: ' && fresh && cmd 0 run -q -- "$1" -c "$2" && cmd 1 rerun --check @ && says "$out" 'l: not kept as it was before: the run itself changed it'
}

for shell in sh bash; do
	command -v $shell >/dev/null || {
		skip "$shell" 'it is not installed'
		continue
	}
	appended $shell 'cat in >>l; true'
	check "$shell: a program appends by a descriptor that the shell opened"
	appended $shell '(cat in) >>l'
	check "$shell: ... of a subshell"
	appended $shell 'exec >>l; cat in'
	check "$shell: ... of the shell itself"
	appended $shell '{ cat in; } >>l'
	check "$shell: ... of a group"
	appended $shell 'echo in >>l'
	check "$shell: the shell appends"
	appended $shell 'tee -a l <in >/dev/null'
	check "$shell: a program opens it"
done
fresh
"$STEMMA" run -q --keep-inputs -- cat in >>l 2>"$err" && cmd 1 rerun @ && says "$out" 'l: opened by the caller: not compared' && says_not "$out" 'l: kept copy' 'l: not kept'
check 'what the caller opened and handed to the command is no input'

# imports FOLDER: a script imports the package that lies there, and is read the first time; the second time it was compiled.
imports()
{
	fresh
	rm -rf "$1" && mkdir -p "$1/pk" && echo 'print("found")' >"$1/pk/__init__.py" && echo 'import pk' >r.py
	export PYTHONPATH="$1" PYTHONDONTWRITEBYTECODE=1
	cmd 0 run -q --digest -- sh -c "$PYTHON r.py >o" && cmd 0 rerun @ && says "$out" 'identical: ' || return 1
	env -u PYTHONDONTWRITEBYTECODE "$PYTHON" -c 'import pk' >/dev/null && [ -d "$1/pk/__pycache__" ] && cmd 0 run -q --digest -- sh -c "$PYTHON r.py >o" && cmd 0 rerun @ && says "$out" 'identical: '
}
imports "$T/work/lib"
check 'a package whose folder holds nothing but its first file'
imports "$T/lib"
check '... outside of the folder of the run'
unset PYTHONPATH PYTHONDONTWRITEBYTECODE

if shm=$(mktemp -d /dev/shm/stemma-t.XXXXXX 2>"$err") && [ "$(stat -f -c %T "$shm")" = tmpfs ]; then
	fresh
	cmd 0 run -q --digest -- sh -c 'cat in >o' && TMPDIR=$shm cmd 0 rerun @ && says "$out" 'identical: ' && [ -z "$(ls "$shm")" ]
	check 'the folder for temporary files lies in memory'
	rm -rf "$shm"
else
	skip 'the folder for temporary files lies in memory' 'there is no /dev/shm in memory'
fi
finish
