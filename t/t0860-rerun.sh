#!/bin/sh
# rerun: files found as they were, or brought back from copies, git and the record of their build; run again elsewhere,
# compared: identical, within a tolerance, different with the first cause.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

cat >work.sh <<'END'
#!/bin/sh
sort data.txt >sorted.txt
echo "lines: $(wc -l <data.txt)"
echo "mean: 1.0$(cat noise 2>/dev/null)"
END
chmod +x work.sh
printf '3\n1\n2\n' >data.txt
echo 01 >noise
cmd 0 bench run -n 1 --keep-inputs -- ./work.sh && [ "$(find "$STEMMA_HOME/kept" -name 'sha256:*' | wc -l)" = 2 ]
check 'a run whose inputs are kept'
cmd 0 rerun @ --check && says "$out" 'data.txt: same' && says "$out" 'the run can be repeated as recorded' && cmd 0 log --json && json '.runs | length == 1'
check '--check runs nothing'
cp sorted.txt "$T/sorted" && echo other >sorted.txt
cmd 0 rerun @ --in "$T/again" && says "$out" 'identical: 3 results and outputs' && cmp "$T/again/sorted.txt" "$T/sorted" && grep -q other sorted.txt
check 'identical; what lies where the run was made is left alone'
cmd 0 log --json && json '.runs | length == 2' && cmd 2 rerun '@~1' --in "$T/again" && says "$err" 'not an empty folder'
check 'the second run is recorded; a folder with something in it is not taken'
printf '9\n8\n' >data.txt && rm noise
cmd 0 rerun '@~1' --keep --json && json '.verdict == "identical" and ([.files[] | select(.name == "data.txt" or .name == "noise") | .state] == ["kept copy", "kept copy"])' && [ -f "$(jq -r .directory "$out")/sorted.txt" ]
check 'inputs that were changed or removed come from the copies'
rm -r "$STEMMA_HOME/kept"
before=$(find "$T" -maxdepth 1 -name 'stemma-rerun.*' | wc -l)
cmd 1 rerun '@~2' && says "$out" 'data.txt: differs' && says "$out" 'noise: gone' && says "$out" 'the run cannot be repeated as recorded' && [ "$(find "$T" -maxdepth 1 -name 'stemma-rerun.*' | wc -l)" = "$before" ]
check 'without copies it is not run, and leaves nothing'
cmd 1 rerun '@~2' --force --json && json '.verdict == "different" and (.cause | contains("data.txt")) and any(.compared[]; .name == "sorted.txt" and .verdict == "different") and any(.compared[]; .name == "lines" and .before == "3" and .after == "2")'
check 'by force: different, and the first cause'

# ---- a command that fails ----
cat >fails.sh <<'END'
#!/bin/sh
echo partial >left.txt
echo "value: 1"
exit "${STATUS:-3}"
END
chmod +x fails.sh
cmd 1 bench run -n 1 -- ./fails.sh && cmd 1 rerun @ --json && json '.verdict == "identical" and .exit_before.status == 3 and .exit_after.status == 3' && cmd 1 rerun '@~1' && says "$out" 'failed as before (3)' 'identical: '
check 'a failure that comes again is identical, is said, and is no success'
# The variable is not among those that a record keeps, so the second run ends otherwise.
cmd 1 rerun '@~2' --json && STATUS=0 cmd 1 rerun '@~3' --json && json '.verdict == "different" and .exit_before.status == 3 and .exit_after.status == 0' && STATUS=4 cmd 1 rerun '@~4' && says "$out" 'the run ended with 3, and now with 4' 'different: '
check 'the same output and another status is a difference'

# ---- what the caller redirected ----
printf '#!/bin/sh\necho "value: 1"\necho "$$" >&2\necho made >made.txt\n' >talks.sh && chmod +x talks.sh
"$STEMMA" bench run -n 1 -- ./talks.sh >"$out" 2>talk.log && cmd 0 rerun @ --json && json '.verdict == "identical" and any(.compared[]; .handed and .name == "talk.log") and ([.compared[] | select(.handed | not) | .verdict] == ["identical", "identical"])' && cmd 0 rerun '@~1' && says "$out" 'talk.log: opened by the caller' 'identical: 2 results and outputs'
check 'a log that the caller handed over is in no verdict'
"$STEMMA" run -q --digest -- sh -c 'date +%N' >said.txt 2>"$err" && cmd 1 rerun @ && says "$out" 'cannot be compared'
check 'where there is nothing else, nothing is judged'
"$STEMMA" run -q --digest -- sh -c 'date +%N >own.txt' 2>"$err" && cmd 1 rerun @ --json && json '.verdict == "different"'
check 'what the command opened itself is compared'

# ---- tolerance ----
printf '3\n1\n2\n' >data.txt
cat >near.sh <<'END'
#!/bin/sh
cat data.txt >/dev/null
echo "value: 100.$NOISE"
echo "x = 5.$NOISE; y = 3" >near.out
END
chmod +x near.sh
NOISE=1 && export NOISE
cmd 0 bench run -n 1 -- ./near.sh
NOISE=2
# A setting of the machine that somebody changes meanwhile would be a cause.
cmd 1 rerun @ --json && json '.verdict == "different" and ((.cause | contains("none was found")) or (.machine | length > 0))' && cmd 0 rerun '@~1' --tolerance 5% --json && json '.verdict == "within tolerance" and ([.compared[] | .verdict] == ["within tolerance", "within tolerance"])'
check 'numbers within a tolerance, in results and in files'

# ---- git ----
if command -v git >/dev/null 2>&1; then
	mkdir repo && cd repo || exit 1
	git init -q . && git config user.email me@example.org && git config user.name me
	printf 'b\na\n' >in.txt && git add in.txt && git commit -q -m one
	cmd 0 run --digest -- sh -c 'sort in.txt >out.txt' && printf 'c\n' >in.txt && git commit -q -a -m two && printf 'd\n' >in.txt && git commit -q -a -m three
	cmd 0 rerun @ --json && json ".verdict == \"identical\" and (.files[] | select(.name == \"in.txt\") | .state == \"from git\" and .commit == \"$(git rev-parse HEAD~2)\")"
	check 'an input from git'
	cd .. || exit 1
else
	skip 'an input from git' 'no git'
fi

# ---- a program from the record of its build ----
if command -v gcc >/dev/null 2>&1; then
	printf '#include <stdio.h>\nint main(void) { puts("answer: 42"); return 0; }\n' >prog.c
	cmd 0 cc gcc -O1 -o prog prog.c && cmd 0 bench run -n 1 -- ./prog && rm prog && cmd 0 rerun @ --json && json '.verdict == "identical" and ([.files[] | select(.name == "prog") | .state] == ["built again"])'
	check 'a program that is gone is built again'
	printf '#include <stdio.h>\n#warning \033]0;title\007 said\nint main(void) { puts("answer: 42"); return 0; }\n' >prog.c
	cmd 0 cc gcc -O1 -o prog prog.c && cmd 0 bench run -n 1 -- ./prog && rm prog && cmd 0 rerun @ && grep -q '^| .*warning' "$err" && ! LC_ALL=C grep -q "$(printf '[\033\007]')" "$err"
	check 'what the compiler says then cannot steer a terminal'
	printf '#include <stdio.h>\nint main(void) { puts("answer: 41"); return 0; }\n' >prog.c
	gcc -O1 -o prog prog.c && cmd 1 rerun '@~1' && says "$out" 'prog: differs' && says "$err" 'prog.c'
	check 'not from another source'
	cmd 1 rerun '@~1' --force --json && json '.verdict == "different" and any(.compared[]; .name == "answer" and .before == "42" and .after == "41") and (.cause | contains("prog"))'
	check 'by force: the program is the cause'
else
	skip 'a program that is gone is built again' 'no gcc'
fi

# ---- what cannot be ----
cmd 0 run -- true --password hunter2 && cmd 1 rerun @ && says "$err" secret
check 'a secret argument is not in the record'
cmd 0 run -- sh -c : && cmd 1 rerun @ && says "$out" 'alike: same exit status, and neither run wrote files' && says "$err" 'hint: use stemma run --digest'
check 'nothing to compare'
cmd 2 rerun && cmd 2 rerun @ @ && cmd 1 rerun @~99 && lines "$err" 2 && cmd 2 rerun @ --tolerance much && cmd 2 rerun @ --file nosuch.toml
check 'wrong command lines'
cmd 0 run --digest -- sort data.txt -o sorted.txt && cmd 0 rerun @ && cmd 2 rerun @ && says "$err" 'its author may be' 'hint: stemma rerun made this run; it repeats'
check 'a run that rerun made: the run that it repeats is named'
cmd 0 run --keep-inputs -- cat data.txt && [ "$(find "$STEMMA_HOME/kept" -name 'sha256:*' | wc -l)" -ge 1 ] && n=$(find "$STEMMA_HOME/kept" -name 'sha256:*' | wc -l) && echo only here >data.txt && cmd 0 run --keep-inputs -- cat data.txt && [ "$(find "$STEMMA_HOME/kept" -name 'sha256:*' | wc -l)" = $((n + 1)) ] && cmd 0 forget @ && [ "$(find "$STEMMA_HOME/kept" -name 'sha256:*' | wc -l)" = "$n" ] && ! grep -rq 'only here' "$STEMMA_HOME/kept"
check 'forget takes the copies of a run'"'"'s inputs along'
finish
