#!/bin/sh
# Terminals, on made logs and recorded: what was typed comes from outside, and what one program showed is not what another one read.
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
cmd 0 why /w/sorted && says "$out" 'from /w/in@{1} by' && cmd 0 lineage /w/sorted && says_not "$out" 'terminal' && says "$out" 'left out: 1 stream that may not have been read' &&
	cmd 0 lineage --all /w/sorted && says "$out" '? terminal /dev/pts/3'
check 'a terminal that was only there is left out, and counted'
cmd 0 lineage /w/count && says "$out" '? terminal /dev/pts/3  (typed)' && cmd 0 why /w/count && says "$out" 'made by cat | wc from terminal /dev/pts/3 (typed)? by'
check 'behind a pipe'
cmd 0 lineage /w/edited && says "$out" '─ terminal /dev/pts/3  (typed)' && cmd 0 why /w/edited && says "$out" 'from /w/in@{1}, terminal /dev/pts/3 (typed) by'
check 'one that was read for sure is never left out'
cmd 0 lineage --json /w/out && json '[.entities[] | select(.kind == "terminal") | .origin] == ["external"]' && json '[.edges[] | select(.type == "used" and .via == "descriptor")] | length == 1'
check 'the JSON'
cmd 0 lineage --down /w/secret && says_not "$out" '/w/out' && says_not "$out" '/w/count'
check 'what was shown leads to nothing that others made'

# recorded: a person is played by a program, on a terminal of its own
cat >"$T/type.py" <<'END'
import os, pty, signal, sys, threading
signal.alarm(60)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
again = threading.Event()
def typing():
    while True:
        try:
            os.write(terminal, b'hello\n\4')
        except OSError:
            return
        again.wait(0.2)
threading.Thread(target=typing, daemon=True).start()
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
typed()
{ # COMMAND...: recorded, on a terminal where somebody types
	$PYTHON -I "$T/type.py" "$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
echo b >b
typed sh -c 'cat >a' && grep -q hello a && cmd 0 why a && says "$out" 'a@{1}: made by cat' && says "$out" 'from terminal /dev/pts/' && says "$out" '(typed)? by' &&
	cmd 0 lineage a && says "$out" '─ ? terminal /dev/pts/' && says "$out" '(typed)  via descriptor'
check 'what was typed into a file'
typed sh -c 'sort b >c; cat b; cat a | tee d' && cmd 0 why c d && lines "$out" 2 && says_not "$out" 'typed' && says "$out" 'from b@{1} by' && cmd 0 lineage --all c && says "$out" 'terminal /dev/pts/'
check 'a terminal that was only there'
typed sh -c 'cat </dev/tty >e' && cmd 0 why e && says "$out" 'from terminal /dev/tty (typed)'
check 'a terminal opened by name'
typed sh -c 'sort b >f' && cmd 0 sql --csv "SELECT DISTINCT a.mode, a.via FROM access a JOIN file f ON f.id = a.file JOIN execution e ON e.id = a.execution WHERE f.kind = 'terminal' AND e.argv = 'sort b' AND a.mode = 'write'" && [ "$(tr -d '\r' <"$out")" = 'mode,via
write,sync' ]
check 'standard error is no data'
cmd 0 sql --csv "SELECT count(*) AS n FROM file WHERE kind = 'terminal' AND path LIKE '%ptmx%'" && [ "$(tr -d '\r' <"$out")" = 'n
0' ] && "$STEMMA" run -q -- $PYTHON -I "$T/type.py" sh -c 'cat >g' >/dev/null 2>"$err" </dev/null && cmd 0 sql --csv "SELECT count(*) AS n FROM file WHERE kind = 'terminal' AND path LIKE '%ptmx%'" && [ "$(tr -d '\r' <"$out")" = 'n
0' ] && cmd 0 why g && says "$out" '(typed)? by'
check "the other side of a pseudo-terminal is none"
finish
