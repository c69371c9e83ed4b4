#!/bin/sh
# The example examples/dassa: MPI programs that convert, decimate, correlate and stack HDF5 files. The backward lineage of a
# product, by files, datasets and attributes, is what the programs wrote down themselves (t/rank_lineage.py); the results are
# those of a run without stemma, byte by byte.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none
export TMPDIR="$T"
example=$here/examples/dassa
MPICC=$(command -v mpicc.openmpi) && LAUNCH=$(command -v mpirun.openmpi) && pkg-config --exists hdf5-serial && command -v make >"$out" || {
	echo '1..0 # SKIP no mpicc.openmpi, mpirun.openmpi, make or hdf5-serial'
	exit
}
LAUNCH="timeout 100 $LAUNCH -n"
export MPICC LAUNCH
# Is it MPI that does not work here, or the example?
echo '#include <mpi.h>
int main(int argc, char **argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }' >"$T/none.c"
"$MPICC" -o "$T/none" "$T/none.c" >"$out" 2>&1 && $LAUNCH 2 "$T/none" >"$out" 2>&1 || {
	echo "1..0 # SKIP programs of Open MPI do not run here: $(head -n 1 "$out")"
	exit
}

STEMMA='' sh "$example/run.sh" "$T/plain" 8 2 >"$T/said" 2>"$err" && [ ! -e "$STEMMA_HOME" ] && [ "$(wc -l <"$T/said")" = 3 ]
check 'the workflow without stemma'
export STEMMA
DID="$T/did" sh "$example/run.sh" "$T/work/das" 8 2 >"$out" 2>"$err" && head -n 3 "$out" | cmp - "$T/said" >>"$err" && says "$out" '== what its dataset came from' 'attribute hdf5/00' '@gain' 'recordings/00'
check 'and with it'
cd das || exit 1
bad=
for f in hdf5/00?.h5 decimated/00?.h5 products/stack-?.h5; do cmp "$f" "$T/plain/$f" >>"$err" 2>&1 || bad="$bad $f"; done
[ -z "$bad" ] && [ "$(find hdf5 decimated products -name '*.h5' | wc -l)" = 18 ]
check 'converted, decimated and stacked files are the same, byte by byte'

# What the record has of it: no more than what is certain, and no less than that with all that may be.
truth() { $PYTHON -B "$here/t/rank_lineage.py" "$1" "$T/did" "$2" >"$T/truth" 2>>"$err" && [ "$(wc -l <"$T/truth")" -ge "$3" ]; }
seen() { jq -r '.entities[].path' "$out" | sed -n "s|^$T/work/das/||p" | grep -E '//|[.](h5|das|txt)$' | sort -u >"$T/seen"; }
came() # WHAT PRODUCT LEAST
{
	truth until "$2" "$3" && cmd 0 lineage --certain=computed --json "$2" && seen && diff "$T/truth" "$T/seen" >>"$err"
	check "what $1 came from"
	cmd 0 lineage --json "$2" && seen && [ -z "$(comm -23 "$T/truth" "$T/seen")" ]
	check '... is among what it may have come from'
}
came 'a file' products/stack-0.h5 80
came 'a dataset' products/stack-0.h5//stack/xcorr 80
came 'an attribute' products/stack-1.h5//stack/xcorr@rate 80
came 'a dataset that was made in the middle' decimated/005.h5//decimated/data 18
came 'an attribute in the middle' decimated/002.h5//decimated@start 20
cmd 0 lineage --certain=computed --json products/stack-0.h5//stack/xcorr && json '[.entities[].path] | (any(endswith("decimated/000.h5//decimated/data")) and any(endswith("decimated/000.h5//decimated@start"))) | not'
check 'what was read after it was written is no part of it'
cmd 0 lineage --certain=computed --down --json hdf5/006.h5//channel/002@gain && json '[.entities[].path] | any(endswith("stack-1.h5//stack/xcorr")) and (any(endswith("stack-0.h5//stack/xcorr")) | not)'
check 'what came of an attribute'
cmd 0 why products/stack-1.h5//stack/xcorr && says "$out" 'stack products' "by $(id -un)@"
check 'who made it'
cmd 0 sql --csv "SELECT DISTINCT x.rank FROM edge e JOIN version v ON v.id = e.from_id JOIN file f ON f.id = v.file JOIN execution x ON x.id = e.to_id WHERE e.type = 'wasGeneratedBy' AND f.path LIKE '%/decimated/00_.h5//decimated/data' ORDER BY 1" && [ "$(tr -d '\r' <"$out" | tr '\n' ' ')" = 'rank 0 1 ' ]
check 'and as which rank'
cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5'" && lines "$out" 0
check 'nothing of HDF5 was missed'

# PROV-IO's queries (its Table 5, 1 to 3), step by step: the program that a product is attributed to, what that read, and so on.
$PYTHON -c 'import rdflib' 2>"$err" || {
	skip 'the queries of PROV-IO' "no rdflib for $PYTHON"
	finish
	exit
}
cmd 0 export --format provio -o "$T/all.ttl"
cat >"$T/ask.py" <<'END'
import rdflib, sys
P = '''PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX provio: <urn:stemma:provio#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> '''
g = rdflib.Graph().parse(sys.argv[1], format='turtle')
def ask(q):
    pairs = {}
    for a, b in g.query(P + q):
        pairs.setdefault(a, set()).add(b)
    return pairs
programs = ask('SELECT DISTINCT ?o ?p WHERE { ?o provio:wasWrittenBy ?api . ?api prov:wasAssociatedWith ?p }')
reads = ask('SELECT DISTINCT ?p ?d WHERE { ?d prov:wasAttributedTo ?p ; provio:wasReadBy ?api . ?api prov:wasAssociatedWith ?p }')
labels = ask('SELECT ?name ?o WHERE { ?o rdfs:label ?name }')
base = sys.argv[2]
for out, product in zip(sys.argv[3::2], sys.argv[4::2]):
    of_object = '//' in product
    start = labels[rdflib.Literal(base + product)]
    found, todo = set(start), list(start)
    while todo:
        thing = todo.pop()
        for program in programs.get(thing, ()):
            for read in reads.get(program, ()):
                name = str(g.value(read, rdflib.RDFS.label))
                if read not in found and name.startswith(base) and (('//' in name) == of_object or name.endswith(('.das', '.txt'))):
                    found.add(read)
                    todo.append(read)
    with open(out, 'w') as f:
        for name in sorted(str(g.value(o, rdflib.RDFS.label))[len(base):] for o in found):
            if '//' in name or name.endswith(('.h5', '.das', '.txt')):
                print(name, file=f)
END
$PYTHON -B "$T/ask.py" "$T/all.ttl" "$T/work/das/" "$T/a1" products/stack-0.h5 "$T/a2" products/stack-1.h5//stack/xcorr "$T/a3" products/stack-0.h5//stack/xcorr@rate >"$out" 2>"$err"
check 'the queries of PROV-IO on the exported record'
n=0
for product in products/stack-0.h5 products/stack-1.h5//stack/xcorr products/stack-0.h5//stack/xcorr@rate; do
	n=$((n + 1))
	: >"$err" && truth program "$product" 13 && cp "$T/a$n" "$out" && sort "$out" | diff "$T/truth" - >>"$err"
	check "... by program: $product"
done
finish
