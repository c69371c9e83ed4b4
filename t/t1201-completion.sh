#!/bin/sh
# Completion in bash, zsh and fish: commands, options, and what the record has: runs, labels, names of files.
complete=${STEMMA_COMPLETION:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
complete=${complete:-$BUILD/completion/stemma}
folder=$(dirname "$complete")
PATH=$(dirname "$STEMMA"):$PATH

if ! "$STEMMA" run -q -l exp=one -l who=me -- sh -c 'sort /dev/null >gone.txt; sort /dev/null >"two words"; mkdir below; sort /dev/null >below/it.txt' >"$out" 2>"$err"; then
	echo "1..0 # SKIP nothing can be recorded here: $(head -n 1 "$err")"
	exit 0
fi
# shellcheck disable=SC2016 # for the shell
"$STEMMA" run -q -l 'bad=$(id)' -- sh -c 'echo 1 >"it'"'"'s"' 2>"$err"
cmd 0 log --jsonl && id=$(sed -n 's/.*"id":"[0-9A-Z]*\([0-9A-Z]\{8\}\)".*/\1/p;q' "$out")
[ ${#id} = 8 ]
check 'there is a record'
rm gone.txt

words_bash()
{
	# shellcheck disable=SC2016 # for the shell
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stemma; printf "%s\n" "${COMPREPLY[@]}"' - "$complete" "$@" >"$out" 2>"$err"
}
words_zsh()
{ # What is handed over to the completion system, which a script has not.
	# shellcheck disable=SC2016 # for the shell
	zsh -f -c 'compadd() { while [[ $1 == -* && $1 != -- ]]; do [[ $1 != -[VS] ]] || shift; shift; done; shift; print -rl -- "$@" }
		_files() { ls -A }; compdef() { : }; _normal() { print -r -- "command line: $words" }
		_describe() { print -rl -- ${${(P)@[-1]}%%:*} }
		. "$1/_stemma"; shift; words=("$@"); CURRENT=$#; _stemma' - "$folder" "$@" >"$out" 2>"$err"
}
words_fish()
{
	line=
	for w; do
		line="$line${line:+ }$(printf '%s' "$w" | sed "s/[' ]/\\\\&/g")"
	done
	LINE=$line fish --no-config -c "source '$folder/stemma.fish'; complete -C \"\$LINE\"" >"$T/lines" 2>"$err"
	cut -f 1 "$T/lines" >"$out"
}

# offers WORD... : LINE...: these words of all that is offered, and not those with ! before
offers()
{
	wanted=$1
	shift
	"words_$shell" "$@"
	for w in $wanted; do
		case $w in
		!*) ! grep -qxF -e "${w#!}" "$out" || { echo "offered: ${w#!}" >>"$err"; return 1; } ;;
		*) grep -qxF -e "$w" "$out" || { echo "not offered: $w" >>"$err"; return 1; } ;;
		esac
	done
}

for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		skip "$shell" "$shell is not installed"
		continue
	fi
	offers 'why lineage run' stemma ''
	check "$shell: commands"
	offers '--jsonl --max-count' stemma log --
	check "$shell: options"
	offers 'svg dot' stemma lineage --format '' && offers 'turtle ro-crate' stemma export -f ''
	check "$shell: words and formats"
	offers "@ $id" stemma show '' && offers "$id" stemma rerun '' && offers "$id" stemma find run ''
	check "$shell: runs"
	# shellcheck disable=SC2016 # a label
	offers 'exp=one who=me !bad=$(id)' stemma find label '' && offers 'exp=one' stemma run -l ''
	check "$shell: labels, but none that a shell would take for more"
	offers 'used made exit' stemma find '' && offers 'failed ok' stemma find exit ''
	check "$shell: conditions"
	offers 'gone.txt' stemma why '' && grep -qxF 'two words' "$out" && offers 'gone.txt' stemma find used '' && offers 'below/it.txt' stemma lineage below/
	check "$shell: names of files that the record has, also of those that are gone"
	offers "it's" stemma why "it'"
	check "$shell: a name with a quote"
	offers "$T/work/gone.txt" stemma why "$T/work/go"
	check "$shell: a whole path"
	STEMMA_HOME=$T/none offers "why !$id" stemma '' && STEMMA_HOME=$T/none "words_$shell" stemma show '' && [ ! -s "$err" ] && [ ! -e "$T/none" ]
	check "$shell: where there is no record, nothing is said and nothing made"
	printf '#!/bin/sh\n: >"%s"\n' "$T/started" >other && chmod +x other && "words_$shell" ./other show '' && [ ! -e "$T/started" ]
	check "$shell: a program that is only named is not started"
	rm other
	STEMMA_HOME=$T/none offers "$id" stemma show --store "$T/record" ''
	check "$shell: the record that the line names"
done
finish
