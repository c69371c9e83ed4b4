#!/bin/sh
# note: what is written about runs and files, where it is shown, and that it is the same whatever log comes first.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01' + 'A' * 24, argv=['step', 'A'], host='h1')
p = h.process(); h.exec(p, ['step', 'A'], exe='/opt/step')
h.read(p, h.file(work + '/in', ino=100, size=1)); h.write(p, h.file(work + '/out', ino=101), size=3)
h.exit(p); q = h.process(); h.exec(q, ['again'], exe='/opt/step'); h.read(q, h.file(work + '/out'))
h.write(q, h.file(work + '/out'), size=5, mode=WRITE); h.exit(q); h.end()
h.save(home, evtext, 'A')
END
cmd 1 note && says "$err" 'no notes' && [ ! -s "$out" ] && cmd 1 note @ && cmd 1 note out && cmd 1 note --json && json '.notes == []'
check 'no notes at first'
cmd 0 note @ 'the one for the paper' && [ ! -s "$out" ] && cmd 0 note "$T/work/out" 'looks odd' && cmd 0 note "$T/work/out@{1}" 'before the
second write' && cmd 0 note AAAA "$(printf 'bytes \351\033[31m')"
check 'notes are written'
cmd 0 note && lines "$out" 5 && says "$out" 'AAAAAAAA  ' && says "$out" 'the one for the paper' && says "$out" 'out@{2}  ' && says "$out" ': looks odd' && says "$out" 'out@{1}  ' && ! grep -q "$(printf '\033')" "$out"
check 'and listed, in order, safe for a terminal'
cmd 0 note @ && lines "$out" 2 && cmd 0 note out && lines "$out" 3 && cmd 0 note 'out@{1}' && lines "$out" 2 && says "$out" 'second write'
check 'of one run, one file, one version'
cmd 0 note --json && json '.format == 1 and (.notes | length) == 4' && json '.notes[0] | .run == "01AAAAAAAAAAAAAAAAAAAAAAAA" and .text == "the one for the paper" and (.user | length > 0) and (.host | length > 0) and (.time | endswith("Z"))' && json '.notes[1] | .version == 2 and (.path | endswith("/out")) and (.file | startswith("f"))' && json '.notes[3].text_base64 != null'
check 'JSON'
cmd 0 log --json && json '.runs[0].notes | map(.text) | .[0] == "the one for the paper" and length == 2' && cmd 0 log --jsonl && json '.notes | length == 2' && cmd 0 log && lines "$out" 2
check 'log shows them, and no run more'
cmd 0 show @ && says "$out" 'note  ' && says "$out" 'for the paper' && cmd 0 show --json @ && json '.things[0].notes | length == 2' && cmd 0 show out && says "$out" ': looks odd' && says "$out" '@{1}  ' && cmd 0 show --json out && json '.things[0].notes | map(.version) == [2, 1]'
check 'show shows them'
cmd 0 why --json out && json 'tostring | contains("looks odd") and (contains("second write") | not)' && cmd 0 lineage --json out && json '[.entities[] | select(.notes) | .notes[0].text] == ["looks odd", "before the\nsecond write"]'
check 'why and lineage show those of the version'
cmd 0 show --json @ && jq -S '.things[0].notes' "$out" >"$T/first" && cmd 0 index --rebuild && cmd 0 show --json @ && jq -S '.things[0].notes' "$out" | cmp - "$T/first" && cmd 0 fsck
check 'a rebuilt index says the same'
cmd 0 note --json && jq -S . "$out" >"$T/all"
mv "$STEMMA_HOME/logs/h1" "$T/h1" && cmd 0 index --rebuild && mv "$T/h1" "$STEMMA_HOME/logs/h1" && cmd 0 note --json && jq -S . "$out" | cmp - "$T/all"
check 'notes that are known before what they are on'
cmd 1 note nosuchfile x && cmd 1 note '@~7' x && cmd 2 note out '' && cmd 2 note out a b && cmd 2 note --json out x && cmd 0 sql --csv 'SELECT pub FROM execution WHERE n = 1' && cmd 2 note "$(sed -n 2p "$out" | tr -d '\r')" x && says "$err" 'not for an execution'
check 'what cannot be'
head -c 70000 /dev/zero | tr '\0' a >"$T/long" && cmd 2 note out "$(cat "$T/long")" && head -c 65536 "$T/long" >"$T/fits" && cmd 0 note out "$(cat "$T/fits")" && cmd 0 note --json out && json '.notes[-1].text | length == 65536'
check 'a long note'
cmd 0 note @ && cmd 1 note -- @ && says "$err" "'@'"
check 'behind -- it is a file'
finish
