#!/bin/sh
# A shell that opened a file for others, and wrote something somewhere: what it read before is possible in the file, and not sure. Where all that it
# wrote is known, nothing of it is there.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo 1 >p
echo 2 >q
cmd 0 run -q -- bash -c 'read -r l <p; { cat q; } >out; echo done' && cmd 0 find 'from p' && says_not "$out" 'out@{1}' || { cmd 0 find 'from p' && says "$out" 'out@{1}?'; }
check 'a shell that later writes elsewhere'
cmd 0 lineage out && says "$out" 'cat q' 'q@{1}' && { says_not "$out" 'p@{1}' || says "$out" '? opened by bash'; }
check 'the lineage marks it'
cmd 0 lineage --certain out && says "$out" 'q@{1}' && says_not "$out" 'p@{1}'
check 'what the program read that wrote is sure, and alone'
cmd 0 why out && says "$out" 'made by cat q in bash' 'from q@{1}' && says_not "$out" 'q@{1}?'
check 'why names it'
cmd 0 run -q -- bash -c 'read -r l <p; { cat q; } >out2' && cmd 0 find 'from p' && says_not "$out" 'out2@{1}' || { cmd 0 find 'from p' && says "$out" 'out2@{1}?'; }
check 'one that writes nothing else'
cmd 0 run -q -- bash -c 'read -r l <p; echo "$l" >out3; cat q >out4' && cmd 0 lineage --certain out3 && says "$out" 'p@{1}'
check 'one that writes alone is sure'
cmd 0 lineage --certain out4 && says "$out" 'q@{1}' && says_not "$out" 'p@{1}'
check 'and not in the file of its program'
finish
