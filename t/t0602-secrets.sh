#!/bin/sh
# stemma secrets: a record that holds secrets, as an older stemma or somebody else may have made it, is searched and
# redacted: nothing prints one, ids stay, and no file of the record holds one afterwards.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

token="gh""p_0123456789abcdefABCDEF0123456789abcd"
make_record()
{
	rm -rf "$STEMMA_HOME" "$HOME/.cache"
	TOKEN=$token history <<'END'
import os
token = os.environ['TOKEN']
for i, letter in enumerate('ABC'):
    secret = 'hunter-of-' + letter if letter != 'C' else '***'
    h = History('01' + letter * 24, argv=['step', '--password', secret], start=1000 * i, host='h1', cwd='/w')
    h.pids += 100 * i
    p = h.process(); h.exec(p, ['curl', '-u', 'ann:' + secret, 'https://e.org/'], exe='/usr/bin/curl', env=['CFLAGS=-DDB_PASSWORD=' + secret])
    h.read(p, h.file('/w/in', ino=99))
    h.write(p, h.file('/w/dump-%s.json' % (token if letter == 'A' else 'none'), ino=200 + i), size=i)
    h.add('gap', p=p, reason=2, text='not seen: https://ann:%s@h/x' % secret)
    h.exit(p); h.end()
    h.save(home, evtext, letter)
END
}
nowhere() { ! LC_ALL=C grep -rlaF -e "$1" "$STEMMA_HOME" "$HOME" >"$out" 2>/dev/null; }

make_record
cmd 0 index --rebuild && cmd 0 log && lines "$out" 4 && ! nowhere hunter-of-A && ! nowhere hunter-of-B && ! nowhere "$token"
check 'the record holds secrets'
cmd 0 sql --csv 'SELECT pub FROM version' && sort "$out" >"$T/versions" && cmd 0 sql --csv 'SELECT pub FROM execution' && sort "$out" >"$T/executions"
cmd 1 secrets && says "$out" 'password' 'github' 'exec' 'run' 'curl' && says_not "$out" hunter-of "$token" && grep -q 'ghp_\.\.\.' "$out"
check 'they are found, and not printed'
cmd 1 secrets --json && json '.redacted == false and (.secrets | length >= 7) and (.secrets | map(.begins | length <= 4) | all) and (.secrets | map(.family) | index("github")) != null' && says_not "$out" hunter-of "$token"
check 'as JSON'
cmd 1 secrets 01BBBBBBBBBBBBBBBBBBBBBBBB && says_not "$out" 01AAAAAAAAAAAAAAAAAAAAAAAA && says "$out" 01BBBBBBBBBBBBBBBBBBBBBBBB && cmd 0 secrets 01CCCCCCCCCCCCCCCCCCCCCCCC && lines "$out" 0 && cmd 1 secrets ZZZZZZZZZZ
check 'of one run'
mkdir exported && "$STEMMA" export --format prov-json --all >exported/all.json 2>"$err" && printf 'nothing\n' >exported/nothing.txt
cmd 1 secrets exported && says "$out" 'exported/all.json:' && says_not "$out" nothing.txt hunter-of "$token" && cmd 0 secrets exported/nothing.txt && cmd 2 secrets --redact exported/all.json && cmd 1 secrets --json exported/all.json && json '.secrets[0].line > 0'
check 'what was exported is searched'

cmd 0 secrets --redact 01BBBBBBBBBBBBBBBBBBBBBBBB && nowhere hunter-of-B && ! nowhere hunter-of-A
check 'one run is redacted'
cmd 0 secrets --redact && says "$out" 'removed' && nowhere hunter-of-A && nowhere "$token"
check 'no file of the record holds one any more'
cmd 0 secrets && lines "$out" 0 && cmd 0 secrets --redact && lines "$out" 0
check 'then there are none'
cmd 0 sql --csv 'SELECT pub FROM version' && sort "$out" | cmp -s - "$T/versions" && cmd 0 sql --csv 'SELECT pub FROM execution' && sort "$out" | cmp -s - "$T/executions" && cmd 0 log && lines "$out" 4 && cmd 0 fsck
check 'all ids are as they were'
cmd 0 show --json 01AAAAAAAAAAAAAAAAAAAAAAAA && says "$out" 'ann:***' '--password' && cmd 0 index --rebuild && nowhere hunter-of && cmd 0 log && lines "$out" 4
check 'that there was one is still said'

# An index keeps no old page of it, and neither does one that was made in a cache.
find "$STEMMA_HOME" "$HOME" -type f \( -name '*.db*' -o -name '*sqlite*' -o -name 'index*' \) >"$T/list"
found=0
while IFS= read -r f; do LC_ALL=C grep -qaF -e hunter-of -e "$token" "$f" && found=1; done <"$T/list"
[ -s "$T/list" ] && [ "$found" -eq 0 ]
check 'the files of the index hold none'
finish
