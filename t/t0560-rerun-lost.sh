#!/bin/sh
# rerun of what changes, moves or removes files that were there before: it says what is not kept and refuses, runs again
# what needs only that a file was there, and does not require what the run itself replaced without surely reading it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

# Each case has a new folder, with two files and a folder of one.
fresh()
{
	cd "$T" && rm -rf work && mkdir work && cd work || exit 1
	echo a >a.txt && echo c >c.txt && mkdir d && echo x >d/x
}

# refused WORDS COMMAND: it is not run again, and that line says why.
refused()
{
	fresh
	cmd 0 run -q --digest -- sh -c "$2" && n=$("$STEMMA" log --json | jq '.runs | length') && cmd 1 rerun @ &&
		says "$out" "$1" && says "$out" 'the run cannot be repeated as recorded: ' 'as it was before the run is not kept' &&
		says_not "$out" 'first cause' && says "$err" 'hint: --force' && [ "$("$STEMMA" log --json | jq '.runs | length')" = "$n" ] &&
		cmd 1 rerun --check --json @ && json '.as_it_was == false and .verdict == null'
}

# repeated VERDICT COMMAND: it is, with that verdict and the same exit status.
repeated()
{
	fresh
	cmd 0 run -q --digest -- sh -c "$2" && cmd 0 rerun --check @ && says "$out" 'the run can be repeated as recorded' &&
		{ "$STEMMA" rerun --json @ >"$out" 2>"$err"; json ".verdict == \"$1\" and .exit_after.status == 0 and .opened == []"; }
}

refused 'a.txt: not kept as it was before: the run itself changed it' 'echo x >>a.txt'
check 'a file that was appended to'
refused 'a.txt: not kept as it was before: the run itself replaced it' 'sed -i s/a/b/ a.txt'
check 'a file that was edited in place'
refused 'a.txt: not kept as it was before: the run itself removed it' 'cat a.txt >b.txt; rm a.txt'
check 'a file that was read and removed'
refused 'a.txt: not kept as it was before: the run itself moved it' 'mv a.txt b.txt; echo x >>b.txt'
says_not "$out" 'b.txt'
check 'a file that was moved and appended to is named as it was called before'
refused 'd: not kept as it was before: the run itself moved it' 'mv d e'
check 'a folder that was moved'
refused 'a.txt: not kept as it was before: the run itself changed it' 'echo x >>a.txt; cat a.txt >e.txt'
cmd 1 rerun --force @ && says "$out" 'different' 'first cause: a.txt is not as it was before the run'
check 'by force it is run with what is there, and that is the cause of what differs'

repeated alike 'mv a.txt b.txt'
check 'a file that was only moved lies at its new name'
echo other >b.txt && cmd 1 rerun --check '@~1' && says "$out" 'a.txt: not kept' 'a.txt as it was before the run is not kept'
check '... until somebody changes it there'
repeated alike 'rm a.txt && rm -r d'
check 'of what was removed only its name is needed'
repeated identical 'rm a.txt && cp c.txt a.txt'
check '... and it may be made anew'
repeated alike 'mv c.txt a.txt'
check 'what was there before another file took its name is not needed'
repeated alike 'ln a.txt b.txt'
check 'the second name is not there before it is made'
repeated identical 'echo q >a.txt'
check 'a file that was emptied is not needed'
fresh
"$STEMMA" run -q --digest -- sh -c 'cat a.txt; cat c.txt >b.txt' >>log.txt 2>>log.txt && cmd 0 rerun @ && says_not "$out" 'log.txt: not kept'
check 'what the caller had opened to append to is no input'

# What a stand-in is made from.
fresh
cmd 0 run -q --digest -- sh -c 'rm a.txt' && cmd 1 rerun @ && says "$out" 'stand-ins  1 is empty, because the record does not have the size of the file'
check 'of a file that was removed and never opened the size is unknown, which is said'
fresh
cmd 0 run -q --digest -- cat a.txt && cmd 0 run -q --digest -- rm a.txt && cmd 1 rerun @ && says_not "$out" 'stand-ins'
check '... and of one that another run read it is known'
fresh
mkdir many && (cd many && seq 10001 | xargs touch) && cmd 0 run -q -- rm -r many && cmd 0 rerun --check @ && says "$out" 'left out   files that the run moved, linked or removed after the first 10000: not checked'
check 'of a run that removed very many files it is said that the rest was not looked at'
fresh
cmd 0 run -q -- rm -r d && cmd 0 rerun --check @ && says_not "$out" 'left out'
check '... and of no other one'

# A run with digests tells what a later one found.
fresh
cmd 0 run -q --keep-inputs -- cp a.txt a2.txt && cmd 0 run -q -- sh -c 'echo x >>a.txt' && cmd 0 rerun --check @ && says "$out" 'a.txt: kept copy' &&
	cmd 0 rerun --keep --json @ && json '.verdict == "identical" and .files[0].state == "kept copy" and .files[0].lost == "changed"' && [ "$(cat "$(jq -r .directory "$out")/a.txt")" = "a
x" ]
check 'a copy that another run kept is taken'

# Of a run that counts as received, for the key is another one, the user's folder has the file as it was.
fresh
mkdir "$T/in" && echo a >"$T/in/a.txt"
cmd 0 run -q -- mv a.txt b.txt && XDG_STATE_HOME=$T/state cmd 1 rerun --check @ && says "$out" 'a.txt: not kept' && XDG_STATE_HOME=$T/state cmd 1 rerun --check --from "$T/in" @ && says "$out" 'a.txt: unknown'
check 'what is given for a file that was moved is looked at, in a received run'

if $PYTHON -c 'import h5py' 2>/dev/null; then
	fresh
	printf 'import h5py\nwith h5py.File("o.h5", "w") as f:\n    f["x"] = [float(open("g.txt").read())]\n' >w.py
	echo 1 >g.txt && cmd 0 run -q --digest -- $PYTHON w.py && echo 2 >g.txt && cmd 0 run -q --digest -- $PYTHON w.py &&
		cmd 0 rerun @ && says "$out" 'o.h5: replaced by the run, and it is not certain that the run read it: not required' 'identical: 1 result or output'
	check 'an HDF5 file that is written anew is not required, though the library opened it before'
else
	skip 'an HDF5 file that is written anew is not required' 'no h5py'
fi
finish
