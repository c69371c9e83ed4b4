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
finish
