#!/bin/sh
# How commands are called: usage texts, mistakes, exit statuses, no record, a record that cannot be read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cmd 0 --version && says "$out" 'stemma ' && lines "$out" 1
check '--version'
cmd 0 --help && says "$out" 'lineage' && [ ! -s "$err" ]
check '--help goes to standard output'
cmd 2 && says "$err" 'usage:' && [ ! -s "$out" ]
check 'no command is a mistake'
cmd 2 nonsense && says "$err" "stemma: unknown command 'nonsense'" && says "$err" 'hint: '
check 'an unknown command'
cmd 2 --nonsense log && says "$err" 'stemma: unknown option --nonsense'
check 'an unknown option before the command'
for c in run log show lineage why find stat sql index fsck config doctor; do
	cmd 0 $c --help && says "$out" "usage: stemma $c" && says "$out" '--store DIR' && [ ! -s "$err" ] &&
		! grep -qE '^.{101}' "$out"
	check "$c --help"
	cmd 2 $c --nonsense && says "$err" 'has no option --nonsense' && lines "$err" 2
	check "$c with an unknown option"
done
cmd 2 log -Q && says "$err" "'log' has no option -Q"
check 'an unknown letter'
cmd 2 log -n && says "$err" 'an argument is missing'
check 'an option without its argument'
cmd 2 log --json=yes && says "$err" 'takes no argument'
check 'an argument that an option does not take'
for n in x -1 1x 99999999999999999999 ''; do
	cmd 2 log -n "$n" && says "$err" 'needs a number'
	check "'$n' is no number"
done
cmd 2 lineage && cmd 2 why && cmd 2 find && cmd 2 stat && cmd 2 sql && cmd 2 show && cmd 2 lineage a b && cmd 2 log x
check 'missing and superfluous operands'
cmd 2 lineage --up --down x && cmd 2 lineage --format gif x && says "$err" "'gif'"
check 'options that contradict each other, and words that are none'

cmd 1 why x && says "$err" "no runs have been recorded in '$STEMMA_HOME' yet" && says "$err" 'hint: record a command with: stemma run' && [ ! -e "$STEMMA_HOME" ]
check 'without a record, a question says so and makes none'
cmd 1 log && cmd 1 index && cmd 1 fsck && [ ! -e "$STEMMA_HOME" ]
check 'neither do index and fsck'
cmd 1 --store "$T/elsewhere" log && says "$err" "'$T/elsewhere'" && cmd 1 log --store "$T/elsewhere" && says "$err" "'$T/elsewhere'"
check '--store before and after the command'

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['true'])
p = h.process(); h.exec(p, ['true'], exe='/usr/bin/true'); h.exit(p); h.end(); h.save(home, evtext)
END
cmd 0 log && says "$out" 'AAAAAAAA' && lines "$out" 2
check 'a record is read'
if [ "$(id -u)" = 0 ]; then
	skip 'a record that may not be read' 'root may read everything'
else
	chmod 0 "$STEMMA_HOME/logs"
	cmd 125 log && says "$err" 'Permission denied'
	check 'a record that may not be read'
	chmod 700 "$STEMMA_HOME/logs"
fi
cmd 2 run --count --transport=trace -- true && says "$err" '--exact counts with ptrace' && cmd 2 run --count --capture=tree -- true && says "$err" 'cannot be combined with --capture=tree'
check 'counting where nothing would be counted'
"$STEMMA" log >/dev/full 2>"$err"
[ $? = 125 ] && says "$err" 'cannot write the output: No space left on device'
check 'output that cannot be written is a failure'
"$STEMMA" log >&- 2>"$err"
[ $? = 125 ]
check 'standard output that is closed'
finish
