. "$(dirname "$0")/../tests/prog/lib.sh"
RUN_OPTIONS=--capture=safe
OPTIONS='--allow-gap by_library --allow-gap no_bytes'
for i in $(seq ${N:-60}); do program p-keep vfork-table; done
finish
