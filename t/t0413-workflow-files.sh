#!/bin/sh
# What a workflow system keeps for itself: no lineage goes through it, show and find count it and name the results.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01' + 'A' * 24, argv=['snakemake', '-j1'])
engine = h.process()
h.exec(engine, ['snakemake', '-j1'], exe='/opt/snakemake')
config, data = h.file('/w/config.yaml', ino=1), h.file('/w/data.txt', ino=2)
h.read(engine, config)
for i in range(45): # more than a screen of files that are removed
    f = h.file('/w/.work%02d' % i, ino=100 + i)
    h.write(engine, f, size=1)
    h.add('name', engine, op=4, file=f, path='/w/.work%02d' % i)
meta = h.file('/w/.snakemake/metadata/b3V0', ino=3)
log = h.file('/w/.snakemake/log/1.log', ino=4)
h.write(engine, meta, size=9)
h.write(engine, log, size=9)
job = h.process(engine)
h.exec(job, ['sort', 'data.txt'], exe='/opt/sort')
h.read(job, data)
h.read(job, meta)
h.write(job, h.file('/w/out.txt', ino=5), size=9)
h.exit(job)
h.exit(engine)
h.end()
h.save(home, evtext)
END
cmd 0 lineage /w/out.txt && says "$out" '/w/data.txt@{1}' '1 file of the workflow system' && says_not "$out" config.yaml && says_not "$out" metadata && cmd 0 lineage --json /w/out.txt && json '.omitted.engine == 1'
check 'no lineage goes through what Snakemake keeps'
cmd 0 lineage --all /w/out.txt && says "$out" metadata/b3V0 config.yaml
check '--all follows it'
cmd 0 show @ && says "$out" made /w/out.txt 'removed since' && says "$out" '2 files of the workflow system (--all)' && says_not "$out" metadata/b3V0
check 'show counts them, and names the result'
cmd 0 find 'used /w/config.yaml' && says_not "$out" metadata && says "$err" '2 files of the workflow system left out (--all)' && cmd 0 find --json 'used /w/config.yaml' && json '.left_out == 2' && cmd 0 find --all 'used /w/config.yaml' && says "$out" metadata/b3V0 && cmd 0 find --json --all 'used /w/config.yaml' && json '.left_out == 0'
check 'find counts them, too'
finish
