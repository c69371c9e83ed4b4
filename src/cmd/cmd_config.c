/* stemma config: the settings in force, and where each comes from. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

/* The caller owns it. */
static json_t *setting_json(const struct cmd *c, enum config_key k)
{
	json_t *o = json_object();
	js_text(o, "key", config_name(k));
	js_text(o, "value", config_get(&c->config, k));
	js_text(o, "origin", config_origin(&c->config, k));
	js_text(o, "environment", config_env(k));
	js_text(o, "values", config_values(k));
	js_text(o, "meaning", config_meaning(k));
	return o;
}

/* One line: with its name, and with where it is set, if that is asked for. */
static void print_value(const struct cmd *c, enum config_key k, bool name, bool origin)
{
	struct buf b = {0};
	if (origin) {
		fmt_name(&b, str_of(config_origin(&c->config, k)));
		buf_char(&b, '\t');
	}
	if (name)
		buf_printf(&b, "%s = ", config_name(k));
	fmt_name(&b, str_of(config_get(&c->config, k)));
	puts(buf_cstr(&b));
	buf_release(&b);
}

/* Gives the exit status; STATUS_USAGE for a key that is not known. */
int cmd_config(struct cmd *c, const struct opts_config *o)
{
	enum config_key one;
	if (c->n_operands > 1 || (c->n_operands && o->list))
		return report_usage(c, "config takes one key, or --list");
	if (c->n_operands && !config_find(c->operands[0], &one)) {
		report("unknown setting '%s'", c->operands[0]);
		report_hint("stemma config lists the settings");
		return STATUS_USAGE;
	}
	if (o->json) {
		json_t *all = json_object(), *settings = json_array();
		for (int k = 0; k < CONFIG_COUNT; k++)
			if (!c->n_operands || k == (int)one)
				js_add(settings, setting_json(c, (enum config_key)k));
		js_num(all, "format", 1);
		js_put(all, "settings", settings);
		return js_print(all, false);
	}
	for (int k = 0; k < CONFIG_COUNT; k++)
		if (!c->n_operands || k == (int)one)
			print_value(c, (enum config_key)k, !c->n_operands, o->origin);
	return STATUS_OK;
}
