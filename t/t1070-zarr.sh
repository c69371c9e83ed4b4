#!/bin/sh
# Zarr arrays by their paths: which program made which chunks, from which chunks of which arrays. The programs use Debian's
# zarr (version 2); stores of version 3 are written by a few lines of Python after the specification. The sources were
# written down by hand, from what each program does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if $PYTHON -c 'import zarr, numpy' 2>"$err"; then
	seq -s, 1 10 >in.csv
	seq -s, 11 20 >other.csv
	# Five chunks of temperature from in.csv; pressure, with its chunks in folders, from other.csv by another program.
	cat >make.py <<'END'
import zarr, numpy
row = numpy.loadtxt('in.csv', delimiter=',')
g = zarr.open_group('raw.zarr', mode='w')
t = g.create_dataset('temperature', shape=(10, 10), chunks=(2, 2), dtype='f8')
t[:2, :] = numpy.stack([row, row])
END
	cat >pressure.py <<'END'
import zarr, numpy
row = numpy.loadtxt('other.csv', delimiter=',')
g = zarr.open_group('raw.zarr', mode='r+')
g.create_dataset('deep/pressure', shape=(4, 2), chunks=(2, 2), dtype='f8', dimension_separator='/')[:] = row[:8].reshape(4, 2)
END
	cat >derive.py <<'END'
import zarr
g = zarr.open_group('raw.zarr', mode='r')
g['deep/pressure'].shape
o = zarr.open_group('out.zarr', mode='w')
o.create_dataset('warm', data=g['temperature'][:2, :6] + 1, chunks=(2, 2))
END
	# Opens temperature and reads nothing of it: it writes one whole chunk.
	cat >patch.py <<'END'
import zarr
zarr.open_group('raw.zarr', mode='r+')['temperature'][8:, 8:] = 7
END
	cat >text.py <<'END'
import zarr, sys
a = zarr.open_group(sys.argv[1], mode='r')[sys.argv[2]]
open(sys.argv[3], 'w').write(repr(a[:2, :4]))
END
	for step in make pressure derive patch 'text raw.zarr temperature t.txt' 'text out.zarr warm w.txt'; do
		set -- $step
		name=$1
		shift
		cmd 0 run -q -- $PYTHON "$name.py" "$@" || break
	done
	cmd 0 why raw.zarr//temperature && lines "$out" 3 &&
		says "$out" 'raw.zarr//temperature (5 of 25 chunks): made by python3 make.py from in.csv@{1} by' \
			'raw.zarr//temperature (1 of 25 chunks): made by python3 patch.py by' \
			'raw.zarr//temperature (19 of 25 chunks): never written: they have the fill value'
	check 'of an array, who made which part of it; who only wrote a chunk took nothing from the others'
	cmd 0 why 'raw.zarr//temperature[0:2,3]' && lines "$out" 1 && says "$out" 'raw.zarr//temperature[0:2,3] (1 of 1 chunk): made by python3 make.py from in.csv@{1}' &&
		cmd 0 why 'raw.zarr//temperature[9,9:]' && lines "$out" 1 && says "$out" '(1 of 1 chunk): made by python3 patch.py by' &&
		cmd 0 why 'raw.zarr//temperature[:,2:4]' && says "$out" '[:,2:4] (1 of 5 chunks): made by python3 make.py' '[:,2:4] (4 of 5 chunks): never written'
	check '... and of a selection, the chunks that hold it'
	for bad in '[0:11]' '[2:2]' '[1,1,1]' '[a]' '[1 ]' '[-1]' '[10]' '[0:99999999999999999999]'; do
		cmd 2 why "raw.zarr//temperature$bad" && says "$err" 'is not a selection of this array' || break
	done
	[ $got = 2 ] && cmd 1 why 'raw.zarr//temperature[0:2'
	check '... one that does not fit the array is refused'
	cmd 0 why out.zarr//warm && lines "$out" 1 && says "$out" 'out.zarr//warm (3 of 3 chunks): made by python3 derive.py from raw.zarr//temperature (3 of 25 chunks) by' && says_not "$out" pressure
	check 'an array came from the chunks that were read, and not from the other array of that store'
	cmd 0 why w.txt t.txt && says "$out" 'w.txt@{1}: made by python3 text.py out.zarr warm w.txt from out.zarr//warm (2 of 3 chunks), text.py@{1}' \
		't.txt@{1}: made by python3 text.py raw.zarr temperature t.txt from raw.zarr//temperature (2 of 25 chunks), text.py@{1}'
	check 'a plain file came from an array'
	cmd 0 why raw.zarr && says "$out" 'raw.zarr//temperature (5 of 25 chunks)' 'raw.zarr//deep/pressure (2 of 2 chunks)' 'made by python3 pressure.py from other.csv@{1} by'
	check 'a store is told of by its arrays'
	cmd 0 lineage out.zarr//warm && says "$out" 'out.zarr//warm (3 of 3 chunks)' '└─ python3 derive.py' 'raw.zarr//temperature (3 of 25 chunks)' 'in.csv@{1}' 'raw.zarr//deep/pressure (metadata)' && says_not "$out" '(2 of 2 chunks)' 'temperature/' 'warm/'
	check 'the lineage of an array, through another one to a file'
	cmd 0 lineage --down in.csv && says "$out" 'raw.zarr//temperature (1 of 25 chunks)' 'out.zarr//warm (2 of 3 chunks)' 'w.txt@{1}' && cmd 0 lineage --down other.csv && says "$out" 'raw.zarr//deep/pressure (2 of 2 chunks)' && says_not "$out" temperature
	check '... and downwards'
	cmd 0 lineage --json out.zarr//warm && jq -e '(.roots | length) == 3 and .root == .roots[0] and ([.entities[].path | select(endswith("/0.1"))] | length) == 2' "$out" >/dev/null
	check '... in JSON each chunk by itself'
	cmd 0 lineage --format dot out.zarr//warm && says "$out" 'shape=box3d' 'raw.zarr//temperature (3 of 25 chunks)'
	check '... in a picture'
	cmd 0 why --json out.zarr//warm && jq -e '(.answers | length) == 3' "$out" >/dev/null && cmd 0 why --json 'out.zarr//warm[0,0]' && jq -e '(.answers | length) == 1' "$out" >/dev/null
	check 'why --json has the chunks'
	cmd 0 show raw.zarr && says "$out" 'group        '"$PWD"'/raw.zarr' 'Zarr, version 2' && sed 's/  */ /g; s/ $//' "$out" >"$T/a" && says "$T/a" 'deep/pressure 4x2 2x2 <f8 2 of 2' && says "$T/a" 'temperature 10x10 2x2 <f8 6 of 25' &&
		cmd 0 show --json raw.zarr//temperature && jq -e '.things[0] | .kind == "zarr_array" and .arrays[0].shape == [10, 10] and .arrays[0].chunks == 25 and .arrays[0].chunks_on_disk == 6' "$out" >/dev/null
	check 'show names arrays, their shapes and chunks'
	cmd 0 run -q -- $PYTHON -c "import zarr; zarr.open('raw.zarr/temperature', mode='r+').resize(4, 4)" && cmd 0 why raw.zarr//temperature && says "$out" 'raw.zarr//temperature (2 of 4 chunks): made by python3 make.py' &&
		cmd 0 why t.txt && says "$out" 'raw.zarr//temperature (2 of 4 chunks)'
	check 'an array that became smaller'
	printf 'changed' >out.zarr/warm/0.2
	cmd 0 why out.zarr//warm && says "$out" 'out.zarr//warm (2 of 3 chunks): made by python3 derive.py' && cmd 0 lineage out.zarr//warm && says "$err" '1 chunk of'
	check 'a chunk that was changed unseen is not counted to its maker'
	rm -rf raw.zarr
	cmd 0 why out.zarr//warm && says "$out" 'from raw.zarr//temperature (3 chunks) by'
	check 'of an array that is gone, what the record knows'
else
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		skip "arrays that Debian's zarr wrote, $i" "no zarr for $PYTHON"
	done
fi

# ---- version 3, after the specification: names of chunks with c/ and slashes, and as in version 2
cat >third.py <<'END'
import json, os, sys
def array(path, shape, chunk, encoding):
    os.makedirs(path)
    json.dump({'zarr_format': 3, 'node_type': 'array', 'shape': shape, 'data_type': 'uint8', 'fill_value': 0,
               'chunk_grid': {'name': 'regular', 'configuration': {'chunk_shape': chunk}},
               'chunk_key_encoding': encoding, 'codecs': [{'name': 'bytes'}]}, open(path + '/zarr.json', 'w'))
def chunk(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').write(text)
if sys.argv[1] == 'make':
    os.makedirs('three.zarr')
    json.dump({'zarr_format': 3, 'node_type': 'group'}, open('three.zarr/zarr.json', 'w'))
    array('three.zarr/a', [5, 4], [2, 2], {'name': 'default'})
    array('three.zarr/dots', [4], [2], {'name': 'v2', 'configuration': {'separator': '.'}})
    array('three.zarr/one', [], [], {'name': 'default'})
    text = open('start.txt').read()
    for name in 'a/c/0/0', 'a/c/2/1', 'dots/1', 'one/c':
        chunk('three.zarr/' + name, text)
else:
    os.makedirs('numbers/7', exist_ok=True)
    for i in '1', '7/1':
        open('numbers/' + i, 'w').write(i)
    open(sys.argv[2], 'w').write(open(sys.argv[3]).read() + open('numbers/7/1').read())
END
echo start >start.txt
cmd 0 run -q -- $PYTHON third.py make && cmd 0 run -q -- $PYTHON third.py use x.txt three.zarr/a/c/2/1 && cmd 0 run -q -- $PYTHON third.py use y.txt three.zarr/one/c
cmd 0 why three.zarr//a three.zarr//dots three.zarr//one && says "$out" 'three.zarr//a (2 of 6 chunks): made by python3 third.py from start.txt@{1}' 'three.zarr//a (4 of 6 chunks): never written' 'three.zarr//dots (1 of 2 chunks): made by' 'three.zarr//one (1 of 1 chunk): made by'
check 'version 3: chunks below c, as in version 2, and of an array without dimensions'
cmd 0 why 'three.zarr//a[4,2]' && says "$out" '(1 of 1 chunk): made by' && cmd 0 why x.txt y.txt && says "$out" 'x.txt@{1}: made by python3 third.py use x.txt three.zarr/a/c/2/1 from three.zarr//a (1 of 6 chunks), third.py@{1}' 'three.zarr//one (1 of 1 chunk)'
check '... its selections, and what came from it'
cmd 0 lineage x.txt && says "$out" 'three.zarr//a (1 of 6 chunks)' && says_not "$out" 'numbers//'
check 'folders with numbers for names are no arrays'

# ---- metadata are anybody's
mkdir -p bad.zarr/fifo bad.zarr/link bad.zarr/long bad.zarr/deep bad.zarr/minus bad.zarr/many bad.zarr/huge bad.zarr/word
cat >bad.py <<'END'
import json, os
def put(name, text):
    open('bad.zarr/' + name + '/.zarray', 'w').write(text)
good = {'zarr_format': 2, 'shape': [4], 'chunks': [2], 'dtype': '<f8'}
os.mkfifo('bad.zarr/fifo/.zarray')
os.symlink('/dev/zero', 'bad.zarr/link/.zarray')
put('long', json.dumps(good) + ' ' * (2 << 20))
put('deep', '[' * 100000)
put('minus', json.dumps(dict(good, shape=[-4])))
put('many', json.dumps(dict(good, shape=[1] * 40, chunks=[1] * 40)))
put('huge', json.dumps(dict(good, shape=[2 ** 62] * 4, chunks=[1] * 4, dtype='\x1b[2J')))
put('word', json.dumps(dict(good, chunks=[0])))
json.dump({'zarr_format': 2}, open('bad.zarr/.zgroup', 'w'))
for name in sorted(os.listdir('bad.zarr')):
    if name[0] != '.':
        open('bad.zarr/' + name + '/0', 'w').write('x')
        open('bad.zarr/' + name + '/0.0.0.0', 'w').write('x')
END
cmd 0 run -q -- $PYTHON bad.py && cmd 0 why bad.zarr && says "$out" 'bad.zarr//huge (2 chunks)' && says_not "$out" 'bad.zarr//minus' 'bad.zarr//long'
check 'what is no metadata, or hostile, makes no array: a FIFO, a link, too long, too deep, too many dimensions'
cmd 0 show bad.zarr && grep -a -q "$(printf '\033')" "$out" && false
[ $got = 0 ] && says "$out" '\x1b[2J'
check '... and nothing of it reaches the terminal as it is'

finish
