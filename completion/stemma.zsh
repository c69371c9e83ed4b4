#compdef stemma
# zsh completion for stemma

# The first column of what the record answers to a query in SQL, a line each. The record is not brought up to date for that. The program is that
# of PATH: one that was only named on the line is not started before the line is.
_stemma_ask()
{
	local line
	command stemma $store sql --no-index --csv "$1" 2>/dev/null | while IFS= read -r line; do
		line=${line%$'\r'}
		if [[ $line == \"*\" ]]; then
			line=${line[2,-2]}
			line=${line//\"\"/\"}
		fi
		print -r -- "$line"
	done | tail -n +2
}

_stemma_runs()
{
	local -a runs=(@ '@~1' ${(f)"$(_stemma_ask 'SELECT substr(ulid, -8) FROM run ORDER BY began DESC LIMIT 100')"})
	compadd -V runs -- $runs
}

# Those that need no quotes.
_stemma_labels()
{
	setopt localoptions extendedglob
	local -aU labels=(${(M)${=${(f)"$(_stemma_ask 'SELECT DISTINCT labels FROM run ORDER BY began DESC LIMIT 200')"}}:#[A-Za-z0-9_.:/@%+,=-]#=[A-Za-z0-9_.:/@%+,=-]#})
	compadd -- $labels
}

# Names that the record has and that begin so.
_stemma_files()
{
	local from=${(Q)cur} folder='' q="'"
	[[ $from == /* ]] || folder=$PWD/
	local -a names=(${(f)"$(_stemma_ask "WITH p(begin, folder) AS (VALUES ('${folder//$q/$q$q}${from//$q/$q$q}', '${folder//$q/$q$q}')) @named@")"})
	compadd -f -S '' -- $names
}

# What stands for each WORD in operands and arguments of options.
_stemma_offer()
{
	local kind
	for kind; do
		case $kind in
		run) _stemma_runs ;;
		label) _stemma_labels ;;
		file)
			_files
			_stemma_files
			;;
		path) _files ;;
		conditions)
			case $prev in
			used | made | from | into | path) _stemma_offer file ;;
			run) _stemma_runs ;;
			label) _stemma_labels ;;
			exit) compadd -- failed ok ;;
			exe | arg | user | host | in | since | before | job | stage) ;;
			*) compadd -- @conditions@ ;;
			esac
			;;
		settings) compadd -- @settings@ ;;
		formats) compadd -- @formats@ ;;
		*) compadd -- ${=kind} ;;
		esac
	done
}

_stemma()
{
	local cur=$words[CURRENT] prev=$words[CURRENT-1] command='' i k
	local -a store=() options=() commands=()
	for ((i = 2; i < CURRENT; i++)); do
		case $words[i] in
		--store)
			store=(--store "${${(Q)words[i+1]}/#\~/$HOME}")
			((i++))
			;;
		-*) ;;
		*)
			command=$words[i]
			break
			;;
		esac
	done
	k=$((i + 1))
	for (( ; i + 1 < CURRENT; i++)); do # it may stand behind the command, too
		[[ $words[i] != --store ]] || store=(--store "${${(Q)words[i+1]}/#\~/$HOME}")
		[[ $words[i] != -- ]] || break
	done
	if [[ $prev == --store ]]; then
		_files -/
		return
	fi
	if [[ -z $command ]]; then
		options=('--store:record directory' '--node:query the record made by stemmad' '--version:print the version' '--help:list the commands')
		commands=(
@commands@
		)
		_describe -t commands command commands
		_describe -o option options
		return
	fi
	# Behind the options of these stands another command line.
	if [[ $command == @wrappers@ ]]; then
		while ((k < CURRENT)); do
			case $words[k] in
			--)
				((k++))
				break
				;;
@skipped@
			-*) ((k++)) ;;
			*) break ;;
			esac
		done
		if ((k < CURRENT)) || [[ $cur != -* && $k == $CURRENT && $prev == -- ]]; then
			words=("${(@)words[k,-1]}")
			CURRENT=$((CURRENT - k + 1))
			_normal
			return
		fi
	fi
	case $command/$prev in
@arguments@
	*)
		if [[ $cur == -* ]]; then
			options=('--store:record directory' '--help:print help' '--help-all:print all options' '-h:print help')
			case $command in
@options@
			esac
			_describe -o option options
		else
			case $command in
@operands@
			esac
		fi
		;;
	esac
}
if [[ ${funcstack[1]:-} == _stemma ]]; then
	_stemma "$@"
else
	compdef _stemma stemma
fi
