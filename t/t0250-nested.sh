#!/bin/sh
# A recorded run in a recorded run: one recorder works for both, and both have a record.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# The plain run's inner one records, too.
export STEMMA STEMMA_HOME="$T/plain"
shell_case "nested run" sh "\$STEMMA run -- cat in > y; echo \$? > z" <<-END
	*@cat read DIR/in
	*@cat write DIR/y
	*@sh maybe-write DIR/z
	*@dash maybe-write DIR/z
	*@stemma maybe-write DIR/y
	*@* maybe-write DIR/y
	*@* maybe-write DIR/z
END

# Runs of the record $1: "ID OUTER" a line.
runs()
{
	$PYTHON -c '
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["k"] == "run":
        print(e.get("id", "?"), e.get("outer", "-"))' "$1"
}

D=$T/nest
fresh "$D"
(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" run -- sh -c '"$STEMMA" run -- sh -c "\"\$STEMMA\" run -- sort x >y; exit 4"; exit $(($? + 1))') \
	>"$T/out" 2>&1
echo "status $?" >>"$T/out"
[ "$(cat "$T/out")" = "status 5" ]
result $? "three deep: status and output" "$T/out"
events "$T/home" "$T/events"
runs "$T/events" >"$T/runs"
[ "$(wc -l <"$T/runs")" = 3 ] && [ "$(awk '{ print $1 }' "$T/runs" | sort -u | wc -l)" = 3 ]
result $? "three deep: three runs" "$T/runs"
# Each run but one names the run it is in.
awk '{ id[$1] = 1; outer[$1] = $2 } END { n = 0; for (i in outer) if (outer[i] in id) n++; exit n != 2 }' "$T/runs"
result $? "three deep: each names its outer run" "$T/runs"

# Nested runs with a store of their own.
rm -rf "${T:?}/home"
(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" run -- sh -c 'STEMMA_HOME=$1 "$STEMMA" run -- cat in' - "$T/home2") >"$T/out" 2>"$T/err"
cmp "$D/in" "$T/out" >"$T/why" 2>&1 && [ "$(wc -l <"$T/err")" = 1 ] && grep -q '^stemma: .*is recorded in that run.s record$' "$T/err" &&
	[ ! -e "$T/home2" ]
result $? "another store inside: it is said that it is not used" "$T/err"
(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" run -- sh -c 'STEMMA_HOME=$1 "$STEMMA" run -q -- cat in; "$STEMMA" run -- cat in' - "$T/home2") \
	>"$T/out" 2>"$T/err"
[ ! -s "$T/err" ]
result $? "another store inside, quietly, and the same store" "$T/err"

# The inner run says what it is, as it would say by itself.
rm -rf "${T:?}/home"
(cd "$D/sub" && STEMMA_HOME=$T/home "$STEMMA" run -- sh -c 'cd ..; "$STEMMA" run -l kind=inner -- cat in "two words" --password=x') >"$T/out" 2>&1
events "$T/home" "$T/events"
$PYTHON - "$T/events" "$D" "$(id -un)" >"$T/why" 2>&1 <<'END'
import json, sys
runs = [e for e in map(json.loads, open(sys.argv[1])) if e["k"] == "run"]
inner = runs[1]
want = {"argv": ["cat", "in", "two words", "--password=***"], "cwd": sys.argv[2], "user": sys.argv[3], "label": ["kind=inner"],
        "uid": runs[0].get("uid", 0), "group": runs[0]["group"], "outer": runs[0]["id"]}
for k, v in want.items():
    if inner.get(k, 0) != v:
        print(k, inner.get(k), "is not", v)
END
[ ! -s "$T/why" ]
result $? "the inner run has its command, user, directory and label" "$T/why"

# Many runs at once in one store.
rm -rf "${T:?}/home"
i=0
while [ $i -lt 20 ]; do
	(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" run -- sh -c "sleep 0.$((i % 3)); sort x >y$i") >>"$T/out" 2>&1 &
	i=$((i + 1))
done
wait
{
	events "$T/home" "$T/events" || { echo "the log is not whole:"; cat "$T/events.err"; }
	[ "$(grep -c '"k":"run"' "$T/events")" = 20 ] || echo "$(grep -c '"k":"run"' "$T/events") runs"
	[ "$(grep -c '"k":"session_end"' "$T/events")" = 20 ] || echo "$(grep -c '"k":"session_end"' "$T/events") ends"
	[ "$(find "$T/home" -name '*.stl' | wc -l)" -le 20 ] || echo "more segments than runs"
} >"$T/why"
[ ! -s "$T/why" ]
result $? "twenty at once" "$T/why"
# And one after the other: one segment more at most than there was need for at once.
was=$(find "$T/home" -name '*.stl' | wc -l)
for _ in 1 2 3 4 5; do
	(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" run -- true)
done
[ "$(find "$T/home" -name '*.stl' | wc -l)" = "$was" ]
result $? "later runs make no new segment"
finish
