/* methods_cff.c - a citation file, CFF 1.2.0: one reference for each package of a program, one for each program whose
 * package is not known. Texts are JSON strings, which YAML reads as they are. */
#include "answer/entities.h"
#include "cmd/methods/methods_view.h"
#include "prov/out.h"

#include <errno.h>

/* "key: "TEXT"" on a line of its own. */
static void put_line(struct methods_view *v, const char *before, struct str text)
{
	struct out o = out_into(&v->b);
	buf_printf(&v->b, "%s\"", before);
	out_escaped(&o, text, NULL);
	buf_printf(&v->b, "\"\n");
}

/* Is it an address that the format's schema takes? */
static bool is_address(const char *text)
{
	return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) &&
	       strcspn(text, " \"<>\\^`{|}") == strlen(text);
}

/* What a step's program is called: of a script its interpreter's name. */
static struct str name_of(const struct methods *m, const struct methods_step *step)
{
	return step->script != VEC_NONE && step->program != VEC_NONE
	           ? str_base_name(str_of(m->software.files.v[step->program].path))
	           : buf_view(&step->name);
}

/* Do two steps stand for one reference? */
static bool is_same_reference(const struct methods *m, const struct methods_step *a, const struct methods_step *b)
{
	const struct package *p = methods_step_package(m, a), *q = methods_step_package(m, b);
	return p || q ? p == q : a->program == b->program && str_eq(name_of(m, a), name_of(m, b));
}

/* "sort, uniq": the programs of that reference. */
static void put_names(struct methods_view *v, size_t first, struct buf *b)
{
	const struct methods *m = v->m;
	for (size_t i = first; i < m->steps.n; i++) {
		bool before = false;
		if (!is_same_reference(m, &m->steps.v[first], &m->steps.v[i]))
			continue;
		for (size_t k = first; k < i && !before; k++)
			before = is_same_reference(m, &m->steps.v[first], &m->steps.v[k]) &&
			         str_eq(name_of(m, &m->steps.v[i]), name_of(m, &m->steps.v[k]));
		if (before)
			continue;
		buf_printf(b, i > first ? ", " : "");
		buf_str(b, name_of(m, &m->steps.v[i]));
	}
}

/* Writes the reference to a software package in the syntax of CITATION.cff. p: NULL where the package is not known;
 * then name is the program's. */
static void write_reference(struct methods_view *v, const struct package *p, struct str name, struct str notes)
{
	struct buf authors = {0};
	struct str title = p ? str_of(p->name) : name;
	buf_printf(&authors, "The authors of ");
	buf_str(&authors, title);
	buf_printf(&v->b, "  - type: software\n");
	put_line(v, "    title: ", title);
	buf_printf(&v->b, "    authors:\n");
	put_line(v, "      - name: ", buf_view(&authors));
	if (p)
		put_line(v, "    version: ", str_of(p->version));
	if (p && is_address(p->homepage))
		put_line(v, "    url: ", str_of(p->homepage));
	put_line(v, "    notes: ", notes);
	v->b.failed |= authors.failed;
	buf_release(&authors);
}

/* The reference of the steps that share the package of step `first`. */
static void write_program_reference(struct methods_view *v, size_t first)
{
	const struct methods_step *step = &v->m->steps.v[first];
	const struct package *p = methods_step_package(v->m, step);
	struct buf notes = {0};
	buf_printf(&notes, "%sPrograms: ", p ? "" : "The version is not known. ");
	put_names(v, first, &notes);
	if (p)
		buf_printf(&notes, ". Package manager: %s", package_manager_name[p->manager]);
	write_reference(v, p, name_of(v->m, step), buf_view(&notes));
	v->b.failed |= notes.failed;
	buf_release(&notes);
}

/* One reference each. */
static void write_module_references(struct methods_view *v)
{
	for (size_t i = 0; i < v->m->modules.n; i++) {
		const struct package *p = &v->m->software.packages.v.v[v->m->modules.v[i]];
		struct buf notes = {0};
		buf_printf(&notes, "Modules. Package manager: %s", package_manager_name[p->manager]);
		write_reference(v, p, str_n(NULL, 0), buf_view(&notes));
		buf_release(&notes);
	}
}

int methods_write_cff(struct methods_view *v)
{
	const struct methods *m = v->m;
	struct version_info version;
	struct file_info f;
	struct buf title = {0}, user = {0};
	int r = store_version(v->c->store, m->file.version, &version);
	r = r > 0 ? store_file(v->c->store, version.file, &f) : r;
	if (r > 0) {
		buf_printf(&title, "Software that made ");
		buf_str(&title, str_base_name(f.path));
	}
	r = r > 0 && m->steps.n ? exec_user(v->c->store, m->steps.v[0].exec, &user) : r;
	if (r >= 0) {
		buf_printf(&v->b, "cff-version: 1.2.0\n");
		put_line(v, "message: ", str_of("Please cite the software that made this file."));
		put_line(v, "title: ", buf_view(&title));
		buf_printf(&v->b, "type: dataset\nauthors:\n");
		put_line(v, user.n ? "  - alias: " : "  - name: ", user.n ? buf_view(&user) : str_of("unknown"));
		buf_printf(&v->b, m->steps.n ? "references:\n" : "");
	}
	for (size_t i = 0; i < m->steps.n && r >= 0; i++) {
		bool before = false;
		for (size_t k = 0; k < i && !before; k++)
			before = is_same_reference(m, &m->steps.v[k], &m->steps.v[i]);
		if (!before)
			write_program_reference(v, i);
	}
	if (r >= 0)
		write_module_references(v);
	v->b.failed |= title.failed || user.failed;
	buf_release(&title);
	buf_release(&user);
	return r < 0 ? r : v->b.failed ? -ENOMEM : 0;
}
