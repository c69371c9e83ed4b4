/* The connector as HDF5 sees it: its class, what stands in property lists, and all that is passed on and not noted. */
#include "capture/hdf5/vol/vol.h"
#include "capture/interpose/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vol_table vol_table;
struct h5_lib *vol_lib;
static bool wanted; /* the run is one that asks the connector, and HDF5 is of a version that is known */
static hid_t native = H5I_INVALID_HID;

bool vol_on(void)
{
	return wanted && app_tape_on();
}

bool vol_wants(uint32_t classes)
{
	return wanted && h5_wants(vol_lib, classes);
}

/* As vol_wants. Where these are not recorded, that is said once, since data may go through them. */
bool vol_sees(uint32_t classes)
{
	return wanted && h5_sees(vol_lib, classes);
}

/* ---- objects ---- */

void *vol_wrap(void *under, hid_t id, H5I_type_t type)
{
	struct vol *v = under ? malloc(sizeof(*v)) : NULL;
	if (v)
		*v = (struct vol){.under = under, .id = id, .type = type};
	return v;
}

/* Frees what was noted for later, too. What is under it stays. */
void vol_free(struct vol *v)
{
	free(v->later);
	free(v);
}

struct vol *vol_asked(void **req, hid_t id)
{
	struct vol *v = req && *req ? vol_wrap(*req, id, H5I_BADID) : NULL;
	if (req && *req)
		*req = v;
	return v;
}

void vol_settle(struct vol *v, bool ok)
{
	struct vol_later *l = v->later;
	v->later = NULL;
	int64_t end = l && l->epoch == h5_epoch() ? h5_now() : 0;
	for (size_t i = 0; end && i < l->n; i++)
		h5_end(l->of[i].o, l->write, ok, l->of[i].bytes, end - (end - l->t) / (int64_t)l->n, end);
	free(l);
}

/* ---- errors ---- */

/* Until vol_unhush the connector under ours tells of no errors; q: how it was. */
void vol_hush(struct vol_hush *q)
{
	unsigned v2 = 1;
	*q = (struct vol_hush){0};
	if (H5(H5Eauto_is_v2)(H5E_DEFAULT, &v2) < 0)
		return;
	if (v2) {
		if (H5(H5Eget_auto2)(H5E_DEFAULT, &q->fn, &q->data) >= 0 && q->fn)
			H5(H5Eset_auto2)(H5E_DEFAULT, NULL, NULL);
	} else if (H5(H5Eget_auto1)(&q->old, &q->data) >= 0 && q->old) {
		H5(H5Eset_auto1)(NULL, NULL);
	}
}

/* failed: the error stack of the call is put back. */
void vol_unhush(const struct vol_hush *q, bool failed)
{
	if (!q->fn && !q->old)
		return;
	hid_t errors = failed ? H5(H5Eget_current_stack)() : -1;
	if (q->fn)
		H5(H5Eset_auto2)(H5E_DEFAULT, q->fn, q->data);
	else
		H5(H5Eset_auto1)(q->old, q->data);
	if (errors >= 0)
		H5(H5Eset_current_stack)(errors);
}

/* ---- property lists ---- */

hid_t vol_native(void)
{
	if (native < 0)
		native = H5(H5VLregister_connector_by_value)(H5VL_NATIVE_VALUE, H5P_DEFAULT);
	return native;
}

hid_t vol_under_of(const struct vol_info *info)
{
	return info ? info->under : vol_native();
}

hid_t vol_access(hid_t access, hid_t *ret_under)
{
	struct vol_info *info = NULL;
	hid_t copy;
	if (H5(H5Pget_vol_info)(access, (void **)&info) < 0)
		return -1;
	*ret_under = vol_under_of(info);
	copy = *ret_under < 0 ? -1 : H5(H5Pcopy)(access);
	if (copy >= 0 && H5(H5Pset_vol)(copy, *ret_under, info ? info->info : NULL) < 0) {
		H5(H5Pclose)(copy);
		copy = -1;
	}
	if (info && info->under != native)
		H5(H5Iinc_ref)(info->under); /* files that are made with it have it for as long as HDF5 lives */
	if (info) {
		if (info->info)
			H5(H5VLfree_connector_info)(info->under, info->info);
		if (info->under != native)
			H5(H5Idec_ref)(info->under);
		free(info);
	}
	return copy;
}

/* A call of HDF5 empties its error stack: that of a call that failed is kept over it. */
void vol_access_close(hid_t access, bool failed)
{
	hid_t errors = failed ? H5(H5Eget_current_stack)() : -1;
	H5(H5Pclose)(access);
	if (errors >= 0)
		H5(H5Eset_current_stack)(errors);
}

/* HDF5's callback. NULL: no memory, or the connector below cannot. */
static void *info_copy(const void *p)
{
	const struct vol_info *info = p;
	struct vol_info *copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	copy->under = info->under;
	if (copy->under != vol_native())
		H5(H5Iinc_ref)(copy->under);
	if (info->info && H5(H5VLcopy_connector_info)(info->under, &copy->info, info->info) < 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* Compares the settings of two uses of the connector. *ret: as strcmp; negative if it failed. */
static herr_t info_cmp(int *ret, const void *pa, const void *pb)
{
	const struct vol_info *a = pa, *b = pb;
	if (H5(H5VLcmp_connector_cls)(ret, a->under, b->under) < 0)
		return -1;
	return *ret ? 0 : H5(H5VLcmp_connector_info)(ret, a->under, a->info, b->info);
}

/* Lists are closed while a call fails, too. */
static herr_t info_free(void *p)
{
	struct vol_info *info = p;
	if (info->under != native || info->info) {
		hid_t errors = H5(H5Eget_current_stack)();
		if (info->info)
			H5(H5VLfree_connector_info)(info->under, info->info);
		if (info->under != native)
			H5(H5Idec_ref)(info->under);
		H5(H5Eset_current_stack)(errors);
	}
	free(info);
	return 0;
}

/* HDF5's callback. *ret is malloc'ed. -1: no memory. */
static herr_t info_to_str(const void *p, char **ret)
{
	const struct vol_info *info = p;
	H5VL_class_value_t value = (H5VL_class_value_t)-1;
	char *under = NULL;
	H5(H5VLget_value)(info->under, &value);
	if (info->info)
		H5(H5VLconnector_info_to_str)(info->info, info->under, &under);
	size_t n = 64 + (under ? strlen(under) : 0);
	if (!(*ret = malloc(n)))
		return -1;
	snprintf(*ret, n, "under_vol=%u;under_info={%s}", (unsigned)value, under ? under : "");
	return 0; /* the text of the connector under ours is in memory of HDF5, which only it can give back */
}

/* under_vol=NUMBER or NAME;under_info={TEXT} */
static herr_t info_from_str(const char *text, void **ret)
{
	static const char vol[] = "under_vol=", more[] = "under_info={";
	char name[256];
	struct vol_info *info;
	const char *semicolon, *under = NULL, *end = NULL;
	if (!text || strncmp(text, vol, strlen(vol)) != 0)
		return -1;
	text += strlen(vol);
	size_t n = (semicolon = strchr(text, ';')) ? (size_t)(semicolon - text) : strlen(text);
	if (!n || n >= sizeof(name))
		return -1;
	memcpy(name, text, n);
	name[n] = '\0';
	if (semicolon && strncmp(semicolon + 1, more, strlen(more)) == 0) {
		under = semicolon + 1 + strlen(more);
		end = strrchr(under, '}');
	}
	if (!(info = calloc(1, sizeof(*info))))
		return -1;
	bool number = strspn(name, "0123456789") == n;
	/* Those that HDF5 has in it are found by no name. */
	if ((number && atoi(name) == H5VL_NATIVE_VALUE) || !strcmp(name, "native"))
		info->under = vol_native();
	else if (!strcmp(name, "pass_through"))
		info->under = H5(H5VL_pass_through_register)();
	else if (number)
		info->under = H5(H5VLregister_connector_by_value)(atoi(name), H5P_DEFAULT);
	else
		info->under = H5(H5VLregister_connector_by_name)(name, H5P_DEFAULT);
	if (info->under >= 0 && under && end && end > under) {
		char *inner = strndup(under, (size_t)(end - under));
		if (!inner || H5(H5VLconnector_str_to_info)(inner, info->under, &info->info) < 0)
			info->under = -1;
		free(inner);
	}
	if (info->under < 0) {
		free(info);
		return -1;
	}
	*ret = info;
	return 0;
}

/* ---- objects that HDF5 makes itself, and what they are wrapped by ---- */

struct context {
	hid_t id;
	void *under;
};

/* The library's object underneath. It stays the connector's. */
static void *get_object(const void *p)
{
	const struct vol *v = p;
	return H5(H5VLget_object)(v->under, v->id);
}

/* Makes what is needed to wrap objects that the connector below makes. *ret: a context that the library frees with
 * free_wrap_ctx. 0, -1. */
static herr_t get_wrap_ctx(const void *p, void **ret)
{
	const struct vol *v = p;
	struct context *c = calloc(1, sizeof(*c));
	if (!c)
		return -1;
	c->id = v->id;
	*ret = c;
	return H5(H5VLget_wrap_ctx)(v->under, v->id, &c->under);
}

/* Wraps an object that the connector under ours opened for HDF5 itself. NULL: it failed. HDF5 gives it back by
 * unwrap_object. */
static void *wrap_object(void *obj, H5I_type_t type, void *ctx)
{
	const struct context *c = ctx;
	return vol_wrap(H5(H5VLwrap_object)(obj, type, c->id, c->under), c->id, type);
}

/* Frees the wrapper, but not what it wrapped, which it gives. */
static void *unwrap_object(void *p)
{
	struct vol *v = p;
	void *under = H5(H5VLunwrap_object)(v->under, v->id);
	if (under)
		vol_free(v);
	return under;
}

/* What get_wrap_ctx gave. */
static herr_t free_wrap_ctx(void *ctx)
{
	struct context *c = ctx;
	herr_t r = c->under ? H5(H5VLfree_wrap_ctx)(c->under, c->id) : 0;
	free(c);
	return r;
}

/* ---- passed on ---- */

static H5VL_class_t connector;

/* Of the current level it is this connector; of the lower levels the one underneath says. */
static herr_t get_conn_cls(void *obj, H5VL_get_conn_lvl_t level, const H5VL_class_t **ret)
{
	const struct vol *v = obj;
	if (level == H5VL_GET_CONN_LVL_CURR) {
		*ret = &connector;
		return 0;
	}
	return H5(H5VLintrospect_get_conn_cls)(v->under, v->id, level, ret);
}

/* Ours are those of the connector under it. p: our vol_info, or NULL. */
static herr_t get_cap_flags(const void *p, uint64_t *ret)
{
	const struct vol_info *info = p;
	return H5(H5VLintrospect_get_cap_flags)(info ? info->info : NULL, vol_under_of(info), ret);
}

/* Asked of the connector under ours. */
static herr_t opt_query(void *obj, H5VL_subclass_t class, int type, uint64_t *ret)
{
	const struct vol *v = obj;
	return H5(H5VLintrospect_opt_query)(v->under, v->id, class, type, ret);
}

/* Waits for a request of HDF5: when the request is over, what was noted for later counts as done or failed. Negative
 * if it failed. */
static herr_t request_wait(void *r, uint64_t timeout, H5VL_request_status_t *ret)
{
	struct vol *v = r;
	herr_t done = PASS(H5(H5VLrequest_wait)(v->under, v->id, timeout, ret));
	if (done >= 0 && *ret != H5VL_REQUEST_STATUS_IN_PROGRESS && *ret != H5VL_REQUEST_STATUS_CANT_CANCEL)
		vol_settle(v, *ret == H5VL_REQUEST_STATUS_SUCCEED);
	return done;
}

/* Handed to the connector under ours. r: a struct vol. */
static herr_t request_notify(void *r, H5VL_request_notify_t cb, void *ctx)
{
	return H5(H5VLrequest_notify)(((struct vol *)r)->under, ((struct vol *)r)->id, cb, ctx);
}

/* A request that was cancelled counts as failed. */
static herr_t request_cancel(void *r, H5VL_request_status_t *ret)
{
	struct vol *v = r;
	herr_t done = PASS(H5(H5VLrequest_cancel)(v->under, v->id, ret));
	if (done >= 0 && *ret == H5VL_REQUEST_STATUS_CANCELED)
		vol_settle(v, false);
	return done;
}

/* Handed to the connector under ours. r: a struct vol. */
static herr_t request_specific(void *r, H5VL_request_specific_args_t *args)
{
	return PASS(H5(H5VLrequest_specific)(((struct vol *)r)->under, ((struct vol *)r)->id, args));
}

/* Handed to the connector under ours. r: a struct vol. */
static herr_t request_optional(void *r, H5VL_optional_args_t *args)
{
	return PASS(H5(H5VLrequest_optional)(((struct vol *)r)->under, ((struct vol *)r)->id, args));
}

/* The request is freed here, too, if that succeeds. */
static herr_t request_free(void *r)
{
	herr_t done = PASS(H5(H5VLrequest_free)(((struct vol *)r)->under, ((struct vol *)r)->id));
	if (done >= 0)
		vol_free(r);
	return done;
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t blob_put(void *obj, const void *buf, size_t n, void *id, void *ctx)
{
	return H5(H5VLblob_put)(((struct vol *)obj)->under, ((struct vol *)obj)->id, buf, n, id, ctx);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t blob_get(void *obj, const void *id, void *buf, size_t n, void *ctx)
{
	return H5(H5VLblob_get)(((struct vol *)obj)->under, ((struct vol *)obj)->id, id, buf, n, ctx);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t blob_specific(void *obj, void *id, H5VL_blob_specific_args_t *args)
{
	return H5(H5VLblob_specific)(((struct vol *)obj)->under, ((struct vol *)obj)->id, id, args);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t blob_optional(void *obj, void *id, H5VL_optional_args_t *args)
{
	return H5(H5VLblob_optional)(((struct vol *)obj)->under, ((struct vol *)obj)->id, id, args);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t token_cmp(void *obj, const H5O_token_t *a, const H5O_token_t *b, int *ret)
{
	return H5(H5VLtoken_cmp)(((struct vol *)obj)->under, ((struct vol *)obj)->id, a, b, ret);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t token_to_str(void *obj, H5I_type_t type, const H5O_token_t *token, char **ret)
{
	return H5(H5VLtoken_to_str)(((struct vol *)obj)->under, type, ((struct vol *)obj)->id, token, ret);
}

/* Handed to the connector under ours. obj: a struct vol. */
static herr_t token_from_str(void *obj, H5I_type_t type, const char *text, H5O_token_t *ret)
{
	return H5(H5VLtoken_from_str)(((struct vol *)obj)->under, type, ((struct vol *)obj)->id, text, ret);
}

/* Handed to the connector under ours; nothing is noted. obj: a struct vol. */
static herr_t optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
	return PASS(H5(H5VLoptional)(((struct vol *)obj)->under, ((struct vol *)obj)->id, args, dxpl, req));
}

/* ---- the class ---- */

/* Nothing is to be prepared. Called by HDF5 when it loads the connector. */
static herr_t initialize(hid_t list)
{
	(void)list;
	return 0;
}

/* Forgets HDF5's native connector. Called by HDF5 when it unloads the connector. HDF5 may begin anew after it. */
static herr_t terminate_connector(void)
{
	native = H5I_INVALID_HID;
	return 0;
}

static H5VL_class_t connector = {
    .version = 3,
    .value = 371, /* 256 to 511 are for connectors that are registered with nobody */
    .name = VOL_NAME,
    .conn_version = 1,
    .cap_flags = ~(uint64_t)(H5VL_CAP_FLAG_ASYNC | H5VL_CAP_FLAG_THREADSAFE),
    .initialize = initialize,
    .terminate = terminate_connector,
    .info_cls = {.size = sizeof(struct vol_info),
                 .copy = info_copy,
                 .cmp = info_cmp,
                 .free = info_free,
                 .to_str = info_to_str,
                 .from_str = info_from_str},
    .wrap_cls = {.get_object = get_object,
                 .get_wrap_ctx = get_wrap_ctx,
                 .wrap_object = wrap_object,
                 .unwrap_object = unwrap_object,
                 .free_wrap_ctx = free_wrap_ctx},
    .introspect_cls = {.get_conn_cls = get_conn_cls, .get_cap_flags = get_cap_flags, .opt_query = opt_query},
    .request_cls = {.wait = request_wait,
                    .notify = request_notify,
                    .cancel = request_cancel,
                    .specific = request_specific,
                    .optional = request_optional,
                    .free = request_free},
    .blob_cls = {.put = blob_put, .get = blob_get, .specific = blob_specific, .optional = blob_optional},
    .token_cls = {.cmp = token_cmp, .to_str = token_to_str, .from_str = token_from_str},
    .optional = optional,
};

/* ---- how HDF5 finds it ---- */

/* The functions of the HDF5 that has this address. 0; -1 where one is not there, or another HDF5 was first. */
static int bind_library(const void *caller)
{
	struct h5_lib *l = h5_lib_at(caller);
	unsigned version[3];
	if (!l || (vol_lib && vol_lib != l))
		return -1;
	h5_lib_ask(l, version);
	/* The class is of version 3, which came with 1.14. */
	if (version[0] < 1 || (version[0] == 1 && version[1] < 14))
		return -1;
	if (vol_lib)
		return 0;
	struct symbol found[] = {
#define FN(name) {NULL, #name},
#include "capture/hdf5/vol/vol_names.def"
#undef FN
	};
	const size_t n = sizeof(found) / sizeof(found[0]);
	struct symbol_object object;
	bool all = symbols_at(caller, found, n, &object);
	for (size_t i = 0; i < n; i++)
		all &= found[i].f != NULL;
	if (!all)
		return -1;
	const struct symbol *f = found;
#define FN(name)                                                                                                       \
	memcpy(&vol_table.name, &f->f, sizeof(f->f));                                                                      \
	f++;
#include "capture/hdf5/vol/vol_names.def"
#undef FN
	const char *asked = getenv("STEMMA_HDF5");
	l->version = version[0] << 16 | version[1] << 8 | (version[2] & 255);
	l->known = version[0] == 1 && version[1] == 14;
	wanted = l->known && asked && strstr(asked, "vol");
	if (wanted && app_tape_on())
		h5_lib_write_version(l, version);
	connector.attr_cls = vol_attr;
	connector.dataset_cls = vol_dataset;
	connector.datatype_cls = vol_datatype;
	connector.file_cls = vol_file;
	connector.group_cls = vol_group;
	connector.link_cls = vol_link;
	connector.object_cls = vol_object;
	vol_lib = l;
	return 0;
}

EXPORT H5PL_type_t H5PLget_plugin_type(void);
EXPORT H5PL_type_t H5PLget_plugin_type(void)
{
	return H5PL_TYPE_VOL;
}

EXPORT const void *H5PLget_plugin_info(void);
/* What HDF5 asks a plugin for: the connector. NULL if the library that asks is not one that it can work with. */
EXPORT const void *H5PLget_plugin_info(void)
{
	const void *caller = __builtin_return_address(0);
	Dl_info at;
	if (bind_library(caller) < 0)
		return NULL;
	/* HDF5 is loading us, and has the dynamic linker's lock: what its functions are taken from is to stay. */
	if (dladdr(caller, &at) && at.dli_fname)
		dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return &connector;
}

/* For the library that is preloaded (h5_gate.c), which sees to it that HDF5 stays. */
EXPORT const void *stemma_hdf5_vol(const void *address);
/* For a program that loads it by hand. address: of a function of its HDF5. NULL if that library cannot be bound. */
EXPORT const void *stemma_hdf5_vol(const void *address)
{
	return bind_library(address) < 0 ? NULL : &connector;
}
