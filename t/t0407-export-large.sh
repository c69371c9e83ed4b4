#!/bin/sh
# export: more files and processes than an export remembers at once.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

N=6000
history <<END
h = History('01' + 'A' * 24, argv=['many'])
shared, last = h.file('/w/shared'), None
for i in range($N):
    p = h.process()
    h.exec(p, ['step', '%d' % i])
    h.read(p, shared)
    if last:
        h.read(p, last)
    last = h.file('/w/%d' % i)
    h.write(p, last, size=i)
    h.exit(p)
h.end(); h.save(home, evtext)
END
count() # PATTERN: lines of the output that have it
{
	grep -c -e "$1" "$out"
}
cmd 0 export -f ntriples && [ "$(count ' <urn:stemma:ns#Execution> \.')" = $((2 * N)) ] && [ "$(count ' <http://www.w3.org/ns/prov#wasGeneratedBy> ')" = $N ] && [ "$(count ' <http://www.w3.org/ns/prov#used> ')" = $((2 * N - 1)) ] && [ "$(count '/w/[0-9]*"')" -ge $((2 * N)) ]
check 'every file, use and write is there'
grep -v _: "$out" | sort >"$T/whole"
cmd 0 export -f ntriples 01AAAA && grep -v _: "$out" | sort | cmp - "$T/whole" && [ "$(count _:)" -gt $((3 * N)) ]
check 'the run says the same'
cmd 0 export -f ntriples --depth 5 "/w/$((N - 1))" && [ "$(count ' <http://www.w3.org/ns/prov#wasGeneratedBy> ')" = 5 ] &&
	cmd 0 export -f ntriples "/w/$((N - 1))" && [ "$(count ' <http://www.w3.org/ns/prov#wasGeneratedBy> ')" = $N ]
check 'a lineage, short and of all of them'
finish
