#!/bin/sh
# log --by-inputs: the runs of one command, grouped by the versions of what they read and by their settings.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

cat >bench.sh <<'END'
#!/bin/sh
cat bench.conf data.txt >/dev/null
echo "one more" >>bench.log
END
chmod +x bench.sh
echo n=10 >bench.conf
echo 1 2 3 >data.txt
cmd 0 run -q -- ./bench.sh && cmd 0 run -q -- ./bench.sh && cmd 0 log --by-inputs bench.sh && says "$out" '2 runs of bench.sh: all with the same inputs and settings' 'usual  2 runs' 'bench.conf@{1}'
check 'runs that read the same; a log that each of them wrote to is no input'
sleep 0.03
echo n=20 | "$STEMMA" run -q -- tee bench.conf >/dev/null 2>"$err"
for i in 1 2 3; do cmd 0 run -q -- ./bench.sh; done
cmd 0 log --by-inputs bench.sh && says "$out" '5 runs of bench.sh: 3 usual (the most common inputs and settings), 2 odd' 'usual  3 runs' 'odd    2 runs' 'input bench.conf@{1}, not bench.conf@{2}: changed by tee bench.conf, ' && says "$out" 'bench.conf@{2}, data.txt@{1}' && says_not "$out" bench.log
check 'two that read the settings as they were before'
cmd 0 log --by-inputs bench.sh --json && json '.runs == 5 and (.inside | not) and ([.groups[] | [.odd, (.runs | length)]] == [[false, 3], [true, 2]]) and (.groups[1].differs | length == 1 and .[0].kind == "input" and .[0].name == "bench.conf" and .[0].value == "bench.conf@{1}" and .[0].usual == "bench.conf@{2}")' && "$STEMMA" log --json | jq -r '.runs[] | select(.command == ["./bench.sh"]) | .id' >"$T/ids" && jq -r '.groups[].runs[]' "$out" | cmp - "$T/ids"
check 'as JSON: each run once'
env LANG=de_DE.UTF-8 "$STEMMA" run -q -- ./bench.sh && cmd 0 run -q -- ./bench.sh fast && cmd 0 log --by-inputs bench.sh && says "$out" '7 runs of bench.sh: 3 usual (the most common inputs and settings), 4 odd' 'command bench.sh fast, not bench.sh' 'variable LANG de_DE.UTF-8'
check 'other arguments, and another variable'
cmd 0 log --by-inputs 'bench.sh fast' && says "$out" '1 run of bench.sh fast: all with the same inputs' && cmd 0 log --by-inputs bench.sh -n 2 && says "$out" '2 runs of bench.sh' && cmd 0 log --by-inputs bench.sh 'arg fast' && says "$out" '1 run of bench.sh'
check 'with arguments, of the latest, of those that an expression describes'
cmd 0 log --by-inputs cat && says "$out" '7 runs that executed cat' && says "$out" 'input bench.conf@{1}, not bench.conf@{2}'
check 'a program inside of the runs'
cmd 1 log --by-inputs nosuch && says "$err" 'no run of' && cmd 2 log --by-inputs '' && cmd 2 log --by-inputs bench.sh --jsonl
check 'none, and wrong command lines'

# What each run has of its own groups nothing.
for i in 1 2 3; do echo $i >seed.txt && cmd 0 run -q -- sort seed.txt data.txt && sleep 0.03; done
cmd 0 log --by-inputs sort && says "$out" '3 runs of sort: all with the same inputs' 'different in each run: seed.txt'
check 'what is another one in each run is named at the end'
# The same bytes are the same input, if that is known.
cmd 0 run -q --digest -- head -n 1 data.txt && touch data.txt && cmd 0 run -q --digest -- head -n 1 data.txt && cmd 0 log --by-inputs head && says "$out" '2 runs of head: all with the same inputs'
check 'versions with one digest are one input'
mkdir other && cp data.txt other/ && (cd other && cmd 0 run -q --digest -- head -n 1 data.txt) && cmd 0 log --by-inputs head && says "$out" '3 runs of head: all with the same inputs'
check 'in another folder, too'
finish
