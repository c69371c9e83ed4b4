#!/bin/sh
# Hostile HDF5 files under --hdf5: damaged, in circles, very deep, with names that are long or steer a terminal, with links and
# storage that lead to a FIFO or a device. Each program does what it does without stemma, and what is recorded can be asked for.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
PYTHON=${STEMMA_H5PYTHON:-$PYTHON}
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}
damaged=${1:-40}
first=${2:-1}

cat >make.py <<'END'
import h5py, numpy, os, random, sys
what = sys.argv[1]
bad = b'\x1b]0;x\x07\n\xe2\x80\xae\xff"\'<script>'
def base(name):
    with h5py.File(name, 'w') as f:
        f['a/b/x'] = numpy.arange(100.0)
        f['a/b/x'].attrs['unit'] = 'K'
        f.create_dataset('a/y', data=numpy.arange(5000).reshape(50, 100), chunks=(10, 10), compression='gzip')
        f['text'] = [b'one', b'three']
        f['a/same'] = f['a/b/x']
        f['a/soft'] = h5py.SoftLink('/a/b/x')
        f['out'] = h5py.ExternalLink('other.h5', '/z')
        f['type'] = numpy.dtype([('i', 'i4'), ('d', 'f8')])
        f['ref'] = numpy.array([f['a'].ref, f['text'].ref], dtype=h5py.ref_dtype)
if what == 'damaged':
    base('whole.h5')
    data = open('whole.h5', 'rb').read()
    for seed in range(int(sys.argv[3]), int(sys.argv[3]) + int(sys.argv[2])):
        r, b = random.Random(seed), bytearray(data)
        for _ in range(r.choice((1, 1, 2, 8))):
            # Most bytes are zeros that mean nothing: those that are others, mostly.
            at = r.randrange(len(b))
            while b[at] == 0 and r.random() < 0.9:
                at = r.randrange(len(b))
            b[at] ^= 1 << r.randrange(8)
        if r.random() < 0.1:
            del b[r.randrange(len(b)):]
        open('damaged-%d.h5' % seed, 'wb').write(b)
elif what == 'circle':
    base('circle.h5')
    with h5py.File('circle.h5', 'a') as f:
        f['a/up'] = f['/']
        f['a/self'] = f['a']
        f['s1'], f['s2'] = h5py.SoftLink('/s2'), h5py.SoftLink('/s1')
        f['me'] = h5py.ExternalLink('circle.h5', '/me')
elif what == 'deep':
    with h5py.File('deep.h5', 'w') as f:
        g = f
        for _ in range(300):
            g = g.create_group('g')
        g['x'] = [1]
elif what == 'names':
    with h5py.File('names.h5', 'w') as f:
        for name in (bad, b'n' * 60000, b'..', b' ', b'\xff\xfe', b'a\nb', b'=1+1', b'\xe2\x80\xaex'):
            f[name] = [1.0]
            f[name].attrs[name[:200]] = 1
        for i in range(3000):
            f.create_group('many/%d' % i)
elif what == 'fifo':
    for p in ('fifo.h5', 'raw.fifo'):
        os.mkfifo(p)
    with h5py.File('fifo-links.h5', 'w') as f:
        f['x'] = [1.0]
        f['a'] = h5py.ExternalLink('fifo.h5', '/x')
        f['b'] = h5py.ExternalLink('/dev/zero', '/x')
        f['c'] = h5py.ExternalLink('/proc/self/mem', '/x')
        f['d'] = h5py.ExternalLink('x' * 5000, '/x')
        f.create_dataset('raw', (4,), 'f8', external=[('raw.fifo', 0, 32)])
        f.create_dataset('zero', (4,), 'f8', external=[('/dev/zero', 0, 32)])
        l = h5py.VirtualLayout((4,), 'f8')
        l[:] = h5py.VirtualSource('fifo.h5', 'x', (4,))
        f.create_virtual_dataset('virtual', l)
END
# Opens all that it finds, follows no link out of the file, and reads what lies in the file itself.
cat >walk.py <<'END'
import h5py, sys
import numpy
count = [0]
def look(g, depth):
    for name in list(g.id):
        count[0] += 1
        if count[0] > 4000 or depth > 400:
            return
        try:
            link = g.get(name, getlink=True)
            print(depth, ascii(name[:50]), len(name), type(link).__name__)
            if type(link).__name__ != 'HardLink':
                continue
            o = g[name]
            print(sorted((ascii(k[:50]), ascii(v)[:80]) for k, v in o.attrs.items()))
            if isinstance(o, h5py.Dataset):
                print(o.shape, o.dtype, o.external, o.is_virtual)
                if not o.external and not o.is_virtual and o.size < 100000 and o.dtype.kind in 'iufS':
                    print(numpy.asarray(o[()]).tobytes()[:64])
            elif isinstance(o, h5py.Group) and depth < 3 or name == b'g':
                look(o, depth + 1)
        except Exception as e:
            print('failed', type(e).__name__)
sys.setrecursionlimit(10000)
for path in sys.argv[1:]:
    count[0] = 0
    try:
        with h5py.File(path, 'r') as f:
            look(f, 0)
    except Exception as e:
        print('failed', type(e).__name__)
END
# What the library puts into errors and answers by itself is the same, too; addresses are not.
plain()
{ # NAME COMMAND...: alone
	name=$1
	shift
	timeout 60 "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null
	echo $? >"$T/$name.status"
}
same()
{ # COMMAND...: does the same under --hdf5, and the run is there
	plain alone "$@"
	plain under "$STEMMA" run -q --hdf5 -- "$@"
	for part in out err status; do
		sed 's/0x[0-9a-f]*/0x/g; s/thread [0-9]*/thread/' "$T/alone.$part" >"$T/a"
		sed 's/0x[0-9a-f]*/0x/g; s/thread [0-9]*/thread/' "$T/under.$part" | grep -av '^stemma: ' >"$T/b"
		cmp -s "$T/a" "$T/b" && continue
		{
			echo "other $part: $*"
			diff "$T/a" "$T/b" | cut -c 1-200 | head -5
		} >>"$T/wrong"
	done
	[ "$(cat "$T/alone.status")" != 124 ] || echo "too slow alone: $*" >>"$T/wrong"
}
asked()
{ # the record of the last run can be asked for
	"$STEMMA" show @ >"$T/shown" 2>"$T/asked" && ! grep -q 'recorder was killed\|recorder_died' "$T/shown" || {
		echo "show fails" >>"$T/wrong"
		head -3 "$T/asked" >>"$T/wrong"
	}
	! LC_ALL=C grep -q "$(printf '\033')" "$T/shown" || echo "show prints an escape" >>"$T/wrong"
}
judge()
{ # WHAT
	cp "$T/wrong" "$err"
	[ ! -s "$T/wrong" ]
	check "$1"
	: >"$T/wrong"
}
: >"$T/wrong"

for what in circle deep names fifo; do
	$PYTHON make.py $what 2>"$err" || break
	file=$what.h5
	[ $what != fifo ] || file=fifo-links.h5
	same $PYTHON walk.py $file
	asked
	"$STEMMA" lineage --json "$file" >"$out" 2>>"$T/wrong"
	"$STEMMA" find "used '$file'" >"$out" 2>"$T/found" || [ $? = 1 ] || cat "$T/found" >>"$T/wrong"
	if command -v h5dump >/dev/null; then
		[ $what = fifo ] || same h5dump -H $file # it opens what a link leads to, and waits at the FIFO
		same h5ls -r $file
		asked
	fi
	judge "a file with $what"
done

# Copying visits a group by the library's own calls.
cat >copies.py <<'END'
import h5py
for name in ('circle.h5', 'names.h5', 'fifo-links.h5', 'deep.h5'):
    with h5py.File(name) as f, h5py.File('copied.h5', 'w') as t:
        for member in f:
            try:
                if f.get(member, getlink=True).__class__.__name__ == 'HardLink' and member not in ('raw', 'zero', 'virtual'):
                    f.copy(member, t, 'c%d' % len(t))
            except Exception as e:
                print('failed', type(e).__name__)
        print(name, len(t))
END
same $PYTHON copies.py
asked
judge 'what is in them is copied'

$PYTHON make.py damaged "$damaged" "$first"
n=$first
while [ $n -lt $((first + damaged)) ]; do
	same $PYTHON walk.py damaged-$n.h5
	[ $((n % 10)) != 0 ] || asked
	n=$((n + 1))
done
judge "$damaged damaged files are read"
if command -v h5dump >/dev/null; then
	n=$first
	while [ $n -lt $((first + damaged)) ]; do
		same h5dump damaged-$n.h5
		n=$((n + 1))
	done
	asked
	judge "$damaged damaged files are dumped"
fi
cmd 0 fsck
check 'the record is whole'
finish
