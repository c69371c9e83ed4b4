#!/bin/sh
# cc: nvcc, by a driver that runs what nvcc runs (preprocessors of host and device, cudafe++, cicc, ptxas, fatbinary, nvlink
# as scripts around gcc, under those names), and by nvcc itself where it is there.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

mkdir -p "$T/src/inc" "$T/cuda/bin" "$T/cuda/nvvm/bin"
cd "$T/src" || exit 1
printf '#include <stdio.h>\n#include "k.h"\n#ifdef __CUDACC__\n__global__ void k(int *p) { *p = K; }\n#endif\nint main(void) { printf("%%d\\n", K); return 0; }\n' >k.cu
echo '#define K 42' >inc/k.h
echo 'int other(void) { return 1; }' >other.cu
printf -- '-Iinc\n-O2\n' >flags.opt

# The driver reads -dryrun, --version, -o, -c, -Xcompiler, -optf as nvcc does, and leaves its temporary files as nvcc does: nowhere.
cat >"$T/cuda/bin/nvcc" <<'END'
#!/bin/sh
top=$(dirname "$(dirname "$0")")
out='' compile='' dry='' flags='' sources=''
while [ $# -gt 0 ]; do
	case $1 in
	--version) echo 'nvcc: NVIDIA (R) Cuda compiler driver'; exit 0 ;;
	-dryrun | --dryrun) dry=1 ;;
	-o) out=$2; shift ;;
	-c | -dc) compile=1 ;;
	-Xcompiler) flags="$flags $(echo "$2" | tr , ' ')"; shift ;;
	-optf) flags="$flags $(cat "$2")"; shift ;;
	-gencode | -arch) shift ;;
	-*) flags="$flags $1" ;;
	*) sources="$sources $1" ;;
	esac
	shift
done
tmp=/tmp/tmpxft
if [ -z "$dry" ]; then
	tmp=$(mktemp -d) || exit 1
	trap 'rm -rf "$tmp"' EXIT
fi
run()
{
	if [ "$dry" ]; then echo "#\$ $*" >&2; else "$@" || exit; fi
}
objects=
for s in $sources; do
	base=$(basename "$s")
	case $s in
	*.cu)
		b=$tmp/${base%.cu}
		# shellcheck disable=SC2086
		{
			run gcc -D__CUDA_ARCH__=800 -E -x c $flags "$s" -o "$b.cpp1.ii"
			run "$top/nvvm/bin/cicc" "$b.cpp1.ii" "$b.ptx"
			run "$top/bin/ptxas" "$b.ptx" -o "$b.cubin"
			run "$top/bin/fatbinary" "$b.cubin" "$b.fatbin.c"
			run gcc -E -x c $flags "$s" -o "$b.cpp4.ii"
			run "$top/bin/cudafe++" "$b.cpp4.ii" "$b.fatbin.c" "$b.cudafe1.c"
			o=$b.o
			[ -z "$compile" ] || o=${out:-${base%.cu}.o}
			run gcc -c -x c $flags "$b.cudafe1.c" -o "$o"
		}
		objects="$objects $o"
		;;
	*) objects="$objects $s" ;;
	esac
done
[ "$compile" ] && exit
run "$top/bin/nvlink" "$tmp/dlink.cubin" $objects
run gcc -o "${out:-a.out}" $objects
END
printf '#!/bin/sh\ncp "$1" "$2"\n' >"$T/cuda/nvvm/bin/cicc"
printf '#!/bin/sh\ncp "$1" "$3"\n' >"$T/cuda/bin/ptxas"
printf '#!/bin/sh\necho "static const char fatbin[] = \\"$(cksum <"$1" | cut -d " " -f 1)\\";" >"$2"\n' >"$T/cuda/bin/fatbinary"
printf '#!/bin/sh\ncat "$2" "$1" >"$3"\n' >"$T/cuda/bin/cudafe++"
printf '#!/bin/sh\ncat "$@" >"$1" 2>/dev/null\nexit 0\n' >"$T/cuda/bin/nvlink"
chmod +x "$T"/cuda/bin/* "$T/cuda/nvvm/bin/cicc"
PATH=$T/cuda/bin:$PATH
nvcc=$T/cuda/bin/nvcc

alike "$nvcc" -Iinc -c k.cu -o k.o
check 'a driver that runs what nvcc runs: nothing differs'
if [ -n "$STRACE" ]; then
	truth "$nvcc" -Iinc -c k.cu -o k.o && alike "$nvcc" -Iinc -c k.cu -o k.o && recorded
	check 'what was read'
else
	skip 'what was read' 'strace cannot be used here'
fi
latest gaps,code && is "$out" ',0' && roles source && is "$out" "$T/x/k.cu" && roles header && says "$out" "$T/x/inc/k.h" && outputs && is "$out" "$T/x/k.o" && roles tool && says "$out" cc1
check 'the source is the .cu, and the steps on the way are nobody'"'"'s'
alike "$nvcc" -Xcompiler -O2,-Iinc -gencode arch=compute_80,code=sm_80 k.cu other.cu -o prog && ./prog >"$out" && is "$out" 42 && roles source && is "$out" "$T/x/k.cu
$T/x/other.cu" && outputs && is "$out" "$T/x/prog"
check 'several sources, linked'
fresh && cmd 0 nvcc -Iinc -c k.cu -o k.o && cmd 0 cc nvcc k.o -o prog && ./prog >"$out" && is "$out" 42 && cmd 0 show prog && says "$out" 'k.cu  source' 'k.h  header' && latest compiler && is "$out" "$nvcc"
check 'stemma nvcc; the program leads to the source behind its object'
fresh && cmd 0 nvcc -optf flags.opt -c k.cu && "$STEMMA" sql --csv "SELECT path FROM build_input WHERE build = (SELECT id FROM build ORDER BY ended DESC, seq DESC LIMIT 1)" >"$out" && says "$out" "$T/x/flags.opt"
check 'a file of options'
"$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d >"$T/before"
alike "$nvcc" -Iinc -dryrun -c k.cu && alike "$nvcc" --dryrun -Iinc k.cu && alike "$nvcc" --version && "$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | cmp - "$T/before"
check 'what it only says it would do is not recorded'
alike "$nvcc" -c k.cu
[ "$direct" != 0 ] && latest code && is "$out" "$direct"
check 'a header that is not found: its status'

# The real one
PATH=${PATH#"$T/cuda/bin:"}
real=$(command -v nvcc) || real=/usr/local/cuda/bin/nvcc
if [ -x "$real" ] && (fresh && "$real" -Iinc -c k.cu -o k.o) >"$T/why" 2>&1; then
	alike "$real" -Iinc -ptx k.cu -o k.ptx
	check 'nvcc: nothing differs'
	fresh && cmd 0 cc "$real" -Iinc -dc k.cu -o k.o && latest gaps && is "$out" '' && roles source && is "$out" "$T/x/k.cu" && roles header && says "$out" "$T/x/inc/k.h" cuda_runtime.h && outputs && is "$out" "$T/x/k.o" && roles tool && says "$out" cicc ptxas cudafe++ cc1plus && cmd 0 cc "$real" k.o -o prog && ./prog >"$out" && is "$out" 42 && roles tool && says "$out" nvlink && cmd 0 show prog && says "$out" 'k.cu  source' 'k.h  header'
	check 'nvcc: sources, headers, its programs; device code linked apart'
else
	skip 'nvcc: nothing differs' "no nvcc that compiles here"
fi
finish
