#!/bin/sh
# The modules of the paper's Table I, built from Debian's source packages: what stemma spec --stats says of them, traced
# runs that do what untraced ones do, and the first divergence of two runs at a line that is known from the source alone.
# STEMMA_DEBIAN_SOURCES: a folder of source packages that were fetched before (PACKAGE_*.orig.tar.*).
# shellcheck disable=SC2154 # of lib.sh
sources=${STEMMA_DEBIAN_SOURCES:-}
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
unset LC_ALL LANGUAGE
export LANG=C LC_ALL=C
# shellcheck source=t/modules.sh
. "$here/t/modules.sh"
mkdir "$T/bin"

# figures PACKAGE PROGRAM NAME: Table I's and Fig. 12's columns. What is made of it is a small part of the program.
figures()
{
	"$STEMMA" spec --stats --json "$T/traced/$1/$2" >"$out" 2>"$err" &&
		jq -r --arg name "$3" '.stats | "# \($name): \(.instructions) instructions, \(.edges) edges, \(.back_edges) back edges, \(.functions) functions, \(.recursive) recursive; kept \(.nodes) nodes (\(1000 * .nodes / .instructions | round / 10) %), \(.edges_kept) edges (\(1000 * .edges_kept / .edges | round / 10) %)"' "$out" &&
		jq -e '.gaps == [] and (.stats | .nodes / .instructions <= 0.1 and .functions_kept > 0 and .decisions > 0)' "$out" >/dev/null
}

# module PACKAGE PROGRAM...: $modules has those that are there
modules=' '
module()
{
	package=$1
	shift
	if ! source_of "$package"; then
		skip "$package" "$why"
		return 1
	fi
	built "$package" "$@"
	check "$package is built, plain and traced"
	for program; do
		name=$(basename "$program")
		[ -x "$T/traced/$package/$program" ] && figures "$package" "$program" "$name"
		check "$name has a specification"
		for kind in plain traced; do
			mkdir -p "$T/bin/$kind"
			ln -s "$T/$kind/$package/$program" "$T/bin/$kind/$name"
		done
		modules="$modules$name "
	done
}

# ---- pairs ---------------------------------------------------------------------------------------------------------

# does KIND SIDE COMMAND: in a fresh copy of the data
does()
{
	rm -rf "$T/in" "$T/tr-$2" && cp -a "$T/data" "$T/in" && mkdir "$T/tr-$2"
	(
		cd "$T/in" || exit 1
		# shellcheck disable=SC2030,SC2031
		PATH=$T/bin/$1:$PATH
		[ "$1" = plain ] || export STEMMA_TRACE="$T/tr-$2" STEMMA_TRACE_MODE="$mode"
		eval "timeout -k 5 120 $3" >"$T/out-$1" 2>"$T/err-$1" </dev/null
		echo "status $?" >>"$T/out-$1"
		find . -type f | LC_ALL=C sort | xargs cksum >>"$T/out-$1"
	)
}

# as_plain SIDE COMMAND: the traced program does the same to the byte; what it says to the user holds times in some
as_plain()
{
	does plain x "$2" && does traced "$1" "$2" && cmp "$T/out-plain" "$T/out-traced" >>"$err" 2>&1 || return 1
	case $2 in
	minimap2* | bwa*) ;;
	*) cmp "$T/err-plain" "$T/err-traced" >>"$err" 2>&1 ;;
	esac
}

first='[.threads[] | select(.divergences_total > 0)][0].divergences[0]'
# told A B LINE OUTCOME OUTCOME. Where what reached nothing is taken back, the answer may be that this differs first.
told()
{
	"$STEMMA" diff --trace --json "$T/tr-$1" "$T/tr-$2" >"$out" 2>>"$err"
	[ $? = 1 ] || return 1
	[ $mode = full ] || ! jq -e "$first.kind == \"silent\" and ([.threads[].partial] | any)" "$out" >/dev/null || return 0
	jq -e "$first | [.place.function, (.place.file | split(\"/\")[-1]), .place.line, .a.at.outcome, .b.at.outcome] == [\"$function\", \"$(basename "$file")\", $3, \"$4\", \"$5\"]" "$out" >/dev/null && return 0
	echo "in mode $mode wanted $function $file:$3 $4 | $5, got:" >>"$err"
	jq -c ".threads[] | [.verdict, .divergences[0].text, .notes]" "$out" >>"$err"
	return 1
}

# pair PACKAGE FILE FUNCTION OFFSET TEXT OUTCOME OUTCOME COMMAND COMMAND: the line is OFFSET behind the one that reads TEXT
pair()
{
	package=$1 file=$2 function=$3
	program=${8%% *}
	case $modules in
	*" $program "*) ;;
	*) return ;;
	esac
	: >"$out" 2>"$err"
	line=$(grep -nF -e "$5" "$T/src/$package/$file" | cut -d : -f 1)
	case $line in
	'' | *[!0-9]*)
		skip "$8 | $9" "$file of this version reads otherwise"
		return
		;;
	esac
	line=$((line + $4))
	wrong=0
	for mode in full lazy; do
		as_plain a "$8" && as_plain b "$9" && told a b "$line" "$6" "$7" && told b a "$line" "$7" "$6" || wrong=1
	done
	[ $wrong = 0 ]
	check "$8 | $9: $function() at $file:$line"
}

# small COMMAND: of the calls of functions that callgrind counts, at most one in fifty is kept in the trace of the same run
small()
{
	program=${1%% *}
	case $modules in
	*" $program "*) ;;
	*) return ;;
	esac
	if ! command -v valgrind >/dev/null; then
		skip "$program: calls kept" 'no valgrind to count calls with'
		return
	fi
	: >"$out" 2>"$err"
	mode=lazy
	does traced x "valgrind -q --tool=callgrind --callgrind-out-file=$T/callgrind $1"
	calls=$(awk -F '[= ]' '/^calls=/ { n += $2 } END { print n + 0 }' "$T/callgrind")
	kept=$("$PYTHON" - "$T"/tr-x/*.trace <<'END'
import struct, sys
enters = 0
for path in sys.argv[1:]:
    data = open(path, 'rb').read(64 << 20)
    after, first = struct.unpack_from('<QQ', data, 8)
    words = struct.unpack_from('<%dI' % ((after - first) // 4), data, 4096)
    at = 0
    while at < len(words):
        kind, value = words[at] >> 29, words[at] & 0x1fffffff
        enters += kind == 1
        at += 1 + (4 if kind == 5 else value & 0xffff if kind == 7 else 0)
print(enters)
END
	) && [ "$kept" -gt 10 ] && [ "$((kept * 50))" -le "$calls" ]
	check "$program: $kept of $calls calls of functions are kept"
}

# ---- data ----------------------------------------------------------------------------------------------------------

mkdir "$T/data"
(
	cd "$T/data" || exit 1
	printf 'a\nb\n' >ab
	printf 'b\na\n' >ba
	printf 'a\na\n' >aa
	printf 'y\n' >yes
	printf 'n\n' >no
	"$PYTHON" - <<'END'
import bz2, hashlib, random
random.seed(7)
words = [''.join(random.choice('abcdefghij') for _ in range(random.randint(2, 9))) for _ in range(500)]
open('text', 'w').write('\n'.join(' '.join(random.choice(words) for _ in range(12)) for _ in range(2000)))
genome = ''.join(random.choice('ACGT') for _ in range(30000))
open('ref.fa', 'w').write('>r\n%s\n' % genome)
with open('reads.fa', 'w') as f:
    for n in range(20):
        at = random.randrange(29000)
        f.write('>q%d\n%s\n' % (n, genome[at:at + 700]))
digest = hashlib.blake2b(b'a\nb\n').hexdigest()
open('good', 'w').write('%s  ab\n' % digest)
open('bad', 'w').write('%s%d  ab\n' % (digest[:-1], digest[-1] == '0'))
packed = bytearray(bz2.compress(open('text', 'rb').read()))
open('text.bz2', 'wb').write(packed)
packed[10] ^= 1 # of the sum of the block
open('torn.bz2', 'wb').write(packed)
END
) || exit 1

# ---- the modules ---------------------------------------------------------------------------------------------------

module coreutils src/rm src/uniq src/b2sum src/sort src/cat && {
	pair coreutils src/remove.c rm_fts 1 'prompt (fts, ent, is_dir, x, PA_REMOVE_DIR, NULL);' false true 'rm -i ab <yes' 'rm -i ab <no'
	pair coreutils src/uniq.c check_file 0 'if (new_group && grouping != GM_NONE' true false 'uniq ab' 'uniq aa'
	pair coreutils src/digest.c digest_check 0 'if (cnt != digest_bin_bytes || ! quiet)' false true 'b2sum -c good' 'b2sum -c bad'
	pair coreutils src/sort.c check 0 'if (nonunique <= compare (line, line - 1))' false true 'sort -c ab' 'sort -c ba'
	pair coreutils src/cat.c main 0 'if (input_desc < 0)' false true 'cat ab' 'cat xy'
}
module bzip2 bzip2 && {
	pair bzip2 bzlib.c BZ2_bzDecompress 0 'if (s->calculatedBlockCRC != s->storedBlockCRC)' false true 'bzip2 -t text.bz2' 'bzip2 -t torn.bz2'
	small 'bzip2 -c text'
}
module sed sed/sed && {
	# It is "!fp" that is true or false, not the fp that clang compares.
	pair sed sed/utils.c ck_fopen 1 'fp = fopen (name, mode);' false true 'sed -n p ab' 'sed -n p xy'
}
module grep src/grep && {
	pair grep lib/fd-safer.c fd_safer 0 'if (STDIN_FILENO <= fd && fd <= STDERR_FILENO)' true false 'grep -c a ab' 'grep -c a xy'
}
module minimap2 minimap2 && {
	pair minimap2 map.c open_bseqs 0 'if ((fp[i] = mm_bseq_open(fn[i])) == 0) {' false true 'minimap2 -t 1 ref.fa reads.fa' 'minimap2 -t 1 ref.fa nowhere1'
	small 'minimap2 -t 1 ref.fa reads.fa'
}
module bwa bwa && {
	pair bwa utils.c err_xzopen_core 0 'if ((fp = gzopen(fn, mode)) == 0) {' false true 'bwa index ref.fa' 'bwa index non.fa'
}
finish
