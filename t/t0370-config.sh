#!/bin/sh
# config: where values come from, what is wrong in a file is said and has no effect, defaults of run.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cmd 0 config && lines "$out" "$(grep -c '^CONFIG(' "$here/src/base/config.def")" && says "$out" "store = $STEMMA_HOME" && says "$out" 'skew = 0s' && says "$out" 'color = auto'
check 'all settings'
cmd 0 config skew && is "$out" '0s' && cmd 2 config nosuch && cmd 2 config a b && cmd 2 config --list skew
check 'one setting'
mkdir -p "$HOME/.config/stemma" .stemma deep/er
echo 'skew = 1s' >"$HOME/.config/stemma/config"
printf '# ours\nskew=2s\nstore = rec\n' >.stemma/config
echo "projects = $T/work" >>"$HOME/.config/stemma/config"
cd deep/er || exit 1
cmd 0 config --show-origin && says "$out" "$T/work/.stemma/config:2	skew = 2s" && says "$out" 'STEMMA_HOME	store' && says "$out" 'default	color = auto'
check 'a project that the user trusts over the user, the environment over the project'
unset STEMMA_HOME
cmd 0 config store && is "$out" "$T/work/rec" && cmd 0 config store --store "$T/opt" && is "$out" "$T/opt"
check 'a path of the project; the option over all'
XDG_CONFIG_HOME="$T/none" STEMMA_PROJECTS="/x:$T/work/" cmd 0 config skew && is "$out" '2s' && STEMMA_SKEW=3ms cmd 0 config skew && is "$out" '3ms' && STEMMA_SKEW='' cmd 0 config skew && is "$out" '2s'
check 'variables'
STEMMA_SKEW=rubbish STEMMA_CAPTURE=wild cmd 0 config skew && is "$out" '2s' && lines "$err" 2 && says "$err" "stemma: STEMMA_SKEW: 'rubbish' is not a valid value of 'skew'"
check 'a variable that makes no sense is said, and has no effect'
printf 'skew\nnosuch = 1\ncolor = mauve\nskew = 5s\n\377\001 = 2\n' >"$T/work/.stemma/config"
cmd 0 config skew && is "$out" '5s' && lines "$err" 4 && says "$err" ".stemma/config:1: not 'key = value'" && ! grep -q "$(printf '\001')" "$err"
check 'so is what makes no sense in a file'
cmd 0 config --json 2>/dev/null && json '.format == 1 and ([.settings[].key] | contains(["store","skew"]))' && json '.settings[] | select(.key == "skew") | .value == "5s" and .environment == "STEMMA_SKEW"'
check 'JSON'
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$T/work/.stemma/config" && cmd 0 config skew && is "$out" '1s' && says "$err" 'belongs to another user'
	check 'a project file of somebody else is passed over'
else
	skip 'a project file of somebody else is passed over' 'only root can give files away'
fi
finish
