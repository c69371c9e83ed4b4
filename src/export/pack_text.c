/* pack_text.c - the files of a pack that people, shells and Apptainer read. */
#include "base/io.h"
#include "export/export.h"
#include "export/pack.h"
#include "export/work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the pack with the text, which is released. 0, -errno with a sentence. */
static int write_text(struct pack *p, const char *name, mode_t mode, struct buf *text, struct err *err)
{
	int fd = -1;
	int r = text->failed ? err_set(err, ENOMEM, "cannot write '%s'", name) : export_dir_file(&p->dir, name, err, &fd);
	if (r == 0) {
		r = io_write(fd, text->p, text->n, NULL);
		if (r == 0 && mode && fchmod(fd, mode) < 0)
			r = -errno;
		if (close(fd) < 0 && r == 0)
			r = -errno;
		if (r < 0)
			err_set(err, -r, "cannot write '%s'", name);
	}
	buf_release(text);
	return r;
}

/* "DIGEST	MODE	SECONDS.NANOS	PATH"; before 1970 a decimal number with its sign, as touch -d takes it. */
static void put_input(struct buf *b, const struct pack_file *f)
{
	char digest[DIGEST_TEXT];
	digest_text(&f->digest, digest);
	const bool before = f->mtime < 0;
	const uint64_t ns = before ? -(uint64_t)f->mtime : (uint64_t)f->mtime;
	buf_printf(b, "%s\t%03o\t%s%llu.%09llu\t%s\n", strchr(digest, ':') + 1, f->mode, before ? "-" : "",
	           (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000), f->path);
}

/* "PATH: WHY", where a control character or a backslash of the path is \\n, \\t, \\\\ or \\x and two digits. */
static void put_missing(struct buf *b, const struct pack_file *f, const char *why)
{
	for (const char *p = f->path; *p; p++) {
		const unsigned char c = (unsigned char)*p;
		if (c == '\n' || c == '\t' || c == '\\')
			buf_printf(b, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : '\\');
		else if (c < ' ' || c == 0x7f)
			buf_printf(b, "\\x%02x", c);
		else
			buf_char(b, *p);
	}
	buf_printf(b, ": %s\n", why);
}

int pack_write_lists(struct pack *p, struct err *err)
{
	struct buf inputs = {0}, missing = {0}, outputs = {0}, packages = {0}, links = {0};
	char digest[DIGEST_TEXT];
	for (size_t i = 0; i < p->inputs.n; i++)
		if (p->inputs.v[i].known)
			put_input(&inputs, &p->inputs.v[i]);
		else
			put_missing(&missing, &p->inputs.v[i], p->inputs.v[i].why ? p->inputs.v[i].why : "unknown");
	for (size_t i = 0; i < p->outputs.n; i++) {
		const struct pack_file *f = &p->outputs.v[i];
		bool before = i && strcmp(f->path, p->outputs.v[i - 1].path) == 0;
		if (f->known)
			digest_text(&f->digest, digest);
		if (!before && !f->why)
			buf_printf(&outputs, "%s\t%s\n", f->known ? strchr(digest, ':') + 1 : "-", f->path);
		else if (!before)
			put_missing(
			    &missing, f,
			    "run.sh does not compare this output: its name has a tab or newline, so it cannot be in a list");
	}
	for (size_t i = 0; i < p->software.packages.v.n; i++) {
		const struct package *k = &p->software.packages.v.v[i];
		buf_printf(&packages, "%s\t%s\t%s\t%s\n", package_manager_name[k->manager], k->name, k->version, k->arch);
	}
	for (size_t i = 0; i < p->links.n; i++)
		buf_printf(&links, "%s\t%s\n", p->links.v[i].target, p->links.v[i].path);
	int r = write_text(p, "links.tsv", 0, &links, err);
	r = r < 0 ? (buf_release(&inputs), r) : write_text(p, "inputs.tsv", 0, &inputs, err);
	r = r < 0 ? (buf_release(&outputs), r) : write_text(p, "outputs.tsv", 0, &outputs, err);
	r = r < 0 ? (buf_release(&packages), r) : write_text(p, "packages.tsv", 0, &packages, err);
	if (r == 0 && missing.n)
		return write_text(p, "missing.txt", 0, &missing, err);
	buf_release(&missing);
	return r;
}

int pack_write_recipe(struct pack *p, struct err *err)
{
	const struct packages *packages = &p->software.packages;
	const char *from = packages->distribution[0] ? packages->distribution : "debian";
	struct buf b = {0};
	size_t n = 0;
	buf_printf(&b, "Bootstrap: docker\nFrom: %s%s%s\n\n%%files\n\t. /pack\n\n%%post\n", from,
	           packages->release[0] ? ":" : "", packages->release);
	for (size_t i = 0; i < packages->v.n; i++) {
		const struct package *k = &packages->v.v[i];
		if (k->manager != PACKAGE_dpkg)
			continue;
		buf_printf(&b,
		           n++ ? " \\\n\t\t"
		               : "\tapt-get update\n\tapt-get install -y --no-install-recommends --allow-downgrades \\\n\t\t");
		buf_printf(&b, "%s=%s", k->name, k->version);
	}
	buf_printf(&b, "%s\n%%runscript\n\texec /pack/run.sh \"$@\"\n", n ? "\n" : "\ttrue\n");
	return write_text(p, "Apptainer.def", 0, &b, err);
}

/* The script but for the command. Paths are read from lists, so that no name of a file is a part of it. */
static const char script_head[] =
    "#!/bin/sh\n"
    "# Runs the command again where its packages are installed (packages.tsv), and compares what it makes. Inputs are "
    "put\n"
    "# where they were. It stops before it writes anything if an output exists, or an input's path has other content.\n"
    "# Exit status: 1 an output differs or is missing; 2 the command could not be run; else 0.\n"
    "set -u\n"
    "here=$(cd \"$(dirname \"$0\")\" && pwd -P) || exit 2\n"
    "tab=$(printf '\\t')\n"
    "digest() { sha256sum <\"$1\" | cut -c 1-64; }\n"
    "fail() { printf 'run.sh: %s\\n' \"$1\" >&2; exit 2; }\n"
    "free() { [ ! -e \"$1\" ] && [ ! -L \"$1\" ]; }\n"
    "[ ! -e \"$here/missing.txt\" ] || { echo 'run.sh: the pack is incomplete; missing.txt lists what it lacks' >&2; "
    "}\n"
    "while IFS=\"$tab\" read -r sum mode time path; do\n"
    "\t[ \"$(digest \"$here/files/$sum\")\" = \"$sum\" ] || fail \"files/$sum is damaged\"\n"
    "\tfree \"$path\" || [ \"$(digest \"$path\")\" = \"$sum\" ] || fail \"$path exists and has other content: move it "
    "away first\"\n"
    "done <\"$here/inputs.tsv\"\n"
    "while IFS=\"$tab\" read -r sum path; do\n"
    "\tfree \"$path\" || fail \"$path exists, and the command would overwrite it: move it away first\"\n"
    "done <\"$here/outputs.tsv\"\n"
    "while IFS=\"$tab\" read -r sum mode time path; do\n"
    "\tfree \"$path\" || continue\n"
    "\tmkdir -p \"$(dirname \"$path\")\" && cp \"$here/files/$sum\" \"$path\" && chmod \"$mode\" \"$path\" && touch -d "
    "\"@$time\" \"$path\" || fail \"cannot create the input $path\"\n"
    "done <\"$here/inputs.tsv\"\n"
    "while IFS=\"$tab\" read -r target path; do\n"
    "\t! free \"$path\" || { mkdir -p \"$(dirname \"$path\")\" && ln -s \"$target\" \"$path\"; } "
    "|| fail \"cannot make the link $path\"\n"
    "done <\"$here/links.tsv\"\n"
    "while IFS=\"$tab\" read -r sum path; do\n"
    "\tmkdir -p \"$(dirname \"$path\")\" || fail \"cannot make the folder of $path\"\n"
    "done <\"$here/outputs.tsv\"\n";

static const char script_tail[] = "status=$?\n"
                                  "echo \"run.sh: the command ended with $status\" >&2\n"
                                  "same=0 differ=0\n"
                                  "while IFS=\"$tab\" read -r sum path; do\n"
                                  "\tif [ ! -e \"$path\" ]; then\n"
                                  "\t\tprintf 'missing   %s\\n' \"$path\"\n"
                                  "\t\tdiffer=$((differ + 1))\n"
                                  "\telif [ \"$sum\" = - ]; then\n"
                                  "\t\tprintf 'unknown   %s\\n' \"$path\"\n"
                                  "\telif [ \"$(digest \"$path\")\" = \"$sum\" ]; then\n"
                                  "\t\tprintf 'same      %s\\n' \"$path\"\n"
                                  "\t\tsame=$((same + 1))\n"
                                  "\telse\n"
                                  "\t\tprintf 'different %s\\n' \"$path\"\n"
                                  "\t\tdiffer=$((differ + 1))\n"
                                  "\tfi\n"
                                  "done <\"$here/outputs.tsv\"\n"
                                  "[ $differ = 0 ]\n";

/* env takes each word with a sign before the program for a variable, the program itself, too: then a shell calls it. A
 * variable without a name cannot be given by env. */
static void put_command(const struct pack *p, const struct strlist *argv, struct buf *b)
{
	struct str program = str_of("");
	size_t pos = 0;
	buf_printf(b, "env -i --");
	for (size_t at = 0; at < p->environment.n;) {
		struct str pair = str_of(p->environment.p + at);
		at += pair.n + 1;
		if (pair.n && pair.p[0] != '=' && memchr(pair.p, '=', pair.n)) {
			buf_char(b, ' ');
			shell_quote_argument(b, pair);
		}
	}
	strlist_next(argv, &pos, &program);
	if (program.n && memchr(program.p, '=', program.n))
		buf_printf(b, " /bin/sh -c 'exec \"$@\"' sh");
	buf_char(b, ' ');
	shell_quote_arguments(b, argv);
	buf_char(b, '\n');
}

int pack_write_script(struct pack *p, struct err *err)
{
	struct run_info run;
	struct buf b = {0};
	int r = store_run_told(p->s, p->run, &run);
	if (r <= 0)
		return err_set(err, r < 0 ? -r : ENOENT, "cannot read the run");
	buf_str(&b, str_of(script_head));
	buf_printf(&b, "mkdir -p ");
	shell_quote_argument(&b, run.cwd);
	buf_printf(&b, " && cd ");
	shell_quote_argument(&b, run.cwd);
	buf_printf(&b, " || fail 'cannot create or enter the working folder of the command'\n");
	put_command(p, &run.argv, &b);
	buf_str(&b, str_of(script_tail));
	return write_text(p, "run.sh", 0755, &b, err);
}
