#!/bin/sh
# trust --seal and --verify: whatever was changed, removed or swapped in the record after it was sealed is found; forget and
# gc are not; signatures. What an attacker does is done by stemma-evtext (its checksums are right) and by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

echo in >in.txt
for i in 1 2 3; do
	"$STEMMA" run -l n=$i -- sh -c "cat in.txt >out$i.txt"
done
cmd 1 trust --verify && says "$out" 'nothing is sealed'
check 'nothing is sealed at first'
cmd 0 trust --seal --json && json '.sessions == 3 and .seals == 1 and (.head | length) == 64' && head1=$(jq -r .head "$out") && cmd 0 trust --verify --json && json '.sound and .sessions == 3 and .unsealed == 0 and .problems == []' && cmd 0 trust --verify && says "$out" 'sound: 1 seal of 3 sessions, '
check 'sealed, and sound'
cmd 0 trust --seal --json && json ".sessions == 0 and .head == \"$head1\""
check 'sealing again changes nothing'
"$STEMMA" run -l n=4 -- sh -c 'cat in.txt >out4.txt'
cmd 0 trust --verify --json && json '.sound and .unsealed == 1' && cmd 0 trust --seal --json && json '.sessions == 1' && head2=$(jq -r .head "$out") && [ "$head1" != "$head2" ] && cmd 0 trust --verify "$head1" --json && json '.expected' && cmd 0 trust --verify "$head2"
check 'a second link; both heads are the chain'"'"'s'
cmd 1 trust --verify "$(echo x | sha256sum | cut -d' ' -f1)" && says "$out" 'the expected hash is not in the chain' && cmd 2 trust --verify abc
check 'another head is not'

seg=$(echo "$STEMMA_HOME"/logs/*/*/0.stl)
cp "$seg" "$T/good"
"$EVTEXT" dump "$seg" >"$T/text"
sessions=$(sed -n 's/.*"session":"\([0-9a-f]*\)".*/\1/p' "$T/text" | uniq | awk '!s[$0]++')
# attack ARG...: does that to the record (t/chain_attack.py), looks, and puts it back.
attack()
{
	cp "$seg" "$T/before"
	if $PYTHON -B "$here/t/chain_attack.py" "$seg" "$@" 2>>"$err" && cmd 1 trust --verify --json && json '.sound == false and (.problems | length) > 0'; then
		cp "$out" "$T/found"
		found=0
	else
		found=1
	fi
	cp "$T/before" "$seg"
	return $found
}
$PYTHON -B "$here/t/chain_attack.py" "$seg" none && cmp "$seg" "$T/good"
check 'the attacker can write a segment as stemma does'
second=$(echo "$sessions" | sed -n 2p)
attack replace out2.txt outX.txt && says "$T/found" "$second was changed"
check 'a changed argument, with right checksums'
attack drop "$second" && says "$T/found" "$second is sealed and missing"
check 'a removed run'
attack swap "$second" && says "$T/found" "$second was changed"
check 'swapped events'
attack cut "$second" && says "$T/found" "$second has lost a part"
check 'a removed end'
grep -n '"k":"seal"' "$T/text" >"$T/seals" && lines "$T/seals" 2
check 'there are two seals'
first=$(sed -n '/"k":"seal"/{s/.*"session":"\([0-9a-f]*\)".*/\1/p;q}' "$T/text")
attack drop "$first" && says "$T/found" 'the first 1 seal of'
check 'a removed seal'
attack flip "$first" && says "$T/found" "seal 1 of"
check 'a changed seal'
printf X | dd of="$seg" bs=1 seek=$(($(stat -c %s "$seg") / 2)) conv=notrunc 2>/dev/null && cmd 1 trust --verify --json && json '.sound == false'
check 'a flipped byte'
cp "$T/good" "$seg"
head -c $(($(stat -c %s "$seg") - 700)) "$T/good" >"$seg" && cmd 1 trust --verify "$head2" && says "$out" 'the expected hash is not in the chain'
check 'the newest seal cut off: whoever has its hash sees it'
cp "$T/good" "$seg"
cmd 0 trust --verify
check 'as it was, it is sound'

# ---- forget ----
cmd 0 forget '@~2' && cmd 0 trust --verify --json && json '.sound and .forgotten == 1'
check 'a forgotten run is no tampering, and is counted'
cmd 0 forget in.txt && cmd 0 trust --verify --json && json '.sound and .rewritten >= 1 and .seals == 3'
check 'what is left of others is sealed again'
cp "$seg" "$T/good" && attack replace out4.txt outX.txt
check 'and a change after that is found'
$PYTHON -B "$here/t/chain_attack.py" "$seg" replace out4.txt outX.txt && cmd 0 index --rebuild && cmd 0 forget '@~1' && cmd 1 trust --verify --json && json 'any(.problems[]; contains("changed") or contains("not there") or contains("lost"))'
check 'forget does not seal what was changed before'
cp "$T/good" "$seg"
cmd 0 index --rebuild
[ "$(find "$STEMMA_HOME/logs" -name '*.stl' | wc -l)" -ge 1 ] && cmd 0 trust --verify --json && json '.sound'
check 'sound again'
"$STEMMA" run -- true
cmd 0 trust --seal && cmd 0 gc --older-than 0s --force && cmd 0 trust --verify --json && json '.sound and .forgotten >= 2'
check 'gc'

# ---- signatures ----
if command -v ssh-keygen >/dev/null 2>&1; then
	ssh-keygen -q -t ed25519 -N '' -C '' -f key && ssh-keygen -q -t ed25519 -N '' -C '' -f other && echo "me@example.org $(cat key.pub)" >allowed && echo "me@example.org $(cat other.pub)" >wrong
	"$STEMMA" run -- true
	cmd 0 trust --seal --key key && cmd 0 trust --verify --signers allowed && says "$out" '1 signature is valid' && cmd 0 trust --verify --signers allowed --identity me@example.org --json && json '.sound and .signed == 1 and .signatures_good == 1'
	check 'signed by OpenSSH'
	cmd 1 trust --verify --signers wrong && cmd 1 trust --verify --signers allowed --identity you@example.org
	check 'not by another'
	"$STEMMA" run -- true
	cmd 0 trust --seal && cmd 0 trust --verify && cmd 1 trust --verify --signers allowed && says "$out" 'not signed'
	check 'what was sealed later without a key is said'
	cmd 125 trust --seal --key nosuch || [ "$got" = 0 ]
	"$STEMMA" run -- true
	cmd 125 trust --seal --key nosuch && says "$err" nosuch
	check 'a key that is not there'
	cmd 2 trust --verify --key allowed && says "$err" '--signers' && cmd 2 trust --seal --signers allowed && cmd 2 trust --verify --identity me@example.org && cmd 1 trust --verify --signers nosuch && cmd 1 trust --verify --signers key
	check 'what signs does not verify, nor the other way'
else
	skip 'signed by OpenSSH' 'no ssh-keygen'
fi
finish
