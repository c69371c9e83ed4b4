# bash completion for stemma

# The first column of what the record answers to a query in SQL, a line each. The record is not brought up to date for that. The program is that
# of PATH: one that was only named on the line is not started before the line is.
_stemma_ask()
{
	local line
	command stemma "${store[@]}" sql --no-index --csv "$1" 2>/dev/null | while IFS= read -r line; do
		line=${line%$'\r'}
		if [[ $line == \"*\" ]]; then
			line=${line:1:-1}
			line=${line//\"\"/\"}
		fi
		printf '%s\n' "$line"
	done | tail -n +2
}

_stemma_runs()
{
	printf '@\n@~1\n'
	_stemma_ask 'SELECT substr(ulid, -8) FROM run ORDER BY began DESC LIMIT 100'
}

# Those that need no quotes.
_stemma_labels()
{
	local -a words
	local word
	_stemma_ask 'SELECT DISTINCT labels FROM run ORDER BY began DESC LIMIT 200' | while read -ra words; do
		for word in "${words[@]}"; do
			[[ $word != *=* || $word == *[!A-Za-z0-9_.:/@%+,=-]* ]] || printf '%s\n' "$word"
		done
	done | sort -u
}

# Names that the record has and that begin so.
_stemma_files()
{
	local from=${1//\\/} folder='' q="'"
	[[ $from == /* ]] || folder=$PWD/
	_stemma_ask "WITH p(begin, folder) AS (VALUES ('${folder//$q/$q$q}${from//$q/$q$q}', '${folder//$q/$q$q}')) @named@"
}

# What stands for each word in operands and arguments of options: fills words and more, or asks for files.
_stemma_offer()
{
	local kind
	for kind; do
		case $kind in
		run) mapfile -t more < <(_stemma_runs) ;;
		label) mapfile -t more < <(_stemma_labels) ;;
		file) files=yes recorded=yes ;;
		path) files=yes ;;
		conditions)
			case $prev in
			used | made | from | into | path) _stemma_offer file ;;
			run) _stemma_offer run ;;
			label) _stemma_offer label ;;
			exit) words='failed ok' ;;
			exe | arg | user | host | in | since | before | job | stage) ;;
			*) words='@conditions@' ;;
			esac
			;;
		settings) words='@settings@' ;;
		formats) words='@formats@' ;;
		*) words=$kind ;;
		esac
	done
}

_stemma()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' words='' files='' recorded='' joined='' i
	local -a store=() more=()
	COMPREPLY=()
	# bash takes = for the end of a word, and replaces only what stands behind it.
	if [[ $cur == = ]]; then
		joined=$prev= cur=''
	elif [[ $prev == = ]]; then
		joined=${COMP_WORDS[COMP_CWORD-2]}=
	fi
	if [[ $joined == --* ]]; then
		prev=${joined%=} joined=''
	elif [[ -n $joined ]]; then
		[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-3]} || prev=${COMP_WORDS[COMP_CWORD-2]}
		cur=$joined$cur
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--store)
			store=(--store "${COMP_WORDS[i+1]/#\~/$HOME}")
			((i++))
			;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	for ((; i + 1 < COMP_CWORD; i++)); do # it may stand behind the command, too
		[[ ${COMP_WORDS[i]} != --store ]] || store=(--store "${COMP_WORDS[i+1]/#\~/$HOME}")
		[[ ${COMP_WORDS[i]} != -- ]] || break
	done
	if [[ $prev == --store ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
	fi
	if [[ -z $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--store --node --version --help @commands@' -- "$cur")
		return
	fi
	# Behind the options of these stands another command line.
	if [[ $command == @wrappers@ ]] && declare -F _command_offset >/dev/null; then
		local k
		for ((k = 1; k < COMP_CWORD; k++)); do
			[[ ${COMP_WORDS[k]} != "$command" ]] || break
		done
		((k++))
		while ((k < COMP_CWORD)); do
			case ${COMP_WORDS[k]} in
			--)
				((k++))
				break
				;;
@skipped@
			-*) ((k++)) ;;
			*) break ;;
			esac
		done
		if ((k < COMP_CWORD)) || [[ $cur != -* && $k == "$COMP_CWORD" && $prev == -- ]]; then
			_command_offset "$k"
			return
		fi
	fi
	case $command/$prev in
@arguments@
	*)
		if [[ $cur == -* ]]; then
			case $command in
@options@
			esac
		else
			case $command in
@operands@
			esac
		fi
		;;
	esac
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
	for i in "${more[@]}"; do
		[[ $i != "$cur"* ]] || COMPREPLY+=("${i#"$joined"}")
	done
	if [[ -n $files ]]; then
		mapfile -t COMPREPLY < <({
			[[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
			compgen -f -- "$cur"
			[[ -z $recorded ]] || _stemma_files "$cur" | while IFS= read -r i; do
				[[ -d $i ]] && i=${i%/}
				printf '%s\n' "$i"
			done
		} | sort -u)
		compopt -o filenames 2>/dev/null
	fi
}
complete -F _stemma stemma
