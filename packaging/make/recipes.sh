# shellcheck shell=sh
# recipes.sh - the recipes for other package managers, as far as they can be checked here (sourced by tools/package). None of them is built:
# doc/packages.md says so of each.

recipes_check()
{
	root_base bookworm && root=$(root_open "$ROOTS/bookworm") && deb_get "$root" update >"$SCRATCH/log" 2>&1 &&
		deb_get "$root" install --no-install-recommends nix-bin python3-jinja2 python3-yaml pyflakes3 >"$SCRATCH/log" 2>&1 &&
		mkdir "$root/recipes" && cp "$SOURCE"/packaging/nix/package.nix "$SOURCE"/packaging/conda/meta.yaml "$SOURCE"/packaging/spack/package.py "$root/recipes" || {
		tail -n 10 "$SCRATCH/log" >&2
		return 1
	}
	root_do "$root" sh -c 'nix-instantiate --parse /recipes/package.nix >/dev/null && nix-instantiate --eval --strict -E "builtins.functionArgs (import /recipes/package.nix)"' >"$SCRATCH/log" 2>&1 &&
		echo 'nix: parsed; not built' || { cat "$SCRATCH/log" >&2; return 1; }
	root_do "$root" python3 -c '
import jinja2, yaml
with open("/recipes/meta.yaml", encoding="utf-8") as f:
    recipe = yaml.safe_load(jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(f.read()).render(compiler=lambda c: c + "-compiler"))
assert set(recipe) <= {"package", "source", "build", "requirements", "test", "about"} and recipe["package"]["name"] == "stemma", recipe
assert all(isinstance(x, str) for part in recipe["requirements"].values() for x in part), recipe["requirements"]
' >"$SCRATCH/log" 2>&1 && echo 'conda: rendered and read; its linter cannot be had here; not built' || { cat "$SCRATCH/log" >&2; return 1; }
	root_do "$root" sh -c 'python3 -m py_compile /recipes/package.py && pyflakes3 /recipes/package.py | grep -v "spack.package import\|may be undefined, or defined from star"' >"$SCRATCH/log" 2>&1
	[ ! -s "$SCRATCH/log" ] || { cat "$SCRATCH/log" >&2; return 1; }
	echo 'spack: compiles; its linter cannot be had here; not built'
}
