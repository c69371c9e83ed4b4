#!/bin/sh
# why of a folder: files that the same programs made are one line.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir data
for i in 1 2 3 4 5; do seq $i >data/$i.txt; done
printf 'import sys\nopen("out/sum.csv", "w").write(str(len(open("out/1.sorted").read())))\n' >sum.py
# shellcheck disable=SC2016 # the recorded shell's own
cmd 0 run -- sh -c 'mkdir -p out/sub; for i in 1 2 3 4 5; do sort -r data/$i.txt | head -n 3 >out/$i.sorted; done; cp data/1.txt out/sub/copy; '"$PYTHON"' sum.py'
check 'a folder of results'
echo by hand >out/notes
cmd 0 why out/ && says "$out" 'out/: 8 files, 1 not recorded' && lines "$out" 4 &&
	says "$out" 'out/1.sorted, out/2.sorted, out/3.sorted and 2 more: made by sort | head from ' && says "$out" 'data/5.txt@{1}' &&
	says "$out" 'out/sub/copy: made by cp from data/1.txt@{1} by' && says "$out" 'out/sum.csv: made by python3 sum.py by'
check 'why of the folder'
sed -n 2p "$out" | grep -q 'and 2 more'
check 'the group of most files comes first'
echo changed >out/1.sorted
cmd 0 why out && says "$out" '1 external or modified since' && says "$out" 'and 1 more: made by sort | head'
check 'a file that has changed since is not counted to its maker'
cmd 0 why --json out && json '(.answers | length) == 6 and ([.answers[].entity.path | sub(".*/"; "")] | index("sum.csv") != null)'
check 'the JSON has an answer for each made file'
cmd 1 why data && says "$out" 'data/: 5 files, 5 external or modified since'
check 'a folder of which nothing was made'
mkdir empty && cmd 1 why empty && says "$out" 'empty/: 0 files'
check 'an empty one'
cmd 1 why out data && lines "$out" 5
check 'several'
ln -s out link && cmd 0 why link && says "$out" 'link/: 8 files'
check 'a folder by a symbolic link'
if [ "$(id -u)" != 0 ]; then
	chmod 000 out/sub && cmd 0 why out && says "$err" "1 file or folder below 'out' could not be read"
	check 'what could not be read is said'
	chmod 700 out/sub
else
	skip 'what could not be read is said' 'root reads all'
fi
finish
