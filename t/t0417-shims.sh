#!/bin/sh
# Interpreter shims (pyenv and the like) are no programs to who reads: they count to what they became.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$HOME/.pyenv/shims" "$HOME/.pyenv/libexec"
cat >"$HOME/.pyenv/shims/python3" <<END
#!/usr/bin/env sh
exec "$HOME/.pyenv/libexec/pyenv" exec python3 "\$@"
END
cat >"$HOME/.pyenv/libexec/pyenv" <<END
#!/usr/bin/env sh
where=\$(readlink -f "\$0"; basename "\$0")
shift 2
exec "$PYTHON" "\$@"
END
chmod +x "$HOME/.pyenv/shims/python3" "$HOME/.pyenv/libexec/pyenv"
echo "open('o', 'w').write(open('i').read())" >a.py
echo 1 >i
# shellcheck disable=SC2016 # by the shell inside
cmd 0 run -- sh -c 'PATH="$HOME/.pyenv/shims:$PATH"; export PATH; python3 a.py'
cmd 0 why o && says "$out" 'made by python3 a.py' 'from i@{1}' && says_not "$out" pyenv
check 'why'
cmd 0 show @ && says "$out" executions 'python3 a.py' && says_not "$out" readlink && says_not "$out" basename && says_not "$out" .pyenv/libexec && cmd 0 show --all @ && says "$out" readlink
check 'show: neither the shims nor what they started; --all has them'
cmd 0 lineage o && says "$out" 'python3 a.py' && says_not "$out" .pyenv && cmd 0 lineage --down a.py && says_not "$out" .pyenv
check 'lineage'
finish
