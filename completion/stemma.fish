# fish completion for stemma

# The first column of what the record answers to a query in SQL, a line each. The record is not brought up to date for that. The program is that
# of PATH: one that was only named on the line is not started before the line is.
function __stemma_ask
    set -l words (commandline -opc)
    set -l store
    set -l at (contains -i -- --store $words)
    and set store --store $words[(math $at + 1)]
    command stemma $store sql --no-index --csv $argv[1] 2>/dev/null | tail -n +2 | string trim -r -c \r | string replace -r '^"(.*)"$' '$1' | string replace -a '""' '"'
end

function __stemma_runs
    printf '%s\n' @ '@~1'
    __stemma_ask "SELECT substr(ulid, -8) || char(9) || datetime(began / 1000000000, 'unixepoch', 'localtime') FROM run ORDER BY began DESC LIMIT 100" | string replace '\t' \t
end

# Those that need no quotes.
function __stemma_labels
    __stemma_ask 'SELECT DISTINCT labels FROM run ORDER BY began DESC LIMIT 200' | string split ' ' | string match -r '^[A-Za-z0-9_.:/@%+,-]+=[A-Za-z0-9_.:/@%+,=-]*$' | sort -u
end

# Names that the record has and that begin so.
function __stemma_files
    set -l from (commandline -ct)
    set -l folder ''
    string match -q '/*' -- $from
    or set folder $PWD/
    set -l quoted (string replace -a "'" "''" -- "$folder")
    set -l begin (string replace -a "'" "''" -- "$from")
    __stemma_ask "WITH p(begin, folder) AS (VALUES ('$quoted$begin', '$quoted')) @named@"
end

function __stemma_conditions
    switch (commandline -opc)[-1]
        case used made from into path
            __stemma_files
        case run
            __stemma_runs
        case label
            __stemma_labels
        case exit
            printf '%s\n' failed ok
        case exe arg user host in since before job stage
        case '*'
            printf '%s\n' @conditions@
    end
end

# The command, if there is one yet; with NAME: is it that one?
function __stemma_at
    set -l words (commandline -opc)[2..-1]
    while set -q words[1]
        switch $words[1]
            case --store
                set -e words[1]
            case '-*'
            case '*'
                test (count $argv) = 0 -o "$words[1]" = "$argv[1]"
                return
        end
        set -e words[1]
    end
    return 1
end

complete -c stemma -f
complete -c stemma -n 'not __stemma_at' -l version -d 'say which stemma this is'
complete -c stemma -n 'not __stemma_at' -l node -d 'ask what stemmad recorded'
complete -c stemma -l help -s h -d 'list commands or options'
complete -c stemma -l store -r -F -d 'the record to use'
@commands@
@options@
@operands@
