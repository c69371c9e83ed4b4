#!/bin/sh
# --count: the programs count their bytes themselves. What the log says of a file is what the calls returned to the program; what
# they could not count is not said. Nobody notices.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"
# shellcheck source=tests/prog/count.sh
. "$(dirname "$0")/../tests/prog/count.sh"

needs_count

# Whether the kernel tells a user what a killed program of theirs has read; where not, nothing can be proven of one.
told=yes
$PYTHON - 2>/dev/null <<'PY' || told=
import os, signal, time

pid = os.fork()
if pid == 0:
    signal.pause()
os.kill(pid, signal.SIGKILL)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
open(f'/proc/{pid}/io').read()
PY
[ "$told" ] || skip_ "bytes of a killed program" "the kernel does not tell this user of a process that is over"

for c in $("$PROGS/p-io"); do
	case $c in
	plain) counted p-io "$c" in:read in:written out:written ;;
	copies) counted p-io "$c" in:read in:written other:written ;;
	clone) counted p-io "$c" in:written ;;
	killed) counted p-io "$c" ${told:+in:read in:written} ;;
	inherited | interrupted | threads) counted p-io "$c" in:written ;;
	many*) ;;
	*) counted p-io "$c" ;;
	esac
done
# Opens with a stop and without, and from which on.
for inject in off auto always; do
	for c in many +many-killed many-forked many-handled; do
		case $c in
		many) known='f1:read f7:read f19:read f0:written f19:written' ;;
		+many-killed) known=${told:+f1:read f7:read f19:written} ;;
		many-forked) known='f7:read f19:written' ;;
		*) known= ;;
		esac
		# shellcheck disable=SC2086 # words
		STEMMA_INJECT=$inject counted p-io $c $known
	done
done
for kind in static musl; do
	[ ! -x "$PROGS/p-io-$kind" ] || STEMMA_INJECT=always counted p-io-$kind many f1:read f7:read f19:read f0:written f19:written
done
kinds='static bare pie pie-named musl musl-bare'
thorough || kinds='static bare musl musl-bare'
for kind in $kinds; do
	if [ -x "$PROGS/p-io-$kind" ]; then
		cases='plain placed copies threads inherited stdin raw kernel many many-handled'
		case $kind in pie) cases='plain threads stdin kernel many' ;; pie-named) cases='plain threads' ;; esac
		for c in $cases; do
			known=
			case $c in
			plain | placed | kernel) known='in:read in:written out:written' ;;
			copies) known='in:read in:written other:written' ;;
			inherited | raw) known='in:read in:written' ;;
			threads)
				case $kind in *-named | static) known=in:written ;; esac # else a thread's number is not known
				;;
			# musl asks for nothing before the program begins: what that began with is not counted from its first byte.
			stdin) case $kind in musl*) ;; *) known=given:read ;; esac ;;
			many) known='f1:read f7:read f19:read f0:written f19:written' ;;
			esac
			# shellcheck disable=SC2086 # words
			counted "p-io-$kind" $c $known
		done
	else
		skip_ "p-io-$kind" "not built: the tool chain for it is not here"
	fi
done

# A script of real programs, whose bytes are known from the files that they leave.
D=$T/pipe
mkdir -p "$D"
seq 20000 >"$D/in"
cat >"$D/job.sh" <<'SH'
cat in >copy
sort -r copy >sorted
dd if=sorted of=part bs=100 count=7 2>/dev/null
head -c 500 part >begin
while read -r line; do echo "$line"; done <begin >lines
SH
(cd "$D" && STEMMA_HOME=$D/home "$STEMMA" run --count -- sh job.sh) >"$T/why" 2>&1
result $? "a script runs" "$T/why"
STEMMA_HOME=$D/home "$STEMMA" stat --tsv @ >"$T/tsv" 2>"$T/why"
: >"$T/why"
# PROGRAM PATH WAY BYTES
while read -r program path way bytes; do
	got=$(awk -F'\t' -v p="$program" -v f="/$path" -v w="$way" \
		'index($2, p) == 1 && substr($4, length($4) - length(f) + 1) == f && $5 == w && $6 != "mmap" { if ($9 == "?") bad = 1; n += $9 } END { print bad ? "?" : n + 0 }' "$T/tsv")
	[ "$got" = "$bytes" ] || echo "$program $path $way: $got, it was $bytes" >>"$T/why"
done <<END
cat in read $(wc -c <"$D/in")
cat copy write $(wc -c <"$D/copy")
sort copy read $(wc -c <"$D/copy")
sort sorted write $(wc -c <"$D/sorted")
dd sorted read 700
dd part write 700
head part read 500
head begin write 500
END
[ ! -s "$T/why" ]
result $? "what each program read and wrote" "$T/why"

# When: an access lasts from the first byte to the last, or a little longer; what was written before the other was read does not
# come from it, though both were open all the time.
cat >"$T/moments.py" <<'PY'
import json, os, sys
files, accesses, ends = {}, {}, {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['k'] == 'file' and e['kind'] == 1:
        files[e['num']] = os.path.basename(e.get('path', ''))
    elif e['k'] == 'access' and files.get(e['file']) in ('given', 'out', 'cut'):
        accesses[e['seq']] = files[e['file']], e['mode']
    elif e['k'] == 'access_end' and e.get('exact'):
        ends[e['access']] = e
truth = {w[0]: (int(w[1]), int(w[2])) for w in map(str.split, open(sys.argv[2]))}
said = {}
for seq, (name, mode) in accesses.items():
    if (name == 'given') == (mode & 3 == 1):
        e = ends.get(seq)
        said[name] = (e['first'], e['last']) if e else None
bad, odd = 0, 1000000  # two clocks, set apart by the microsecond
for name, (first, last) in truth.items():
    if name in said and said[name] and (said[name][0] > first + odd or said[name][1] < last - odd):
        bad = 1
        print(f'{name} is said to be used from {said[name][0]} to {said[name][1]}, it was from {first} to {last}')
if not bad:
    i, o = said.get('given'), said.get('out')
    if not i or not o or i[0] <= o[1]:
        print('too wide:', said, truth)
        bad = 2
sys.exit(bad)
PY
case $(stat -f -c %T "$T") in
ext2/ext3 | tmpfs)
	for _ in 1 2 3 4 5; do
		D=$T/moments
		rm -rf "$D"
		mkdir -p "$D/d"
		seq 1000 >"$D/d/given"
		(cd "$D/d" && STEMMA_HOME=$D/home exec "$STEMMA" run --count --granularity=access -- "$PROGS/p-io" +moments) 9>"$D/truth" >"$T/why" 2>&1
		events "$D/home" "$T/events" || cat "$T/events.err" >>"$T/why"
		$PYTHON "$T/moments.py" "$T/events" "$D/truth" >>"$T/why" 2>&1
		[ $? = 2 ] || break
	done
	[ ! -s "$T/why" ]
	result $? "first and last moments" "$T/why"
	;;
*) skip_ "first and last moments" "on this file system (not ext4, not tmpfs) files can be cloned unseen" ;;
esac

# As under the other ways to record.
RUN_OPTIONS=--count
program p-open read create dirfd absent high-fd symlink many
program p-name rename rename-over link unlink-open tmpfile-proc truncate
program p-fd exec-writes exec-idles cloexec turns passed-write
program p-map shared shared-existing copy-file-range
program p-spawn fork vfork clone3 posix-spawn exec-thread fork-threads execveat script-nested many orphans
program p-end statuses signals segv last-thread exec-without-first kill-child killed-by-child
program p-chan pipe-exec fifo fifo-interrupted socketpair unix-stream tcp
program p-storm signals signals-restart threads
finish
