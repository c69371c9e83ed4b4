#!/bin/sh
# stemma diff: what differs between two runs, two executions, two versions. The truth is what the test changed in between.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
rm -rf "$STEMMA_HOME"

cat >pipe.sh <<'E2'
#!/bin/sh
sort $SORT_WITH a.txt >sorted.txt
t=$(mktemp) && grep -v x sorted.txt >"$t" && mv "$t" kept.txt
head -n "$(sed -n 's/n=//p' settings.ini)" kept.txt >first.txt
wc -c <b.txt >count.txt
[ ! -f extra.txt ] || cat extra.txt >>first.txt
E2
chmod +x pipe.sh
run() { "$STEMMA" run -q -- "$@" >"$out" 2>"$err"; }
seq 20 >a.txt
echo other >b.txt
echo n=3 >settings.ini
sort_with=-n

# shellcheck disable=SC2016
again() { run env "SORT_WITH=$sort_with" ./pipe.sh; }

again && again
cmd 1 diff --json && json '.first_cause == null' && json '[.rungs[] | select(.name != "outputs" and .name != "resources" and .name != "order") | .same] | all' &&
	json '.paired > 8 and .a.unpaired == 0 and .b.unpaired == 0'
check 'the same again: nothing differs but what was made anew'
cmd 1 diff && says "$out" 'inputs        same' && says "$out" 'first.txt  6 B, rewritten with the same size'
check 'and so it says'
cmd 0 diff @ @ && says "$out" 'No recorded difference.'
check 'a run and itself do not differ'

seq 25 >a.txt
again
cmd 1 diff --json && json '.first_cause | .rung == "inputs" and (.subject | endswith("/a.txt")) and .kind == "changed" and (.change_seen | not) and .a.version == 1 and .b.version == 2' &&
	json '.first_cause.reaches == 3' && json '[.rungs[] | select(.name == "inputs").differences[].subject] | length == 1'
check 'an input edited by hand is the first cause, and reaches what is made of it'
cmd 1 diff && says "$out" 'first cause   an input: a.txt  51 B -> 66 B (@{1} -> @{2})' && says "$out" 'modified outside the recorded runs' && says "$out" 'reaches 3 of the 4 outputs of B'
check 'the same in words'

run sh -c 'seq 30 >a.txt'
again
cmd 1 diff @~2 @ --json && json '.first_cause.changed_by.argv[0] == "seq"'
check 'an input changed by a program in another run: which'

sort_with=-r
again
cmd 1 diff --json && json '.first_cause | .rung == "options" and .subject == "sort" and .a == "-n" and .b == "-r"' || cmd 1 diff --json && json '[.rungs[] | select(.name == "options").differences[] | select(.subject == "sort")] | length == 1'
check 'an argument that changed'

sort_with=-n
again
echo 'n=55' >settings.ini
again
cmd 1 diff --json && json '.first_cause | .rung == "configuration" and (.subject | endswith("/settings.ini")) and .reaches >= 1'
check 'settings that changed'

echo more >extra.txt
again
cmd 1 diff --json && json '.first_cause | .rung == "inputs" and (.subject | endswith("/extra.txt")) and .kind == "added"'
check 'a file that is there now'
rm extra.txt
again
cmd 1 diff --json && json '[.rungs[] | select(.name == "inputs").differences[] | select(.subject | endswith("/extra.txt")) | .kind] == ["removed"]'
check 'and that is gone again'

LANG=C.UTF-8 "$STEMMA" run -q -- sort a.txt -o s1
LANG=POSIX "$STEMMA" run -q -- sort a.txt -o s1
cmd 1 diff --json && json '.first_cause | .rung == "environment" and .subject == "LANG" and .a == "C.UTF-8" and .b == "POSIX"'
check 'a variable that changed'

run sort a.txt -o s2
run sort b.txt -o s2
cmd 1 diff --json && json '.first_cause | .rung == "options" and .a == "a.txt" and .b == "b.txt"' && cmd 1 diff && says "$out" 'a.txt  only in A' && says "$out" 'external to the recorded runs'
check 'an argument that names another file, not the file, is the cause'
mkdir old new && cp a.txt old/part && cp b.txt new/part
LD_LIBRARY_PATH=old "$STEMMA" run -q -- sh -c 'cat "$LD_LIBRARY_PATH/part" >s3'
LD_LIBRARY_PATH=new "$STEMMA" run -q -- sh -c 'cat "$LD_LIBRARY_PATH/part" >s3'
cmd 1 diff --json && json '.first_cause | .rung == "environment" and .subject == "LD_LIBRARY_PATH"' && json '[.rungs[] | select(.name == "inputs").differences[] | .kind] == ["added", "removed"]'
check 'so is a variable that names another folder'
run sh -c 'cat old/* >s4'
cp a.txt old/more
run sh -c 'cat old/* >s4'
cmd 1 diff --json && json '.first_cause | .rung == "inputs" and (.subject | endswith("/old/more")) and .kind == "added"'
check 'arguments that a shell made of the names in a folder are not'
many=$(seq 700)
# shellcheck disable=SC2086 # many arguments
run sh -c 'sort a.txt >s5' $many x && run sh -c 'sort a.txt >s5' $many y
cmd 1 diff --json && json '[.rungs[] | select(.name == "options").differences[] | [.a, .b]] == [["x", "y"]]'
check 'the last of many arguments'
run sh -c 'sort a.txt >s6; printf X | dd of=s6 conv=notrunc 2>/dev/null'
echo 999 >>a.txt
run sh -c 'sort a.txt >s6; printf X | dd of=s6 conv=notrunc 2>/dev/null'
cmd 1 diff --json && json '.first_cause | .rung == "inputs" and (.subject | endswith("/a.txt")) and .reaches == 1 and .reaches_differing == 1'
check 'a file that was written on to by another program: what came before counts'

mkdir one two
for d in one two; do
	(cd $d && cp ../a.txt . && "$STEMMA" run -q -- sh -c 'sort -n a.txt >o; cat o o >oo')
done
cmd 1 diff --json && json '.paired > 2 and .a.unpaired == 0 and .b.unpaired == 0' && json '[.rungs[] | select(.name == "outputs").differences[] | .kind] | all(. == "rewritten")' &&
	json '[.rungs[] | select(.name == "machine").differences[].subject] == ["directory"]'
check 'the same work in another directory: files are paired by where they lie in it'

run sh -c 'for i in 1 2 3 4 5 6 7 8; do sort -n a.txt >many.$i & done; wait'
run sh -c 'for i in 8 7 6 5 4 3 2 1; do sort -n a.txt >many.$i & done; wait'
cmd 1 diff --json && json '.a.unpaired == 0 and .b.unpaired == 0' && json '[.rungs[] | select(.name == "executions").same] == [true]'
check 'programs that ran in another order are paired by what they made'

run sh -c 'sort a.txt >o1; true'
run sh -c 'sort a.txt >o1; wc o1 >o2; true'
cmd 1 diff --json && json '[.rungs[] | select(.name == "executions").differences[] | [.subject, .kind]] | any(. == ["wc", "added"])'
check 'a program that only one side ran'

run sh -c 'exit 0'
run sh -c 'exit 3'
cmd 1 diff --json && json '[.rungs[] | select(.name == "outcome").differences[] | select(.subject == "the run") | [.a, .b]] == [["exit 0", "exit 3"]]'
check 'another exit status'

cmd 1 diff first.txt --json && json '(.a.path | endswith("/first.txt")) and .b.version == .a.version + 1'
check 'a file: its last two versions'
cmd 1 diff first.txt@{1} first.txt@{3} && says "$out" 'first.txt@{1}' && says "$out" 'first.txt@{3}' && says "$out" 'an input: a.txt'
check 'two versions: how each came to be'
x=$("$STEMMA" show --json @ | jq -r '.. | .id? // empty | select(startswith("x"))' | head -n 1)
cmd 0 diff "$x" "$x"
check 'two executions'

cmd 1 diff --html && says "$out" '<!DOCTYPE html>' && ! grep -q '<script' "$out" && [ "$(grep -c '<details' "$out")" = "$(grep -c '</details>' "$out")" ]
check 'as a page, without scripts'
mkdir '<b>&"x' && (cd '<b>&"x' && echo 1 >'<i>' && "$STEMMA" run -q -- cp '<i>' o && echo 12 >'<i>' && "$STEMMA" run -q -- cp '<i>' o)
cmd 1 diff --html && ! grep -q '<i>' "$out" && says "$out" '&lt;i&gt;'
check 'a page holds names as text'

cmd 2 diff nothing.txt && says "$err" 'nothing'
check 'a file that nobody recorded'
cmd 2 diff @ first.txt && says "$err" 'different kinds'
check 'things of different kinds'
cmd 2 diff a b c
check 'three things'
cmd 2 diff @~999 @
check 'a run that is not there'
cmd 2 diff --json --html @ @
check 'two formats'
run sh -c 'echo 1 >seed'
for _ in 1 2; do
	sleep 1.1
	run sh -c 'cat seed >grown'
done
"$STEMMA" diff grown >"$out" 2>"$err"
[ "$(sed -n 's/^A  grown@{1}  //p' "$out")" != "$(sed -n 's/^B  grown@{2}  //p' "$out")" ] && says "$out" 'A  grown@{1}  2' && says "$out" 'B  grown@{2}  2'
check 'two versions that came from one seed have their own times'
if [ -c /dev/full ]; then
	"$STEMMA" diff @~1 @ >/dev/full 2>"$err"
	[ $? = 125 ] && says "$err" 'cannot write the output'
	check 'an answer that could not be written is none'
else
	skip 'an answer that could not be written is none' 'there is no /dev/full'
fi
mkdir here there && echo data >here/in.dat
for d in here there; do
	(cd $d && PYTHONPATH=$T/work/here "$STEMMA" run -q -- cp "$T/work/here/in.dat" "$T/work/here/o")
done
cmd 1 diff --json && json '[.rungs[] | select(.name == "inputs" or .name == "options" or .name == "environment") | .same] | all'
check 'a file below the directory of one side, by its full name on both, is the same file'

# A file for messages that is made within one tick of the clock of file times before the run: its times do not show that
# nothing was written to it.
: >log
sleep 0.1
"$STEMMA" run -q -- sh -c 'sort a.txt >o4' 2>>log
fine=yes
for _ in 1 2 3 4 5 6 7 8; do
	: >log
	"$STEMMA" run -q -- sh -c 'sort a.txt >o4' 2>log
	cmd 1 diff @~1 @ --json && json '[.rungs[] | select(.name == "outputs").differences[].subject | endswith("/o4")] == [true]' || fine=no
done
[ $fine = yes ] && says_not "$out" '/work/log"'
check 'an empty file that programs had open for messages is no output'

# The same from logs, by what they say: perhaps written, and empty or not.
history <<'E2'
for k, (ulid, size) in enumerate((('01HZZZZZZZZZZZZZZZZZZZAAA1', None), ('01HZZZZZZZZZZZZZZZZZZZAAA2', 0), ('01HZZZZZZZZZZZZZZZZZZZAAA3', 5))):
    h = History(ulid, argv=['sort'], start=1000 * (k + 1))
    p = h.process()
    h.exec(p, ['sort'], exe='/usr/bin/sort')
    if size is not None:
        f = h.file('/w/messages')
        h.add('state', file=f, size=size, mtime=T0)
        a = h.add('access', p=p, file=f, mode=WRITE | STATE, via=DESCRIPTOR)
        h.add('state', file=f, size=size, mtime=T0)
        h.add('access_end', p=p, access=a, until=h.now, evidence=1, state=1)
    h.exit(p)
    h.end()
    h.save(home, evtext)
E2
cmd 1 diff 01HZZZZZZZZZZZZZZZZZZZAAA1 01HZZZZZZZZZZZZZZZZZZZAAA2 --json && json '[.rungs[] | select(.name == "outputs") | .same] == [true]'
check 'an empty file that was perhaps written is no difference'
cmd 1 diff 01HZZZZZZZZZZZZZZZZZZZAAA1 01HZZZZZZZZZZZZZZZZZZZAAA3 --json && json '[.rungs[] | select(.name == "outputs").differences[] | [.kind, .possible]] == [["added", true]]'
check 'one that holds something is a possible difference'
cmd 1 diff 01HZZZZZZZZZZZZZZZZZZZAAA1 01HZZZZZZZZZZZZZZZZZZZAAA3 && says "$out" 'possibly written by B only' && says_not "$out" 'made by B only'
check 'and said to be only possible'
finish
