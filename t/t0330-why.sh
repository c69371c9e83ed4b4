#!/bin/sh
# why: one line, always; what it names, what it leaves out, widths, what it says of files nobody was seen making.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['./all.sh'])
sh = h.process(); h.exec(sh, ['/bin/sh', './all.sh'], exe='/usr/bin/dash', script='/w/all.sh')
# sort in | uniq -c > out, as a shell does it: it forks, opens, becomes the program
pipe = h.file('pipe:[1]', PIPE)
a = h.process(sh); h.exec(a, ['/usr/bin/sort', 'in'], exe='/usr/bin/sort')
h.read(a, h.file('/w/in', size=9)); h.write(a, pipe, mode=WRITE, via=DESCRIPTOR); h.exit(a)
b = h.process(sh); out = h.write(b, h.file('/w/out'), evidence=2)
h.exec(b, ['uniq', '-c'], exe='/usr/bin/uniq')
h.read(b, pipe, via=DESCRIPTOR); h.write(b, h.file('/w/out'), size=4, mode=WRITE, via=DESCRIPTOR); h.exit(b)
# many inputs, a long command
c = h.process(sh); h.exec(c, ['merge'] + ['input-number-%d.dat' % i for i in range(40)], exe='/usr/bin/merge')
for i in range(40):
    h.read(c, h.file('/w/input-number-%d.dat' % i))
h.read(c, h.file('/usr/lib/libm.so.6')); h.write(c, h.file('/w/merged'), size=1); h.exit(c)
# an argv of a megabyte
d = h.process(sh); h.exec(d, ['big', 'x' * 500000, 'y' * 500000], exe='/usr/bin/big'); h.write(d, h.file('/w/big'), size=1); h.exit(d)
# may be, two makers
e = h.process(sh); h.exec(e, ['left'], exe='/usr/bin/left'); f = h.process(sh); h.exec(f, ['right'], exe='/usr/bin/right')
h.read(e, h.file('/w/in'), sure=0, via=DESCRIPTOR)
h.write(e, h.file('/w/both'), mode=WRITE | APPEND, evidence=1); h.write(f, h.file('/w/both'), mode=WRITE | APPEND, evidence=1)
h.write(f, h.file('/w/maybe'), mode=WRITE, evidence=1, size=2)
# changed unseen: the file looks otherwise than it was left
h.read(f, h.file('/w/in', size=10)); h.write(f, h.file('/w/last'), size=1)
h.add('gap', p=f, reason=1, count=2); h.exit(f); h.exit(e)
h.exit(sh); h.end(); h.save(home, evtext)
END
cmd 0 why /w/out && is "$out" '/w/out@{1}: made by sort in | uniq -c in sh ./all.sh from /w/in@{1} by ann@h1, 2026-01-01T00:00:38Z; GONE'
check 'a pipeline, and the shell that opened the file for it'
cmd 0 why /w/merged && lines "$out" 1 && says "$out" '/w/merged@{1}: made by merge from /w/input-number-0.dat@{1}, /w/input-number-1.dat@{1}, ' && says "$out" ', 36 more by' && says_not "$out" 'libm'
check 'of many inputs some, and how many more'
for w in 40 60 80 100 120 200 400; do
	COLUMNS=$w cmd 0 why /w/out && lines "$out" 1 && COLUMNS=$w cmd 0 why /w/merged && lines "$out" 1 && says "$out" ' from ' &&
		{ [ $w -lt 200 ] || says "$out" 'by ann@h1'; } && { [ $w -lt 80 ] || [ "$(wc -m <"$out")" -le $((w + 1)) ]; }
	check "$w columns"
done
cmd 0 why /w/big && lines "$out" 1 && [ "$(wc -c <"$out")" -lt 2000 ] && says "$out" 'made by big xxx'
check 'an argument list of a megabyte'
cmd 0 why /w/maybe && says "$out" 'made by right ? ' && says "$out" 'record incomplete'
check 'what only may be is marked, and a gap said'
cmd 0 why /w/both && says "$out" 'made by left and right ?' && says "$out" '/w/in@{1}?'
check 'two makers, and an input that only may be'
cmd 1 why /w/input-number-3.dat && is "$out" "/w/input-number-3.dat@{1}: external, first observed $(sed -n 's/.*first observed \([^,]*\),.*/\1/p' "$out"), used by 1 execution; GONE"
check 'what was there before'
cmd 1 why /w/in && says "$out" '/w/in@{2}: modified outside stemma by an unrecorded program, before 2026-'
check 'what changed unseen'
cmd 1 why /w/nosuch && [ ! -s "$out" ] && lines "$err" 1 && says "$err" "stemma: '/w/nosuch' does not exist, and nothing is recorded about it"
check 'what nobody recorded'
echo x >there
cmd 1 why there && says "$err" "stemma: nothing is recorded about 'there'"
check 'a file that is there, and that nobody recorded'
cmd 1 why /w/out /w/nosuch /w/merged && lines "$out" 2 && lines "$err" 1
check 'several files: those that are known are answered'
cmd 1 why pipe:[1] && cmd 1 why -- --no-such-option
check 'things that are no files'
cmd 0 why --json /w/out && json '.format == 1 and (.answers | length) == 1' &&
	json '.answers[0] | .entity.path == "/w/out" and .disk == "gone" and ([.makers[].argv[0]] == ["uniq", "/usr/bin/sort"]) and ([.inputs[].path] == ["/w/in"]) and ([.opener_inputs[].path] == ["/w/all.sh"]) and .openers[0].argv[1] == "./all.sh"'
check 'the JSON'

# names: what is recorded of them, and what is not
rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
echo a >a
rec sh -c 'cat a >b; ln b later; cat b >c; ln b latest; mv latest last'
cmd 0 why b && says "$out" 'b@{1}: made by cat a' && cmd 0 why c && says "$out" ' from b@{1} by' && cmd 0 lineage c && says "$out" '─ b@{1}  ' && says_not "$out" 'last' && says_not "$out" 'later'
check 'a file goes by the oldest name it has'
cmd 0 why later && says "$out" 'later@{1}: made by cat a' && cmd 0 why last && says "$out" 'last@{1}: made by cat a'
check 'and by the one it is asked for by'
rec rm b
cmd 0 why c && says "$out" ' from later@{1} by' && rec rm later last && cmd 0 why c && says "$out" 'from last@{1} by' && cmd 0 why later && says "$out" 'last@{1} (was later): made by cat a' && says "$out" '; GONE'
check 'when that is gone by the next one, and at the end by the one it had last'
rec sh -c 'cat a >d; cat a >e; cat a >f'
mv d d2
cmd 0 why d2 && says "$out" 'd2@{1} (recorded as d): made by cat a' && says_not "$out" 'GONE' && cmd 0 why d && says "$out" 'd@{1}: made by cat a' && says "$out" '; GONE'
check 'a file that was moved unseen'
# Deeper than a path can be long: 25 folders with names of 200 bytes.
here=$PWD name=$(printf '%0200d' 0) i=0
while [ $((i += 1)) -le 25 ]; do mkdir "$name" && cd -P "$name" || break; done
echo a >deep
rec sh -c 'cat deep >deeper'
cmd 0 why deeper && says "$out" 'deeper@{1}' && says "$out" 'cat deep' && says_not "$out" '(recorded as )'
check 'a file of which no name could be recorded'
cd "$here" || exit 1
rec mv e e2
cmd 0 why e && says "$out" 'e2@{1} (was e): made by cat a' && says_not "$out" 'GONE' && cmd 0 why e2 && says "$out" 'e2@{1} (was e): made by cat a'
check 'one that was seen moved'
rm f e2
cmd 0 why f && says "$out" 'f@{1}: made by cat a' && says "$out" '; GONE' && cmd 0 why e && says "$out" 'e2@{1} (was e): made by cat a' && says "$out" '; GONE' && cmd 0 why f@{1} && says_not "$out" 'GONE'
check 'files that are gone; of a version it is not said'

rec sh -c 'cat a >n1' && mv n1 n2 && rec sh -c 'cat n2 >n3'
cmd 0 why n3 && says "$out" 'from n2@{1} by' && cmd 0 why n2 && says "$out" 'n2@{1}: made by cat a'
check 'a file that was moved unseen goes by the name it was last seen by'
for f in c n3 d2 e last; do "$STEMMA" why $f; done >"$T/before" 2>&1
cmd 0 index --rebuild && for f in c n3 d2 e last; do "$STEMMA" why $f; done >"$out" 2>&1
cmp "$T/before" "$out" && [ -s "$out" ]
check 'all names are as they were when the index is made anew'
finish
