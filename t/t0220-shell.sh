#!/bin/sh
# What shells do with files: redirections, pipelines, substitutions.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

for sh in dash bash; do
	shell_case "$sh: sort x > y" $sh 'sort x > y' <<-END
		*@$sh create DIR/y
		*@sort any-read DIR/x
		*@sort write DIR/y
		*@* maybe-write DIR/y
	END
	shell_case "$sh: sort x > y, then more" $sh 'sort x > y; cat y > z; true' <<-END
		*@$sh create DIR/y
		*@sort read DIR/x
		*@sort write DIR/y
		*@cat read DIR/y
		*@cat write DIR/z
		*@sort no-access DIR/z
		*@cat no-write DIR/y
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
	shell_case "$sh: { a; b; } > y" $sh '{ cat in; cat in2; true; } > y; true' <<-END
		*@$sh create DIR/y
		*@cat read DIR/in
		*@cat read DIR/in2
		*@cat write DIR/y
		*@* maybe-write DIR/y
	END
	shell_case "$sh: > y of a silent command" $sh '/bin/true > y; /bin/true < in; :' <<-END
		*@$sh create DIR/y
		*@$sh write DIR/y
		*@true no-write DIR/y
		*@* maybe-read DIR/in
	END
	shell_case "$sh: a < x | b > y" $sh 'cat < x | sort > y' <<-END
		*@$sh anyone-read DIR/x
		*@cat may-read DIR/x
		*@cat flow pipe *@sort
		*@sort no-flow pipe *@cat
		*@sort write DIR/y
		*@sort not-read DIR/x
		*@cat no-write DIR/y
		*@* maybe-read DIR/x
		*@* maybe-write DIR/y
	END
	shell_case "$sh: three in a pipeline" $sh 'cat x | tr a-z A-Z | sort > y' <<-END
		*@cat read DIR/x
		*@cat flow pipe *@tr
		*@tr flow pipe *@sort
		*@cat no-flow pipe *@sort
		*@sort write DIR/y
		*@* maybe-write DIR/y
	END
	shell_case "$sh: >> y" $sh 'cat in >> in2; sort x >> in2; true' <<-END
		*@cat read DIR/in
		*@cat write DIR/in2
		*@sort read DIR/x
		*@sort write DIR/in2
		*@$sh not-create DIR/in2
		*@* maybe-write DIR/in2
	END
	shell_case "$sh: builtins that write" $sh 'echo hello > y; read v < in; printf "%s\n" "$v" > z; echo more >> y' <<-END
		*@$sh create DIR/y
		*@$sh write DIR/y
		*@$sh read DIR/in
		*@$sh write DIR/z
	END
	# shellcheck disable=SC2016 # for the shell under test
	shell_case "$sh: x=\$(cat f)" $sh 'v=$(cat in); echo "$v" > y' <<-END
		*@cat read DIR/in
		*@cat flow pipe *@$sh
		*@$sh write DIR/y
	END
	shell_case "$sh: here-document" $sh "cat > y <<E
text
E
sort > z <<E
b
a
E
true" <<-END
		*@cat write DIR/y
		*@sort write DIR/z
		*@cat no-access DIR/z
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
	# shellcheck disable=SC2016 # for the shell under test
	shell_case "$sh: here-documents hold what the shell knows" $sh 'read v < in; tee y > /dev/null <<E
$v
E
sort -o z <<E
$v
E
true' <<-END
		*@$sh read DIR/in
		*@$sh flow pipe *@tee
		*@$sh flow pipe *@sort
		*@tee no-flow pipe *@sort
		*@tee write DIR/y
		*@sort write DIR/z
	END
	shell_case "$sh: 2>&1 and tee" $sh '{ cat in nowhere; } 2>&1 | tee t > y; exit 0' <<-END
		*@cat read DIR/in
		*@cat absent DIR/nowhere
		*@cat flow pipe *@tee
		*@tee create DIR/t
		*@tee write DIR/t
		*@tee write DIR/y
		*@* maybe-write DIR/y
	END
	shell_case "$sh: exec > y" $sh 'exec > y; cat in; sort x; echo end' <<-END
		*@$sh write DIR/y
		*@cat write DIR/y
		*@sort write DIR/y
		*@cat read DIR/in
		*@sort read DIR/x
		*@* maybe-write DIR/y
	END
	shell_case "$sh: <> and numbered descriptors" $sh 'exec 3<>in 4>y; cat in2 >&3; cat x >&4; exec 3>&- 4>&-; cat in > z' <<-END
		*@cat write DIR/in
		*@cat write DIR/y
		*@cat read DIR/in
		*@cat read DIR/in2
		*@cat read DIR/x
		*@cat write DIR/z
		*@* maybe-write DIR/in
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
	shell_case "$sh: in the background" $sh 'sort x > y & cat in > z & wait' <<-END
		*@sort read DIR/x
		*@sort write DIR/y
		*@cat read DIR/in
		*@cat write DIR/z
		*@sort no-access DIR/z
		*@cat no-access DIR/y
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
	shell_case "$sh: subshell and cd" $sh '(cd sub; cat ../in > out); cat sub/out > y' <<-END
		*@cat read DIR/in
		*@cat write DIR/sub/out
		*@cat read DIR/sub/out
		*@cat write DIR/y
		*@* maybe-write DIR/sub/out
		*@* maybe-write DIR/y
	END
	shell_case "$sh: write, then rename over" $sh 'sort x > x.tmp && mv x.tmp x && rm in && ln in2 in3 && ln -s in3 in4 && cat in4 > /dev/null' <<-END
		*@sort read DIR/x
		*@sort write DIR/x.tmp
		*@mv rename DIR/x.tmp DIR/x
		*@rm unlink DIR/in
		*@ln link DIR/in2 DIR/in3
		*@ln create DIR/in4
		*@cat read DIR/in3
		*@* maybe-write DIR/x.tmp
	END
	shell_case "$sh: statuses" $sh '(exit 3); [ $? = 3 ] && ! false && kill -9 $$' <<-END
		*@$sh signal 9
	END
done
shell_case "bash: process substitution" bash 'sort <(cat x) <(cat in) > y; cat in2 > >(sort > z; echo closed > done); while ! [ -s done ]; do sleep 0.05; done' <<-END
	*@cat read DIR/x
	*@cat read DIR/in
	*@cat read DIR/in2
	*@cat flow pipe *@sort
	*@sort write DIR/y
	*@sort write DIR/z
	*@* maybe-write DIR/y
	*@* maybe-write DIR/z
	*@* maybe-write DIR/done
	*@* maybe-read DIR/done
END
shell_case "bash: here-string, &> and coproc" bash 'sort <<< "b" &> y; coproc cat; echo hi >&"${COPROC[1]}"; read -r v <&"${COPROC[0]}"; echo "$v" > z; exec {COPROC[1]}>&-; wait' <<-END
	*@sort write DIR/y
	*@cat flow pipe *@bash
	*@bash flow pipe *@cat
	*@bash write DIR/z
	*@* maybe-write DIR/y
END
finish
