/* export.c - the table of formats. */
#include "export/export.h"

const struct export_format export_formats[] = {
#define FORMAT(symbol, name, target, meaning) {name, meaning, target, export_##symbol},
#include "export/formats.def"
#undef FORMAT
};
const size_t export_n_formats = sizeof(export_formats) / sizeof(*export_formats);

/* NULL: no such format. */
const struct export_format *export_format(const char *name)
{
	for (size_t i = 0; i < export_n_formats; i++)
		if (strcmp(export_formats[i].name, name) == 0)
			return &export_formats[i];
	return NULL;
}

bool export_is_of_files(const struct export_format *f)
{
	return f->write == export_dvc_stage || f->write == export_datalad_run || f->write == export_ro_crate;
}
