#!/bin/sh
# cc: a build by cargo, whose build script compiles C as the crate `cc` does (by CC, then ar), linked through stemma.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

# rustup's cargo asks the user's home which toolchain it is.
HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
export HOME CARGO_NET_OFFLINE=true
if ! command -v cargo >/dev/null || ! cargo --version >"$T/why" 2>&1 || ! rustc --version >>"$T/why" 2>&1; then
	echo "1..0 # SKIP no cargo and rustc here"
	exit 0
fi
host=$(rustc -vV | sed -n 's/^host: //p')
linker=CARGO_TARGET_$(echo "$host" | tr 'a-z-' 'A-Z_')_LINKER

mkdir -p "$T/src/src" "$T/src/c" "$T/bin"
cd "$T/src" || exit 1
cat >Cargo.toml <<'END'
[package]
name = "demo"
version = "0.1.0"
edition = "2018"
build = "build.rs"
[profile.dev]
codegen-units = 1
END
cat >build.rs <<'END'
use std::{env, process::Command};
fn run(words: &str, rest: &[&str]) {
    let mut w = words.split_whitespace();
    assert!(Command::new(w.next().unwrap()).args(w).args(rest).status().unwrap().success());
}
fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let (object, archive) = (format!("{}/part.o", out), format!("{}/libpart.a", out));
    run(&env::var("CC").unwrap_or("cc".into()), &["-O1", "-c", "c/part.c", "-o", &object]);
    run(&env::var("AR").unwrap_or("ar".into()), &["rcsD", &archive, &object]);
    println!("cargo:rustc-link-search=native={}", out);
    println!("cargo:rustc-link-lib=static=part");
}
END
printf '#include "part.h"\nint part(void) { return PART; }\n' >c/part.c
echo '#define PART 41' >c/part.h
printf 'mod more;\nextern "C" { fn part() -> i32; }\nfn main() { println!("{}", unsafe { part() } + more::more()); }\n' >src/main.rs
echo 'pub fn more() -> i32 { 1 }' >src/more.rs
ln -s "$(command -v gcc)" "$T/bin/stemma-gcc" # at first the linker's place only: its name is among what cargo goes by
ln -s "$STEMMA" "$T/bin/stemma-cc"

# digests of what cargo built in $T/x, by name
built() { (cd target/debug && sha256sum demo build/demo-*/out/part.o build/demo-*/out/libpart.a | sed 's|demo-[0-9a-f]*/|demo/|'); }

fresh && env "$linker=$T/bin/stemma-gcc" cargo build -q >"$out" 2>"$err" && built >"$T/direct" && ./target/debug/demo >"$out" && is "$out" 42
check 'cargo by itself'
ln -sf "$STEMMA" "$T/bin/stemma-gcc"
fresh && env CC="$STEMMA cc gcc" AR="$STEMMA cc ar" "$linker=$T/bin/stemma-gcc" cargo build -q >"$out" 2>"$err" && [ ! -s "$err" ] && ./target/debug/demo >"$out" && is "$out" 42 && built | diff "$T/direct" - >>"$err"
check 'CC and the linker through stemma: the same bytes'
cmd 0 show target/debug/demo && says "$out" 'built by     gcc -m64' 'c/part.c  source' 'c/part.h  header' && cmd 0 show --json target/debug/demo && json '[.things[0].inputs[] | select(.role == "object") | .path | select(contains("demo-"))] | length > 0' && latest gaps && is "$out" ''
check 'the program: what was linked'
cmd 0 show target/debug/build/demo-*/out/part.o && says "$out" 'part.c  source' 'part.h  header' && "$STEMMA" sql --csv "SELECT i.path FROM build_input i JOIN build b ON i.build = b.id JOIN build_output o ON o.build = b.id WHERE o.path LIKE '%/libpart.a' AND i.role = 'object'" >"$out" && says "$out" out/part.o
check 'what the build script compiled, and put into an archive'
fresh && env CC="$STEMMA cc gcc" AR="$STEMMA cc ar" RUSTC_WRAPPER="$T/bin/stemma-cc" "$linker=$T/bin/stemma-gcc" cargo build -q >"$out" 2>"$err" && [ ! -s "$err" ] && ./target/debug/demo >"$out" && is "$out" 42 && built | diff "$T/direct" - >>"$err"
check 'and the compiler of Rust, too: the same bytes'
cmd 0 show target/debug/demo && says "$out" "$(rustc --version)" 'src/main.rs  source' 'src/more.rs' 'c/part.c  source' && latest gaps && is "$out" ''
check 'its sources and what it linked'
finish
