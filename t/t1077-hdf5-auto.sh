#!/bin/sh
# HDF5 without --hdf5: the library that tells of it comes with HDF5, into programs that load it and into no others. What was read and written
# was put down by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH STEMMA_HDF5
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}
cmd 0 run -- true
recorded=$("$STEMMA" show --json @ | jq -r '.runs[0].recording.mechanism? // .runs[0].mechanism? // ""' 2>>"$err")
"$STEMMA" doctor >"$out" 2>>"$err"
"$STEMMA" show @ | grep -q 'recorded *complete/notify' || {
	echo "1..0 # SKIP system calls are not stopped by notification here: $recorded"
	exit 0
}

cat >make.py <<'END'
import h5py, numpy
with h5py.File('in.h5', 'w') as f:
    f['dark'] = numpy.arange(100.)
    f['flat'] = numpy.arange(100.) + 1
END
cat >use.py <<'END'
import h5py, os, sys
if len(sys.argv) > 3:
    os.environ.pop('STEMMA_APP', None)
with h5py.File('in.h5', 'r') as a, h5py.File(sys.argv[2], 'w') as b:
    b['sum'] = a[sys.argv[1]][:].sum()
print(any('libstemma-hdf5-attach' in line for line in open('/proc/self/maps')), os.environ.get('LD_PRELOAD'), os.environ.get('STEMMA_HDF5'))
END
comes_from()
{ # FILE WORDS...
	file=$1
	shift
	"$STEMMA" lineage --json "$file" >"$out" 2>>"$err" && jq -r '.entities[1:][].path' "$out" | sed "s|^$T/work/||" | grep -v '^pipe:' | sort -u >"$T/got"
	printf '%s\n' "$@" | sort >"$T/want"
	diff "$T/want" "$T/got" >>"$err"
}

cmd 0 run -- $PYTHON -B make.py && cmd 0 run -- $PYTHON -B use.py dark out.h5 && is "$out" 'True None None'
check 'the library comes with HDF5 into a Python program, and nothing is in its environment'
comes_from out.h5//sum in.h5//dark make.py use.py && cmd 0 why out.h5//sum && says "$out" 'dataset in.h5//dark' && says_not "$out" flat
check 'the dataset is known, and the one beside it is no source'
cmd 0 sql "SELECT count(*) FROM gap WHERE reason = 'hdf5'" && says "$out" 0
check '... without a gap'

cmd 0 run -- cat /proc/self/maps && says_not "$out" libstemma
check 'no other program has it'
cmd 0 run --hdf5=off -- $PYTHON -B use.py flat off.h5 && is "$out" 'False None None' && cmd 1 why off.h5//sum
check 'off: nobody has it'
cmd 0 run --hdf5=auto,group -- $PYTHON -B use.py flat group.h5 && says "$out" 'True None auto,group' && cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" && says "$out" 'excluded by --hdf5: dataset'
check 'classes'

# Many programs load it in the same moment; each reads the copy from its beginning.
cat >many.sh <<'END'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	$1 -B -c "import h5py; print(h5py.File('in.h5')['dark'][$i])" >"many.$i" 2>&1 &
done
wait
cat many.1 many.2 many.3 many.4 many.5 many.6 many.7 many.8 many.9 many.1? many.2?
END
cmd 0 run -- sh many.sh "$PYTHON" && cp "$out" "$T/many" && seq 1 24 | sed 's/$/.0/' | diff - "$T/many" >>"$err"
check 'many at once'

# The same inode under another name: the linker must find that it has it.
lib=$($PYTHON -c "
import h5py
print(next(l.split()[-1] for l in open('/proc/self/maps') if 'hdf5' in l and '/lib' in l and '_hl' not in l and l.rstrip().split('/')[-1].startswith('lib')))")
mkdir -p again && ln -sf "$lib" again/libhdf5_again.so
cat >twice.py <<'END'
import h5py, ctypes
first = {line.split()[0] for line in open('/proc/self/maps') if 'libhdf5' in line}
ctypes.CDLL('again/libhdf5_again.so')
print(len({line.split()[0] for line in open('/proc/self/maps') if 'libhdf5' in line} - first))
END
$PYTHON -B twice.py >"$T/plain" && cmd 0 run -- $PYTHON -B twice.py && cp "$out" "$T/under" && is "$T/plain" 0 && is "$T/under" 0
check 'a library is loaded once, whatever names it has'

cmd 0 run -- cmp "$lib" "$lib" && cmd 0 run -- cat "$lib" && cmp "$out" "$lib" >>"$err"
check 'who reads the library, and does not load it, reads the file'

# Nobody can change what others execute.
cat >write.py <<'END'
import h5py, os, sys
lines = [line.split() for line in open('/proc/self/maps') if 'stemma-library' in line]
assert lines
for line in lines:
    try:
        with open('/proc/self/map_files/' + line[0], 'r+b', buffering=0) as f:
            f.write(b'x')
        print('written')
    except PermissionError as e:
        print('refused')
END
if [ "$(id -u)" = 0 ]; then
	cmd 0 run -- $PYTHON -B write.py && says "$out" refused && says_not "$out" written
	check 'the copy cannot be written'
else
	skip 'the copy cannot be written' 'only root can open a mapping of its own'
fi

# A library that changes while the run goes on, and one that is no ELF file.
if command -v cc >"$out" 2>"$err"; then
	cat >fake.c <<'END'
int fake_version(void) { return VERSION; }
int H5Dwrite(void) { return VERSION; }
END
	cat >load.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *h = dlopen(argv[1], RTLD_NOW);
	int (*f)(void) = h ? (int (*)(void))dlsym(h, "fake_version") : NULL;
	printf("%d\n", f ? f() : -1);
	return argc != 2;
}
END
	mkdir -p old && cc -shared -fPIC -DVERSION=1 -o old/libhdf5_fake.so fake.c && cc -shared -fPIC -DVERSION=2 -o new.so fake.c && cc -o load load.c -ldl
	cmd 0 run -- sh -c './load old/libhdf5_fake.so; cp new.so old/libhdf5_fake.so; ./load old/libhdf5_fake.so; mv new.so old/libhdf5_fake.so; ./load old/libhdf5_fake.so; echo no ELF >old/libhdf5_fake.so; ./load old/libhdf5_fake.so' && printf '1\n2\n2\n-1\n' | diff - "$out" >>"$err"
	check 'what a program loads is the file as it is then'
else
	skip 'what a program loads is the file as it is then' 'no C compiler'
fi

# Two libraries in one program: each call comes to the one that the linker had bound it to, and a library is loaded once.
if command -v cc >"$out" 2>"$err"; then
	cat >one.c <<'END'
int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { *a = *b = *c = ME; return 0; }
int H5Dwrite(void) { return ME; }
int fake_version(void) { return ME; }
long H5Fcreate(const char *name, unsigned flags, long a, long b) { (void)name; (void)flags; (void)a; (void)b; return -ME; }
END
	cat >use.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int H5get_libversion(unsigned *, unsigned *, unsigned *);
long H5Fcreate(const char *, unsigned, long, long);
int which(void)
{
	unsigned a, b, c;
	long created = H5Fcreate("none", 2, 0, 0);
	H5get_libversion(&a, &b, &c);
	return (int)(-created * 10 + a);
}
#ifdef PROGRAM
static void ask(const char *name, int flags)
{
	void *h = dlopen(name, flags);
	int (*f)(void) = h ? (int (*)(void))dlsym(h, "which") : NULL;
	printf("%d\n", f ? f() : -1);
}
int main(void)
{
	printf("%d\n", which());
	ask("./bound.so", RTLD_NOW);
	ask("./deep.so", RTLD_NOW | RTLD_DEEPBIND);
	ask("./lazy.so", RTLD_LAZY);
	return 0;
}
#endif
END
	mkdir -p two && cc -shared -fPIC -DME=1 -Wl,-soname,libhdf5_one.so -o two/libhdf5_one.so one.c && cc -shared -fPIC -DME=2 -Wl,-soname,libhdf5_two.so -o two/libhdf5_two.so one.c &&
		cc -shared -fPIC -Wl,-Bsymbolic-functions -Wl,-z,lazy -o bound.so use.c -Ltwo -lhdf5_two '-Wl,-rpath,$ORIGIN/two' && cp bound.so deep.so && cp bound.so lazy.so &&
		cc -DPROGRAM -o use use.c -Ltwo -lhdf5_one '-Wl,-rpath,$ORIGIN/two' -ldl && sleep 0.1 &&
		./use >"$T/plain" && printf '11\n11\n22\n11\n' | diff - "$T/plain" >>"$err" && cmd 0 run -- ./use && diff "$T/plain" "$out" >>"$err"
	check 'two libraries: each call goes where it went without us'

	cat >once.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *first = dlopen("own/libhdf5_one.so", RTLD_NOW);
	int rc = argc < 2 || !first;
	if (!rc && argv[1][0] == 'c')
		rc = chmod("own/libhdf5_one.so", 0700);
	if (!rc && argv[1][0] == 'l')
		rc = link("own/libhdf5_one.so", "own/libhdf5_more.so");
	if (!rc && argv[1][0] == 'u')
		rc = setresuid(65534, 65534, 65534);
	if (!rc && argv[1][0] == 'n')
		rc = unshare(CLONE_NEWNS);
	printf("%d %s\n", rc, dlopen("own/libhdf5_other.so", RTLD_NOW) == first ? "same" : "twice");
	return 0;
}
END
	cc -o once once.c -ldl
	root='' differs=''
	[ "$(id -u)" != 0 ] || root='u n'
	chmod 755 "$T" "$T/work"
	for what in no c l $root; do
		rm -rf own && mkdir own && cc -shared -fPIC -DME=1 -o own/libhdf5_one.so one.c && ln -s libhdf5_one.so own/libhdf5_other.so && sleep 0.1
		cmd 0 run -- ./once "$what" && is "$out" '0 same' || differs="$differs $what"
	done
	[ -z "$differs" ]
	check 'a library is loaded once, whatever becomes of its file or of the process'

	mkdir -p mount && if mount -t tmpfs none mount 2>>"$err"; then
		cp two/libhdf5_one.so mount/
		mount -o remount,noexec mount && sleep 0.1
		./load mount/libhdf5_one.so >"$T/plain" && cmd 0 run -- ./load mount/libhdf5_one.so && is "$T/plain" -1 && is "$out" -1
		check 'a file system without execution: the library is not loaded, as without us'
		umount mount
	else
		skip 'a file system without execution: the library is not loaded, as without us' 'no right to mount'
	fi
else
	skip 'two libraries: each call goes where it went without us' 'no C compiler'
	skip 'a library is loaded once, whatever becomes of its file or of the process' 'no C compiler'
	skip 'a file system without execution: the library is not loaded, as without us' 'no C compiler'
fi

# An installation that is not whole: the linker would map what the file does not have.
ours=$(dirname "$STEMMA")/../capture/hdf5/libstemma-hdf5-attach.so
if [ -e "$ours" ]; then
	mkdir -p tree/src/cmd tree/src/capture/hdf5 && cp "$STEMMA" tree/src/cmd/stemma && head -c 20000 "$ours" >tree/src/capture/hdf5/libstemma-hdf5-attach.so
	tree/src/cmd/stemma run -q -- $PYTHON -B use.py dark cut.h5 >"$out" 2>"$err" && is "$out" 'False None None'
	check 'a library of ours that is cut is not loaded'
else
	skip 'a library of ours that is cut is not loaded' "no $ours"
fi
finish
