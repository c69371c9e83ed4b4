#!/bin/sh
# rerun of a run that was recorded without digests: outputs that still are as recorded are compared byte for byte, others
# by name and size; inputs that changed; files that were only looked at; what was printed; the folder afterwards.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

folders()
{
	find "$T" -maxdepth 1 -name 'stemma-rerun*' | wc -l
}

cat >work.sh <<'END'
#!/bin/sh
sort data.txt >sorted.txt
mkdir -p sub
tr a-z A-Z <data.txt >sub/upper.txt
echo "lines: $(wc -l <data.txt)"
END
chmod +x work.sh
printf 'c\na\nb\n' >data.txt
cmd 0 run -q -- ./work.sh && cp "$out" "$T/printed"
cmd 0 rerun @ && says "$out" 'identical: 2 results and outputs compared' 'byte by byte with the files of the original run: 2' && says "$err" '| lines: 3' && [ "$(folders)" = 0 ]
check 'outputs that still are as recorded are compared byte by byte; what it printed is shown; the folder goes'
cmd 0 rerun '@~1' --json --output "$T/kept" && json '.verdict == "identical" and .kept == false and ([.compared[] | select(.handed | not) | [.name, .by, .verdict]] | sort == [["sorted.txt", "bytes", "identical"], ["sub/upper.txt", "bytes", "identical"]])' && cmp "$T/kept" "$T/printed"
check 'as JSON; what it printed is kept where that is asked for'
cmd 0 rerun '@~2' --keep --json && json '.kept' && cmp "$(jq -r .directory "$out")/sorted.txt" sorted.txt && rm -r "$(jq -r .directory "$out")" && cmd 0 rerun '@~3' --in "$T/here" && cmp "$T/here/sorted.txt" sorted.txt
check 'the folder stays with --keep and --in'

# Each run is named by the command that it ran, since reruns are runs, too.
cat >other.sh <<'END'
#!/bin/sh
date +%N | sed 's/.*/abc/' >three.txt
cat /proc/sys/kernel/random/uuid >random.txt
END
chmod +x other.sh
cmd 0 run -q --label n=other -- ./other.sh
cmd 1 rerun @ --json && json '.verdict == "different" and ([.compared[] | select(.handed | not) | [.name, .by, .verdict]] | sort == [["random.txt", "bytes", "different"], ["three.txt", "bytes", "identical"]])'
check 'bytes that differ are different'
echo xyz >three.txt
head -c 37 /dev/zero >random.txt
cmd 1 rerun '@~1' --json && json '.verdict == "alike" and ([.compared[] | select(.handed | not) | [.name, .by, .verdict]] | sort == [["random.txt", "size", "alike"], ["three.txt", "size", "alike"]])' && cmd 1 rerun '@~2' && says "$out" 'random.txt: alike: 37 B' 'alike: ' && says "$err" 'hint: '
check 'outputs that were changed since: names and sizes, and the answer says so'
printf '#!/bin/sh\n[ -n "$MORE" ] && echo more >more.txt\necho x$MORE >one.txt\n' >set.sh && chmod +x set.sh
cmd 0 run -q -- ./set.sh && echo z >one.txt && MORE=1 && export MORE
cmd 1 rerun @ --json && json '.verdict == "different" and ([.compared[] | select(.handed | not) | [.name, .by, .verdict]] | sort == [["more.txt", "name", "different"], ["one.txt", "size", "different"]])'
check 'another size, and a file that was not made before'
unset MORE
cmd 0 run -q -- sh -c : && cmd 1 rerun @ && says "$out" 'alike: same exit status, and neither run wrote files; what they printed was not compared'
check 'nothing but how it ended'
printf '#!/bin/sh\n[ -z "$FAIL" ]\n' >may.sh && chmod +x may.sh
cmd 0 run -q -- ./may.sh && FAIL=1 cmd 1 rerun @ --json && json '.verdict == "different" and .exit_after.status == 1'
check 'it ended otherwise'

# ---- what the caller redirected ----
"$STEMMA" run -q -- sh -c 'echo said; sort data.txt' >said.txt 2>"$err" && cmd 0 rerun @ --json && json '.verdict == "identical" and [.compared[] | select(.handed | not) | [.name, .by, .verdict]] == [["said.txt", "printed", "identical"]]'
check 'a file that was handed over and holds what is printed now is identical'
"$STEMMA" run -q -- sh -c 'cat /proc/sys/kernel/random/uuid' >said.txt 2>"$err" && cmd 1 rerun @ && says "$out" "said.txt: opened by the caller" 'cannot be compared'
check 'one that holds something else is not compared'

# ---- inputs ----
printf 'c\na\n' >in.txt && printf 'q\n' >touched.txt && printf 'same\n' >same.txt
cmd 0 run -q -- sh -c 'cat in.txt touched.txt same.txt >all.txt' && printf 'c\na\nlonger\n' >in.txt && touch -d '2020-01-01' touched.txt
cmd 1 rerun @ --check --json && json '[.files[] | select(.kind == "input") | [.name, .state]] | sort == [["in.txt", "changed"], ["same.txt", "same"], ["touched.txt", "changed"]]' && cmd 1 rerun @ && says "$out" 'in.txt: changed, by its size' 'touched.txt: changed, by its time' 'the run cannot be repeated as recorded'
check 'inputs that changed are changed, and how that shows'
cmd 1 rerun @ --force --json && json '.verdict == "different" and (.cause | contains("in.txt"))'
check 'by force: the input is the cause'

# ---- files that were only looked at ----
cat >looks.sh <<'END'
#!/bin/sh
[ -e marker ] && [ -d empty ] && [ -s folder/with.size ] && [ -L link ] || exit 4
[ "$(stat -c %s-%Y-%a folder/with.size)" = 12-1234567890-640 ] || exit 5
sort data.txt >looked.out
END
chmod +x looks.sh
mkdir empty folder .git
echo secret-word-1 >marker
echo 'secret-word' >folder/with.size && chmod 640 folder/with.size && touch -d @1234567890 folder/with.size && echo secret-word-2 >.git/config
ln -s folder/with.size link && ln -s /etc/passwd outside && ln -s ../.. up
cmd 0 run -q -- ./looks.sh && echo late >later && cmd 0 rerun @ --keep --json && json '.verdict == "identical" and .stand_ins >= 2 and .opened == [] and .left_behind == false'
check 'files that were only looked at are there to be looked at'
dir=$(jq -r .directory "$out")
! grep -rq secret-word "$dir" && [ -L "$dir/link" ] && ! [ -e "$dir/outside" ] && ! [ -L "$dir/up" ] && ! [ -e "$dir/later" ] && ! [ -e "$dir/.git" ]
check 'without their bytes; nothing that came later, leads outside, or is a repository'
rm -r "$dir"
cat >opens.sh <<'END'
#!/bin/sh
[ -z "$OPEN" ] || cat marker
sort data.txt >opened.out
END
chmod +x opens.sh
cmd 0 run -q -- ./opens.sh && OPEN=1 && export OPEN && cmd 0 rerun @ --json && json '.opened == ["marker"]' && cmd 0 rerun '@~1' && says "$out" 'stand-in' 'marker: was opened, unlike in the recorded run; this copy of the file has no content'
check 'one that is opened after all is named'
unset OPEN
mkdir many && (cd many && seq -f f%05g 10050 | xargs touch)
cmd 0 run -q -- ./looks.sh && cmd 0 rerun @ --json && json '.stand_ins == 10000 and .left_behind' && cmd 0 rerun '@~1' && says "$out" 'some files have none: at most 10000'
check 'many: a bound, and it is said'
rm -r many

if command -v make >/dev/null; then
	mkdir proj && cd proj || exit 1
	printf 'out: in.txt opt.txt\n\tcat in.txt >out\n' >Makefile && echo a >in.txt && echo b >opt.txt
	cmd 0 run -q -- make && cmd 0 rerun @ && says "$out" 'identical: 1 result or output compared'
	check 'make'
	cd .. || exit 1
else
	skip make 'no make'
fi
finish
