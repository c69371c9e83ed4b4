#!/bin/sh
# bench: extractors declared and guessed, parameters, what matches nothing or twice, what a benchmark file may not hold,
# --machine, --digest and --results of run, and that the command is left alone.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >prog <<'END'
#!/bin/sh
echo "took 3.25 seconds"
echo "twice 1"
echo "twice 2"
printf '{"a": {"b/c": [10, 20, 30]}, "n": 1e3, "t": true}\n' >out.json
printf 'name,time,"odd, name"\nx,1.5,"a ""b"""\ny,2.5,c\n' >out.csv
printf 'b\na\n' >lines.txt
printf 'bytes' >whole.bin
echo "threads = 8  # of them" >conf.ini
exit "${STATUS:-0}"
END
chmod +x prog
cat >stemma-bench.toml <<'END'
format = 1
name = "the test"        # a comment
command = ["./prog", "-k", "5", "--mode=fast", "in"]
runs = 2

[parameters]
k = "-k"
mode = "--mode"
word = "@4"
threads = "conf.ini:threads"
size = "env:BENCH_SIZE"

[[result]]
name = "took"
regex = "took ([0-9.]+)"
[[result]]
name = "twice"
regex = 'twice ([0-9])'
[[result]]
name = "last"
regex = 'twice ([0-9])'
last = true
[[result]]
name = "all"
regex = 'twice ([0-9])'
all = true
[[result]]
name = "nothing"
regex = "never"
[[result]]
name = "second"
from = "out.json"
pointer = "/a/b~1c/1"
[[result]]
name = "list"
from = "out.json"
pointer = "/a/b~1c"
[[result]]
name = "nowhere"
from = "out.json"
pointer = "/a/x"
[[result]]
name = "times"
from = "out.csv"
column = "time"
all = true
[[result]]
name = "odd"
from = "out.csv"
column = "odd, name"
all = true
[[result]]
name = "lines"
from = "lines.txt"
digest = true
unordered = true
[[result]]
name = "whole"
from = "whole.bin"
digest = true
[[result]]
name = "gone"
from = "gone.txt"
regex = "x"
[[result]]
name = "wall"
figure = "wall_time"
END
echo hello >in
BENCH_SIZE=12 && export BENCH_SIZE
cmd 0 bench run && says "$out" '2 runs of ./prog -k 5' && says "$err" "no value of 'twice' in 2 of 2 runs: it matches 2 times" && says "$err" "'nothing'" && says "$err" "'gone' in 2 of 2 runs: the file does not exist" && ! [ -t 2 ] && says_not "$err" '['
check 'a benchmark file: what is not found once is said'
cmd 0 trust @ --json && cp "$out" "$T/j" && json '.results | map_values(.values) | .took == ["3.25"] and .last == ["2"] and .all == ["1", "2"] and .second == ["20"] and .list == ["10", "20", "30"] and .times == ["1.5", "2.5"] and .odd == ["a \"b\"", "c"] and (.wall[0] | tonumber > 0) and (has("twice") or has("nothing") or has("gone") | not)'
check 'values of every kind of extractor'
[ "$(jq -r '.results.whole.values[0]' "$T/j")" = "sha256:$(printf bytes | sha256sum | cut -d' ' -f1)" ] && [ "$(jq -r '.results.lines.values[0]' "$T/j")" = "sha256:$(printf 'a\nb\n' | sha256sum | cut -d' ' -f1)" ]
check 'digests, of the whole and of lines in whatever order'
jq -e '.parameters | map_values(.values[0]) == {"k": "5", "mode": "fast", "word": "in", "threads": "8", "size": "12"}' "$T/j" >/dev/null
check 'parameters: options, places, environment, files'
jq -e '.missing | .twice and .nothing and .nowhere and .gone' "$T/j" >/dev/null
check 'what is missing is in the record'
STATUS=3 && export STATUS
cmd 1 bench run -n 1 && says "$err" '1 of 1 runs failed'
check 'a command that fails'
unset STATUS
cmd 0 bench run -n 1 --output -- ./prog && says "$out" 'took 3.25 seconds' && cmd 0 bench run -n 1 -- ./prog && says_not "$out" 'took 3.25 seconds' && cmd 0 bench run -n 1 -w 2 --json -- ./prog && json '.runs | length == 1'
check '--output shows what it prints; warm-ups leave no record'
mv stemma-bench.toml kept.toml

# ---- what cannot be run, what is cut short ----
for what in nosuch:127 in:126; do
	cmd 1 bench run -n 5 --json -- "./${what%:*}" && json ".runs | length == 1 and .[0].exit.status == ${what#*:}" && says "$err" "the command cannot be run (status ${what#*:})"
	check "a command that cannot be run (${what#*:}) is not tried again"
done
cmd 1 bench run -n 5 -w 3 -- ./nosuch && lines "$err" 1 && cmd 1 bench run -n 5 --json -- sh -c '[ -e once ] && exit 127; : >once' && json '.runs | length == 2' && rm once
check 'nor in a warm-up, nor later'
cat >parts.sh <<'END'
#!/bin/sh
echo "value: $(wc -l <done)"
echo >>done
[ "$(wc -l <done)" -lt 4 ] || { : >ready; exec sleep 600; }
END
chmod +x parts.sh
for how in killpg:INT:130 kill:INT:130 kill:TERM:143; do
	rm -f ready && : >"done"
	$PYTHON - "$STEMMA" "${how%%:*}" "$(echo "$how" | cut -d: -f2)" >"$out" 2>"$err" <<'END'
import os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], 'bench', 'run', '-n', '50', '--json', '--', './parts.sh'], start_new_session=True, stdout=subprocess.PIPE)
while not os.path.exists('ready'):
    time.sleep(0.02)
getattr(os, sys.argv[2])(p.pid, getattr(signal, 'SIG' + sys.argv[3]))
sys.stdout.write(p.communicate()[0].decode())
open('status', 'w').write(str(p.returncode))
END
	[ "$(cat status)" = "${how##*:}" ] && json '.interrupted and (.runs | length) == 3 and .results.value.n == 3 and .results.value.median == 1 and .failed == 0' && says "$err" "stopped by SIG$(echo "$how" | cut -d: -f2) after 3 of 50 runs"
	check "interrupted ($how): what it has is printed"
done
cmd 1 bench run -n 4 --json -- sh -c 'echo "value: $(wc -l <done)"; echo >>done; [ "$(wc -l <done)" != 6 ]' && json '.failed == 1 and .results.value.n == 3 and .results.value.max == 7 and .wall_time.n == 3 and .interrupted == false'
check 'a run that failed among others is not in the table'

# ---- guessed ----
printf '#!/bin/sh\ncat data\n' >show && chmod +x show
printf 'Total time: 12.5 s\nscore = 3\nnote: not a number\nhttp://example.org: 1 2 3\n' >data
cmd 0 bench run -n 1 -- ./show && cmd 0 trust @ --json && json '.results | map_values(.values[0]) == {"Total time": "12.5", "score": "3"}'
check 'guessed: key: value'
printf '{"results": [{"command": "a", "mean": 1.25, "median": 1.5, "times": [1, 2]}]}' >data
cmd 0 bench run -n 1 -- ./show && cmd 0 trust @ --json && json '.results | map_values(.values[0]) == {"mean": "1.25", "median": "1.5"}'
check 'guessed: hyperfine'
printf '{"context": {}, "benchmarks": [{"name": "BM_x/8", "family_index": 0, "iterations": 100, "real_time": 5.5, "cpu_time": 5.25, "time_unit": "ns"}]}' >data
cmd 0 bench run -n 1 -- ./show && cmd 0 trust @ --json && json '.results | map_values(.values[0]) == {"BM_x/8.iterations": "100", "BM_x/8.real_time": "5.5", "BM_x/8.cpu_time": "5.25"}'
check 'guessed: Google Benchmark'
printf 'nothing here\n' >data
cmd 0 bench run -n 1 -- ./show && says "$err" 'no result found in it'
check 'guessed: nothing'
cmd 0 bench run -n 1 -- ./show -k 5 --mode fast --quiet in x=3 more && cmd 0 trust @ --json && json '.parameters | map_values(.values[0]) == {"k": "5", "mode": "fast", "quiet": "in", "x": "3", "arg1": "more"}'
check 'guessed: parameters'
cmd 0 bench run -n 1 -- ./show --password hunter2 && ! holds hunter2 && printf '[parameters]\nsecret_key = "--password"\n' >p.toml && cmd 0 bench run -n 1 -f p.toml -- ./show --password hunter2 && ! holds hunter2
check 'secrets among parameters are not recorded'

# ---- run ----
cmd 0 run --machine --digest --results kept.toml -- ./prog -k 7 in >"$T/printed" && cmd 0 trust @ --json && json '.results.second.values == ["20"] and .missing.took.values[0] and .parameters.k.values == ["7"] and (.invariants.kernel.values | length) == 1 and (.variants.load.values | length) == 2'
check 'run --machine --digest --results'
cmd 0 run -- true && cmd 0 trust @ --json && json '.invariants == {} and .variants == {}'
check 'nothing of that without being asked'
printf '#!/bin/sh\n[ -p /dev/stdin ] && echo pipe; readlink /proc/self/fd/0; echo; exit 7\n' >look && chmod +x look
"$STEMMA" run --machine --digest -- ./look </dev/null >"$out" 2>"$err"
[ $? = 7 ] && says "$out" /dev/null && [ ! -s "$err" ]
check 'run: the status is the command'"'"'s, nothing is said'
cmd 143 run --machine -- sh -c 'kill -TERM $$'
check 'a command that dies of a signal'
cmd 127 run --machine -- ./nosuch
check 'a command that is not there'

# ---- show: many runs that append to one summary file, together and run by run ----
mkdir "$T/appends" && cd "$T/appends" && echo 5 >in && cat >eclat <<'END'
#!/bin/sh
read -r n <in
echo "itemsets: $((n * $2))"
echo "$2: $((n * $2))" >>summary.txt
exit "${FAIL:-0}"
END
chmod +x eclat
cmd 0 bench run -n 3 --json -- ./eclat -s 2 && cp "$out" "$T/ran" && cmd 0 bench show --json && cp "$out" "$T/shown" && jq -S '[.wall_time, .cpu_time, .results, [.runs[] | [.id, .wall_time, .cpu_time, .exit]]]' "$T/ran" >"$T/a" && jq -S '[.wall_time, .cpu_time, .results, [.runs[] | [.id, .wall_time, .cpu_time, .exit]]]' "$T/shown" | cmp "$T/a" -
check 'show says of the record what run said'
echo 6 >in && cmd 0 bench run -n 2 -- ./eclat -s 7 && cmd 0 run -- cat summary.txt && cmd 0 bench show summary.txt --json && json '(.runs | length) == 5 and [.runs[].results.itemsets[0]] == ["10", "10", "10", "42", "42"] and [.runs[].parameters.s[0]] == ["2", "2", "2", "7", "7"] and ([.varied[] | .of + " " + .name] | sort) == ["input in", "parameter s", "result itemsets"]' && json "[.runs[].inputs.in[0]] | unique | sort == ([\"$(printf '5\n' | sha256sum | cut -d' ' -f1)\", \"$(printf '6\n' | sha256sum | cut -d' ' -f1)\"] | map(\"sha256:\" + .) | sort)"
check 'of a file: the runs that wrote it, and what each was made with'
cmd 0 bench show summary.txt && says "$out" '5 runs of 2 commands that wrote summary.txt' 'parameter  s: 2 (3 runs), 7 (2 runs)' 'program    binary: sha256:'
check 'together'
cmd 0 bench show --by-run summary.txt && [ "$(grep -c '^[0-9A-Z]\{8\}  ' "$out")" = 5 ] && grep -q '^RUN .* s  *itemsets  *in$' "$out" && grep -q ' ok  *7  *42  sha256:' "$out" && says "$out" 'program    binary: sha256:'
check 'run by run'
# The graphs, read again: how many nodes of each kind, and what leads to what.
graph()
{
	$PYTHON - "$out" <<'END'
import collections, re, sys
nodes, edges = {}, []
for line in open(sys.argv[1]):
    if (m := re.match(r'\t(\w+) \[.*label="(.*)"\]$', line)):
        nodes[m[1]] = m[2]
    elif (m := re.match(r'\t(\w+) -> (\w+)$', line)):
        edges.append((m[1], m[2]))
assert all(a in nodes and b in nodes for a, b in edges)
count = collections.Counter(n[0] for n in nodes)
print(count['r'], count['f'], sum(v.startswith('itemsets\\n') for v in nodes.values()), sum(v.startswith('in\\n') for v in nodes.values()), sum(b[0] == 'f' for a, b in edges), sum(nodes[b] == 'itemsets\\n42' for a, b in edges))
END
}
cmd 0 bench show --dot summary.txt && [ "$(graph)" = '1 1 1 1 1 0' ] && cmd 0 bench show --dot --by-run summary.txt && [ "$(graph)" = '5 1 2 2 5 2' ]
check 'the graph of all, and of each'
FAIL=3 cmd 1 bench run -n 1 -- ./eclat -s 7 && cmd 0 bench show summary.txt --json && json '.failed == 1 and (.runs | length) == 6 and .wall_time.n == 5' && cmd 0 bench show '@~2..@' --json && json '.runs | length == 3' && cmd 0 bench show @ --by-run
check 'a run that failed; other ways to name runs'
cmd 1 bench show nosuch.txt && cmd 1 bench show in && says "$err" 'no recorded run wrote' && cmd 1 bench show bench:NOSUCH && cmd 2 bench show --json --dot && cmd 2 bench show -n 3 && cmd 2 bench run --by-run -- true && cmd 1 --store "$T/nothing" bench show
check 'what cannot be shown'
cd .. || exit 1

# ---- files that are no benchmark files ----
wrong=0
while IFS= read -r line; do
	printf '%b' "$line" >bad.toml
	cmd 2 bench run -f bad.toml -- true && says "$err" 'bad.toml' || {
		wrong=1
		echo "taken: $line" >>"$err"
		break
	}
done <<'END'
runs = "many"
runs = -1
runs = 1.5.2
name = 
name = "no end
name = 'a'\nname = 'b'
command = "a b"
command = []
command = ["a"
unknown = 1
[nothing]\na = 1
[[parameters]]\na = "-k"
[parameters]\na = "x"
[parameters]\na = "@0"
[[result]]\nregex = "x"
[[result]]\nname = "x"\nregex = "("
[[result]]\nname = "x"\nregex = "a"\npointer = "/a"
[[result]]\nname = "x"\npointer = "a"
[[result]]\nname = "x"\ndigest = 1
[[result]]\nname = "x"\nregex = "a"\ntolerance = "-5%"
[[result]]\nname = "x"\nregex = "a"\n[[result]]\nname = "x"\nregex = "b"
[[result]]\nname = "x"\nfigure = "weight"
a.b = 1
a = {b = 1}
a = 2026-01-01T00:00:00Z
a = "\\q"
[a
a
format = 2
END
[ $wrong = 0 ]
check 'files that are no benchmark files'
cmd 2 bench && cmd 2 bench walk && cmd 2 bench run && says "$err" 'no command' && cmd 2 bench run -f nosuch.toml -- true && cmd 2 bench run -l x -- true && cmd 2 run --results nosuch.toml -- true
check 'what cannot be'
finish
