#!/bin/sh
# trust --start-key: seals with keys that only go forward. Who makes the whole chain anew, or cuts it and what the host knows
# of it, has the next key only, and is found by whoever has the start key.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/chain.sh
. "$here/t/chain.sh"

cmd 0 run -- true && cmd 0 trust --seal --start-key key && says "$out" 'sealed 1 session' 'start key in key: keep it on another machine' && [ "$(stat -c %a key)" = 600 ] && cmd 0 trust --verify --start-key key && says "$out" 'sound: 1 seal of 1 session' '1 seal was made with the correct key'
check 'a start key, and the first seal by it'
cmd 0 bench run -n 12 -- ./bench.sh && cmd 0 run -- true && cmd 0 trust --seal && cmd 0 trust --verify --start-key key && says "$out" 'sound: 16 seals of ' '16 seals were made with the correct key' && cmd 0 trust --verify --start-key key --json && json '.sound and .keys_good == 16'
check 'a benchmark goes on with it by itself'
start=$(sed -n 's/^key //p' key)
[ ${#start} = 64 ] && ! grep -rq "$start" "$STEMMA_HOME" && grep -q '^key [0-9a-f]\{64\}$' "$STEMMA_HOME"/seals/*
check 'the start key is not in the record, the next one is'

# The keys again, by another hand: HMAC-SHA-256 of each seal's hash, and SHA-256 from key to key.
keep
cat >"$T/keys.py" <<'END'
import hashlib, hmac, json, sys
key, number = bytes.fromhex(sys.argv[2]), 1
for line in open(sys.argv[1]):
    seal = json.loads(line)
    if seal['k'] != 'seal':
        continue
    assert seal['number'] == number
    assert seal['start'].encode('latin-1') == hashlib.sha256(b'stemma start key\n' + bytes.fromhex(sys.argv[2])).digest()
    assert seal['mac'].encode('latin-1') == hmac.new(key, seal['hash'].encode('latin-1'), hashlib.sha256).digest()
    key, number = hashlib.sha256(b'stemma next key\n' + key).digest(), number + 1
print(number - 1, key.hex())
END
$PYTHON -B "$T/keys.py" "$T/text" "$start" >"$T/next" 2>"$err" && [ "$(cat "$T/next")" = "16 $(sed -n 's/^key //p' "$known")" ]
check 'the keys are what the format says'

# forged WHAT...: sound in itself, and not with the start key.
forged()
{
	attacker forge "$EVTEXT" "$known" "$@" && cmd 0 trust --verify && cmd 1 trust --verify --start-key key && says "$out" 'was not made with its key: it was rewritten' 'NOT SOUND' && back
}
forged result 'time=1.21' 'time=1.01'
check 'an edited result, and all seals anew'
forged back 604800000000000
check 'backdated by a week, and all seals anew'
forged best "$(run 10)" "$(run 11)" "$(run 12)" && says "$out" "the host's next key is not that of seal 8: the chain was cut or rewritten"
check 'a plan of three, and all seals anew'
attacker shorten "$EVTEXT" "$known" 9 && cmd 0 trust --verify && says "$out" 'sound: 9 seals' && cmd 1 trust --verify --start-key key && says "$out" "the host's next key is not that of seal 10: the chain was cut or rewritten" '9 seals were made with the correct key'
check 'cut, with what the host knows of it'
rm "$known" && cmd 1 trust --verify --start-key key && says "$out" ') is missing: whether the chain was cut is unknown'
check 'without what the host knows'
cmd 0 trust --seal && cmd 0 run -- true && cmd 0 trust --seal && cmd 1 trust --verify --start-key key && says "$out" 'has no key: it was rewritten, or the host lost its key'
check 'a host that lost its key goes on without, and that is seen'
back

# What a kill leaves between the log and what the host knows: one seal more in the log.
cp "$known" "$T/known" && cmd 0 run -- true && cmd 0 trust --seal && cp "$T/known" "$known" && : >"$known.open" && cmd 0 trust --verify --json && json '.sound'
check 'a seal of which the host does not know'
cmd 0 bench run -n 2 -- ./bench.sh && cmd 0 trust --verify --start-key key --json && json '.sound and .seals == 21 and .keys_good == 21' && ! [ -e "$known.open" ]
check 'the next one goes on behind it, with the right key'
back

# ---- another key, and what is none ----
cmd 125 trust --seal --start-key key && says "$err" "cannot write the start key to 'key': File exists" && cmd 0 trust --verify --start-key key
check 'a start key is not overwritten'
cmd 0 trust --seal --start-key second && cmd 0 run -- true && cmd 0 trust --seal && cmd 1 trust --verify --start-key key && says "$out" 'seal 17 of ' 'has another start key' '16 seals were made with the correct key' && cmd 0 trust --verify --start-key second --json && json '.keys_good == 1'
check 'a second start key'
echo nonsense >nonsense && cmd 125 trust --verify --start-key nonsense && says "$err" 'is not a start key' && cmd 125 trust --verify --start-key nosuch && cmd 2 trust --start-key key && says "$err" '--start-key requires --seal or --verify'
check 'what is no start key'
finish
