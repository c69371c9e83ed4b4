#!/bin/sh
# stemma check of make and ninja: files that targets read and that are no prerequisite of theirs. Twenty are planted below, each with
# "# planted" behind it; whatever else is reported is a false alarm.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# undeclared: "TARGET FILE" for each that was reported, sorted, in $out
undeclared()
{
	jq -r '.undeclared[] | (.stage.name // .stage.target // "?" | split("/")[-1]) + " " + (.entity.path | split("/")[-1])' "$out" 2>"$err" | sort >"$T/u" && mv "$T/u" "$out"
}

# ---- GNU make ----

mkdir -p "$T/work/mk/lib" "$T/work/mk/sub" "$T/work/mk/data" && cd "$T/work/mk" || exit 1
for f in head foot scale units names script inner deep order group joined first; do
	echo "$f" >lib/$f.txt
done
for f in a b c; do
	echo "$f 1" >data/$f.in
done
printf '#include "one.h"\n#include "two.h"\nint main(void) { return ONE + TWO; }\n' >prog.c
echo '#define ONE 0' >one.h
echo '#define TWO 0' >two.h
printf '#!/bin/sh\ncat lib/script.txt "$1"\n' >tool.sh
chmod +x tool.sh
cat >Makefile <<'E'
SHELL = /bin/sh
LIB := lib
all: a.out b.out c.out final.txt prog copy.txt sub group.1 chain.txt joined.txt
# a pattern rule: lib/head.txt is declared, lib/foot.txt not, for three targets
%.out: data/%.in lib/head.txt
	cat $< lib/head.txt > $@; cat lib/foot.txt >> $@                       # planted: a.out, b.out, c.out: foot.txt
final.txt: a.out b.out c.out
	sort $^ > final.tmp; paste final.tmp $(LIB)/scale.txt > $@; rm final.tmp  # planted: scale.txt
# two.h is in no rule
prog.o: prog.c one.h
	cc -c -o $@ $<                                                           # planted: two.h
prog: prog.o
	cc -o $@ $^
copy.txt: data/a.in
	./tool.sh data/a.in > $@; while read l; do echo $$l; done < lib/units.txt >> $@  # planted: tool.sh, script.txt, units.txt
.PHONY: sub all
sub:
	$(MAKE) -C sub
group.1 group.2 &: lib/group.txt
	cp lib/group.txt group.1; cp lib/group.txt group.2
# what the prerequisites are made from is declared, too; what only orders, too
chain.txt: copy.txt | lib/order.txt
	cat copy.txt data/a.in lib/order.txt > $@
joined.txt: lib
	cat lib/joined.txt > $@
E
cat >sub/Makefile <<'E'
inner.txt: ../lib/inner.txt
	cat ../lib/inner.txt ../lib/deep.txt > $@                                # planted: deep.txt
E
if cmd 0 run -q -- make && make -pn >make.db 2>"$err"; then
	"$STEMMA" log --json >"$out" 2>"$err" && run=$(jq -r '.runs[0].id' "$out")
	cmd 1 check && says "$out" 'target prog.o: the database of make is needed (--make-database)'
	check 'make: without its database no target is taken for clean'
	cmd 1 check --json --make-database make.db && json '.jobs == 11 and .clean == false and .unknown == [] and (.undeclared | length == 9) and (.undeclared | all(.certainty == "must"))' && cp "$out" "$T/make.json" && undeclared && is "$out" 'a.out foot.txt
b.out foot.txt
c.out foot.txt
copy.txt script.txt
copy.txt tool.sh
copy.txt units.txt
final.txt scale.txt
inner.txt deep.txt
prog.o two.h'
	check 'make: nine are planted, nine are found, and nothing else'
	cmd 1 check --make-database - <make.db
	"$STEMMA" check --make-database - <make.db >"$out" 2>"$err"
	says "$out" 'target a.out' 'lib/foot.txt@{1}  (read by cat' 'of 11 jobs read files that their rules do not declare'
	check 'make: in words, the database from standard input'
	cp "$T/make.json" "$out" && json '[.undeclared[] | select(.entity.path | endswith("/tool.sh")) | .role] == ["script"]'
	check 'make: a script is told as one'
	sed -i -e 's/^%.out:.*/& lib\/foot.txt/' -e 's/^final.txt:.*/& lib\/scale.txt/' -e 's/^prog.o:.*/& two.h/' -e 's/^copy.txt:.*/& tool.sh lib\/script.txt lib\/units.txt/' Makefile
	sed -i 's/^inner.txt:.*/& ..\/lib\/deep.txt/' sub/Makefile
	make -pn >make.db 2>"$err"
	cmd 0 check --json --make-database make.db && json '.clean and .jobs == 11'
	check 'make: with all declared it is clean'
else
	check 'make runs'
fi

# ---- ninja ----

mkdir -p "$T/work/nj/lib" "$T/work/nj/gen" && cd "$T/work/nj" || exit 1
for f in one two three four five six seven order rsp list; do
	echo "$f" >lib/$f.txt
done
printf '#include "dep.h"\nint main(void) { return DEP; }\n' >prog.c
echo '#define DEP 0' >dep.h
printf '#include "hidden.h"\nint other(void) { return HIDDEN; }\n' >other.c
echo '#define HIDDEN 0' >hidden.h
echo 'cat lib/seven.txt' >seven.sh
cat >build.ninja <<'E'
lib = lib
rule cc
  command = cc -MD -MF $out.d -c -o $out $in
  depfile = $out.d
  deps = gcc
rule cc_blind
  command = cc -c -o $out $in
rule cat
  command = cat $in > $out
rule cat_more
  command = cat $in $more > $out
rule sh
  command = sh $script > $out
rule rsp
  command = cat `cat $out.rsp` > $out
  rspfile = $out.rsp
  rspfile_content = $in
# dep.h is known by the compiler's word: declared
build prog.o: cc prog.c
# planted: hidden.h
build other.o: cc_blind other.c
build one.txt: cat $lib/one.txt
# planted: lib/two.txt, and lib/three.txt for two targets
build two.txt: cat_more $lib/one.txt
  more = lib/two.txt lib/three.txt
build three.txt: cat_more one.txt
  more = lib/three.txt
# declared: implicitly, by order, and what a prerequisite is made from
build four.txt: cat_more one.txt | lib/four.txt || lib/order.txt
  more = lib/four.txt lib/order.txt lib/one.txt
# planted: lib/five.txt, and gen/g.txt, though another target makes it
build gen/g.txt: cat lib/six.txt
build five.txt: cat_more lib/one.txt || one.txt
  more = lib/five.txt gen/g.txt
# planted: seven.sh and what it reads
build seven.txt: sh
  script = seven.sh
build r.txt: rsp lib/rsp.txt lib/list.txt
# planted: lib/six.txt for two outputs of one statement: one file, one target
rule twice
  command = cat lib/six.txt $in > six.a; cat lib/six.txt > six.b
build six.a six.b: twice lib/one.txt
# planted: lib/one.txt, lib/two.txt
build eight.txt: cat_more lib/three.txt
  more = lib/one.txt lib/two.txt
build all: phony prog.o other.o three.txt two.txt four.txt five.txt seven.txt r.txt six.a six.b eight.txt
default all
E
if command -v ninja >/dev/null 2>&1; then
	cmd 0 run -q -- sh -c 'ninja -j1 gen/g.txt && ninja -j1'
	check 'ninja runs'
	cmd 1 check --json && json '.unknown == [] and (.undeclared | all(.certainty == "must"))' && cp "$out" "$T/ninja.json" && undeclared && is "$out" 'eight.txt one.txt
eight.txt two.txt
five.txt five.txt
five.txt g.txt
other.o hidden.h
seven.txt seven.sh
seven.txt seven.txt
six.a six.txt
three.txt three.txt
two.txt three.txt
two.txt two.txt'
	check 'ninja: eleven are planted, eleven are found, and nothing else'
	echo '# changed' >>build.ninja
	cmd 1 check && says "$out" 'could not be checked' 'build.ninja is missing, or has changed since'
	check 'ninja: a build file that has changed is not asked'
else
	skip 'ninja' 'it is not installed'
fi

# ---- what is hostile ----

cd "$T/work/mk" || exit 1
$PYTHON - <<'E'
lines = ['# Files', ':', ': a', 'a', 'a:', '# Not a target:', 'final.txt: lib/scale.txt', 'x' * 100000 + ': y', 'a: ' + 'b ' * 100000, 'a = b: c', '%: x', '\tfinal.txt: lib/scale.txt',
         "make[1]: Entering directory '" + 'z' * 100000 + "'"] + ["make: Entering directory '/'"] * 100 + ['# Files', '../' * 2000 + 'x: y'] + ["make: Leaving directory '/'"] * 200 + ['\x1b[31m: \0']
open('bad.db', 'w').write('\n'.join(lines))
E
cmd 1 check --make-database bad.db "$run" && says "$out" 'no rule of the build makes its output'
check 'a hostile database declares nothing'
cmd 125 check --make-database missing.db && says "$err" "cannot read the database of make from 'missing.db'"
check 'a database that is missing'
cmd 125 check --make-database /dev/zero
check 'a database without an end'
finish
