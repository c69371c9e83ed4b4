#!/bin/sh
# Terminals: what was typed comes from outside, and what one program showed is not what another one read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['sh'])
tty = h.file('/dev/pts/3', TERMINAL)
BOTH = READ | WRITE
def begin(parent, *argv):
    """A program that was handed the terminal, as every one there is."""
    p = h.process(parent); h.exec(p, list(argv), exe='/usr/bin/' + argv[0])
    return p, h.add('access', p=p, file=tty, mode=BOTH, via=DESCRIPTOR, sure=0, api=2)
def end(p, a, evidence=1):
    h.end_access(p, a, evidence=evidence); h.exit(p)
sh, sh_tty = begin(0, 'sh')
shown, t = begin(sh, 'show', 'secret'); h.read(shown, h.file('/w/secret')); end(shown, t, 2)
cat, t = begin(sh, 'cat'); h.write(cat, h.file('/w/out'), size=3); end(cat, t)
sort, t = begin(sh, 'sort', 'in'); h.read(sort, h.file('/w/in')); h.write(sort, h.file('/w/sorted'), size=3); end(sort, t)
piped, t = begin(sh, 'cat'); pipe = h.file('pipe:[7]', PIPE); h.write(piped, pipe, mode=WRITE, via=DESCRIPTOR); end(piped, t)
wc, t = begin(sh, 'wc'); h.read(wc, pipe, via=DESCRIPTOR); h.write(wc, h.file('/w/count'), size=3); end(wc, t)
sure, t = begin(sh, 'edit', 'in'); h.read(sure, h.file('/w/in')); h.read(sure, tty); h.write(sure, h.file('/w/edited'), size=3); end(sure, t)
end(sh, sh_tty)
h.end(); h.save(home, evtext)
END
cmd 0 why /w/out && says "$out" '/w/out@{1}: made by cat from terminal /dev/pts/3 (typed)? by ann@h1' && says_not "$out" 'secret'
check 'what was typed is an input'
cmd 0 lineage /w/out && says "$out" '└─ ? terminal /dev/pts/3  (typed)  via descriptor' && says_not "$out" 'secret' && says_not "$out" 'show'
check 'and the lineage ends there'
cmd 0 lineage --all --fork /w/out && says "$out" '(typed)' && says_not "$out" 'secret'
check 'also with everything'
cmd 0 why /w/sorted && says "$out" 'from /w/in@{1} by' && cmd 0 lineage /w/sorted && says_not "$out" 'terminal' && says "$out" 'left out: 1 stream that was there to read' &&
	cmd 0 lineage --all /w/sorted && says "$out" '? terminal /dev/pts/3'
check 'a terminal that was only there is left out, and counted'
cmd 0 lineage /w/count && says "$out" '? terminal /dev/pts/3  (typed)' && cmd 0 why /w/count && says "$out" 'made by cat | wc from terminal /dev/pts/3 (typed)? by'
check 'behind a pipe'
cmd 0 lineage /w/edited && says "$out" '─ terminal /dev/pts/3  (typed)' && cmd 0 why /w/edited && says "$out" 'from terminal /dev/pts/3 (typed), /w/in@{1} by'
check 'one that was read for sure is never left out'
cmd 0 lineage --json /w/out && json '[.entities[] | select(.kind == "terminal") | .origin] == ["external"]' && json '[.edges[] | select(.type == "used" and .via == "descriptor")] | length == 1'
check 'the JSON'
cmd 0 lineage --down /w/secret && says_not "$out" '/w/out' && says_not "$out" '/w/count'
check 'what was shown leads to nothing that others made'
finish
