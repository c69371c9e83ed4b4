#!/bin/sh
# trust --head, --witness, --verify --witnessed: what somebody else signed of a chain must be there. The owner of the record,
# who can make all of it anew, is found out; the witness signs no second head of a number, and none before the last.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
if ! command -v ssh-keygen >/dev/null 2>&1; then
	skip 'a witness signs' 'no ssh-keygen'
	finish
fi

# shellcheck source=t/chain.sh
. "$here/t/chain.sh"
ssh-keygen -q -t ed25519 -N '' -C '' -f witness && ssh-keygen -q -t ed25519 -N '' -C '' -f owner && echo "witness@example.org $(cat witness.pub)" >allowed && echo "me@example.org $(cat owner.pub)" >others
# sign [LEDGER]: the witness signs the head on standard input, with no record of its own.
sign()
{
	STEMMA_HOME=$T/nothing "$STEMMA" trust --witness "${1:-ledger}" --key witness >"$out" 2>"$err"
}
cmd 1 trust --head && says "$err" 'no runs have been recorded in'
check 'no head where nothing is recorded'
cmd 0 bench run -n 12 -- ./bench.sh && cmd 0 trust --head && cp "$out" top && [ "$(head -n 1 top)" = 'stemma head 1' ] && says top 'number 14' && cmd 0 trust --seal && says "$out" "head $(sed -n 's/^hash //p' top)"
check 'the head of the record, as a text'
sign <top && cp "$out" seen && cmp ledger seen && [ "$(sed -n '1p;2,4p' seen | tail -n 3)" = "$(tail -n 3 top)" ] && says seen 'stemma witness 1' 'time 1' 'BEGIN SSH SIGNATURE' && ! [ -e "$T/nothing" ]
check 'the witness signs it, and keeps what it signed'
cmd 0 trust --verify --witnessed seen --signers allowed && says "$out" 'sound: 14 seals' '1 statement of a witness is valid, 0 are invalid; 0 seals after the last one' && cmd 0 trust --verify --witnessed seen --signers allowed --identity witness@example.org --json && json '.sound and .witnessed_behind == 0 and (.witnessed | length) == 1 and (.witnessed[0] | .number == 14 and .right)'
check 'what it saw is there'
sed -n '/BEGIN SSH/,$p' seen >seen.sig && sed '/BEGIN SSH/,$d' seen >seen.text && ssh-keygen -q -Y verify -n stemma-witness -f allowed -I witness@example.org -s seen.sig <seen.text >"$out" 2>"$err" && ! ssh-keygen -q -Y verify -n stemma -f allowed -I witness@example.org -s seen.sig <seen.text >"$out" 2>"$err"
check 'OpenSSH alone says so, too; and it is no signature of a seal'
cmd 0 run -- true && cmd 0 trust --seal && cmd 0 trust --verify --witnessed seen --signers allowed && says "$out" '1 seal after the last one'
check 'what came later is not witnessed, and that is said'
cmd 0 trust --head && cp "$out" head2 && sign <head2 && cat "$out" >>seen && cmd 0 trust --verify --witnessed seen --signers allowed && says "$out" '2 statements of a witness are valid, 0 are invalid; 0 seals after the last one'
check 'a second statement, in one file with the first'

keep

# ---- the owner ----
# forged SENTENCE WHAT...: sound in itself; the statement, and the witness, know better.
forged()
{
	sentence=$1
	shift
	attacker forge "$EVTEXT" "$known" "$@" && cmd 0 trust --verify && cmd 1 trust --verify --witnessed seen --signers allowed && says "$out" "$sentence" && cmd 0 trust --head && cp "$out" head3 && ! sign <head3 && back
}
forged 'but here it is different: it was forked or rewritten' result 'time=1.21' 'time=1.01' && says "$err" 'was a different one when it was signed: the chain was forked or rewritten'
check 'an edited result, and all seals anew'
forged 'but here it is different: it was forked or rewritten' back 604800000000000 && says "$err" 'was a different one when it was signed: the chain was forked or rewritten'
check 'backdated by a week, and all seals anew'
forged 'a witness signed seal 14 of' best "$(run 10)" "$(run 11)" "$(run 12)" && says "$err" 'has already shown seal 15'
check 'a plan of three, and all seals anew'
attacker shorten "$EVTEXT" "$known" 9 && cmd 0 trust --verify && cmd 1 trust --verify --witnessed seen --signers allowed && says "$out" 'a witness signed seal 15 of ' 'but the last one present is 9: the record is cut' 'CUT: '
check 'cut, with what the host knows of it'
back
cp -a "$STEMMA_HOME" "$T/fork" && cmd 0 run -- true && cmd 0 trust --seal && cmd 0 trust --head && cp "$out" head4 && sign <head4 && cat seen "$out" >seen4 && rm -rf "$STEMMA_HOME" && mv "$T/fork" "$STEMMA_HOME" && cmd 0 run -- true && cmd 0 trust --seal && cmd 0 trust --verify && cmd 0 trust --head && cp "$out" head5 && ! sign <head5 && says "$err" 'seal 16 of ' 'was a different one when it was signed: the chain was forked or rewritten' && cmd 1 trust --verify --witnessed seen4 --signers allowed && says "$out" '2 statements of a witness are valid, 1 is invalid'
check 'a fork: the witness signs one of the two'
back

# ---- asked by the benchmark itself ----
cmd 0 bench run -n 2 --witness "STEMMA_HOME=$T/nothing $STEMMA trust --witness own --key witness" -- ./bench.sh && [ "$(grep -c '^stemma witness 1$' own)" = 2 ] && cmp own "$known.statements" && cmd 0 trust --verify --witnessed "$known.statements" --signers allowed && says "$out" '2 statements of a witness are valid, 0 are invalid; 0 seals after the last one'
check 'a benchmark asks by itself, twice'
"$EVTEXT" dump "$seg" | jq -s '[.[] | select(.k == "seal") | [.number, .step]] | .[-4:]' >"$T/steps" && n=$(jq '.[0][0]' "$T/steps") && jq -e '[.[][1]] == [1, 2, 2, 3]' "$T/steps" >"$out" && [ "$(sed -n 's/^number //p' own | tr '\n' ' ')" = "$n $((n + 3)) " ]
check 'when the plan is sealed, before the first run; and at the end'
for command in false true 'echo nonsense' nosuch "cat seen"; do
	cmd 0 bench run -n 1 --witness "$command" -- ./bench.sh && says "$err" 'no witness signed seal ' && cmp -s own "$known.statements" || break
done
cmd 2 bench show --witness true && cmd 2 bench history --witness true
check 'a witness that fails, or says something else, is told of; the benchmark goes on'
back

# ---- the statement ----
sed 's/^time 1/time 2/' seen >late && cmd 1 trust --verify --witnessed late --signers allowed && says "$out" 'the signature is invalid' '0 statements of a witness are valid, 2 are invalid'
check 'a changed statement'
cmd 1 trust --verify --witnessed seen --signers others && cmd 1 trust --verify --witnessed seen --signers allowed --identity me@example.org
check 'the owner is not the witness'
sed 's/^chain .*/chain nowhere/' top >elsewhere && sign ledger2 <elsewhere && cp "$out" seen6 && cmd 1 trust --verify --witnessed seen6 --signers allowed && says "$out" 'a statement belongs to another chain'
check 'a statement of another chain'
: >empty && cmd 1 trust --verify --witnessed empty --signers allowed && says "$out" 'there is no statement'
check 'no statement at all'
for text in nonsense 'stemma witness 1' "$(sed 's/^number .*/number 99999999999999999999999/' seen)" "$(sed 's/^number .*/number -1/' seen)" "$(sed '/END SSH/d' seen)" "$(sed 's/^hash ./hash /' seen)"; do
	printf '%s\n' "$text" >bad
	cmd 125 trust --verify --witnessed bad --signers allowed && says "$err" 'there is no statement of a witness' || break
done
check 'what is no statement'
echo nonsense >bad && ! sign <bad && says "$err" 'not the head of a chain' && sed 's/^number .*/number 0/' top >bad && ! sign <bad && cp head2 bad && echo broken >>ledger3 && ! sign ledger3 <bad && says "$err" 'there is no statement of a witness'
check 'what is no head, and no ledger'
cmd 2 trust --verify --witnessed seen && says "$err" '--signers' && cmd 2 trust --witness ledger && says "$err" '--key' && cmd 2 trust --head --seal && cmd 2 trust --witnessed seen && cmd 2 trust --head @
check 'options that do not go together'
finish
