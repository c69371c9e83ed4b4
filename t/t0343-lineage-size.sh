#!/bin/sh
# What is long: many branches of one kind are counted, the tree has a bound, an answer longer than the terminal goes through a pager;
# and what was mistyped.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for i in 1 2 3 4 5 6 7 8 9; do echo $i >s$i.txt; done
# shellcheck disable=SC2016 # the recorded shell's own
cmd 0 run -- sh -c 'for i in s?.txt; do sort $i >${i%.txt}.sorted; done; sort -m *.sorted >all; echo x >>odd; sort -m s[1-6].sorted odd >few'
check 'nine files, sorted and merged'
cmd 0 lineage all && says "$out" '─ s1.sorted@{1}' && says "$out" '─ s3.sorted@{1}' && says_not "$out" '─ s4.sorted@{1}' &&
	says "$out" '… 6 more like these, to s9.sorted@{1}'
check 'of many like each other three are shown'
cmd 0 lineage --all all && says "$out" '─ s9.sorted@{1}' && says_not "$out" 'more like these'
check '--all shows each'
cmd 0 lineage few && says "$out" '─ s6.sorted@{1}' && says "$out" '─ odd@{1}' && says_not "$out" 'more like these'
check 'six are no many, and what is of another kind is shown'
cmd 0 lineage --lines 4 all && says "$out" '… more than 4 lines (--lines 0: all; --depth N: nearer ones)' && says_not "$out" '─ s3.sorted' && says "$out" 'all by '
check '--lines'
cmd 0 lineage --lines 0 all && says_not "$out" 'more than'
check '--lines 0'
cmd 2 lineage --lines many all
check '--lines takes a number'
cmd 0 lineage --json all && json '[.entities[] | select(.path | endswith(".sorted"))] | length == 9'
check 'the JSON has all of them'

cmd 2 linage all && says "$err" "did you mean 'stemma lineage'?"
check 'a command that is mistyped'
cmd 2 xyzzy && says_not "$err" 'did you mean'
check 'a word that is like none'
cmd 2 lineage --certian all && says "$err" 'did you mean --certain?'
check 'an option that is mistyped'
cmd 0 help lineage && says "$out" 'usage: stemma lineage'
check 'stemma help COMMAND'

printf '#!/bin/sh\ncat >"%s"\n' "$T/paged" >"$T/pager"
chmod +x "$T/pager"
# terminal ROWS ARG...: stemma on a terminal of so many rows; what came there is in out
terminal()
{
	rm -f "$T/paged"
	STEMMA_PAGER="$T/pager" $PYTHON - "$STEMMA" "$@" >"$out" <<'END_PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', int(sys.argv[2]), 80, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1], *sys.argv[3:]])
text = b''
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
sys.stdout.buffer.write(text.replace(b'\r', b''))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END_PY
}
terminal 8 lineage all && [ -s "$T/paged" ] && says "$T/paged" 's3.sorted' && says_not "$out" 's3.sorted'
check 'an answer longer than the terminal goes through the pager'
terminal 60 lineage all && [ ! -e "$T/paged" ] && says "$out" 's3.sorted'
check 'a shorter one does not'
printf '#!/bin/sh\nexit 0\n' >"$T/pager"
terminal 8 lineage --all all
check 'a pager that is left at once is no error'
rm "$T/pager"
terminal 8 lineage all && says "$out" 's3.sorted'
check 'one that is not there'
cmd 0 lineage all && says "$out" 's3.sorted'
check 'and what is no terminal has none'
finish
