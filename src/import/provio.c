#include "import/provio.h"

#include <stdio.h>
#include <string.h>

static const char *const names[PROVIO_CLASSES] = {
    [PROVIO_Directory] = "Directory", [PROVIO_File] = "File",           [PROVIO_Group] = "Group",
    [PROVIO_Dataset] = "Dataset",     [PROVIO_Attribute] = "Attribute", [PROVIO_Datatype] = "Datatype",
    [PROVIO_Link] = "Link",           [PROVIO_Create] = "Create",       [PROVIO_Open] = "Open",
    [PROVIO_Read] = "Read",           [PROVIO_Write] = "Write",         [PROVIO_Fsync] = "Fsync",
    [PROVIO_Rename] = "Rename",       [PROVIO_User] = "User",           [PROVIO_Thread] = "Thread",
    [PROVIO_Program] = "Program",     [PROVIO_Type] = "Type",           [PROVIO_Configuration] = "Configuration",
    [PROVIO_Metrics] = "Metrics",     [PROVIO_Shape] = "Shape",         [PROVIO_Part] = "Part"};

static const char *const relations[PROVIO_CLASSES] = {
    [PROVIO_Create] = "wasCreatedBy", [PROVIO_Open] = "wasOpenedBy",   [PROVIO_Read] = "wasReadBy",
    [PROVIO_Write] = "wasWrittenBy",  [PROVIO_Fsync] = "wasFlushedBy", [PROVIO_Rename] = "wasModifiedBy"};

/* What it tells of a setting; the places say nothing. */
static const char *const settings[PROVIO_CLASSES] = {NULL, "Name", "Value", "Version", "Type", "Quality"};

/* Takes a prefix from a text. false: it does not begin so, and *ret is as it was. Shares the bytes of s. */
static bool strip_prefix(struct str s, const char *prefix, struct str *ret)
{
	struct str p = str_of(prefix);
	if (!str_starts(s, p))
		return false;
	*ret = str_n(s.p + p.n, s.n - p.n);
	return true;
}

/* The class of PROV-IO with that name. PROVIO_none: it is no class. */
static enum provio_class find_class_name(const char *const *list, struct str name)
{
	for (unsigned i = 1; i < PROVIO_CLASSES; i++)
		if (list[i] && str_is(name, list[i]))
			return i;
	return PROVIO_none;
}

bool provio_name(struct str iri, struct buf *ret)
{
	struct str name;
	bool whole = strip_prefix(iri, PROV_NS, &name);
	if (whole || strip_prefix(iri, "prov:", &name)) {
		bool ours = find_class_name(relations, name) != PROVIO_none;
		if (!ours && whole)
			return false;
		buf_printf(ret, "%s%.*s", ours ? PROVIO_NS : PROV_NS, (int)name.n, name.p);
		return true;
	}
	if (strip_prefix(iri, PROVIO_SETTING_NS, &name)) {
		if (find_class_name(settings, name) == PROVIO_none)
			return false;
		buf_printf(ret, PROVIO_NS "%.*s", (int)name.n, name.p);
		return true;
	}
	whole = strip_prefix(iri, PROVIO_NS, &name);
	if (!whole && !strip_prefix(iri, "provio:", &name) && !strip_prefix(iri, "provo:", &name) &&
	    !strip_prefix(iri, PROVIO_TOOL_NS, &name))
		return false;
	for (size_t i = name.n; i-- > 0;) /* IOAPI:Create, DataObject:Dataset */
		if (name.p[i] == ':') {
			name = str_n(name.p + i + 1, name.n - i - 1);
			whole = false;
			break;
		}
	if (str_is(name, "Attr"))
		name = str_of("Attribute");
	else if (whole)
		return false;
	buf_printf(ret, PROVIO_NS "%.*s", (int)name.n, name.p);
	return true;
}

/* PROVIO_none: it is none. */
enum provio_class provio_class(struct str iri)
{
	struct str name;
	return strip_prefix(iri, PROVIO_NS, &name) ? find_class_name(names, name) : PROVIO_none;
}

enum doc_kind provio_kind(enum provio_class c)
{
	return c == PROVIO_none                          ? DOC_KINDS
	       : provio_is_call(c)                       ? DOC_activity
	       : c >= PROVIO_User && c <= PROVIO_Program ? DOC_agent
	                                                 : DOC_entity;
}

enum provio_class provio_relation(struct str iri)
{
	struct str name;
	return strip_prefix(iri, PROVIO_NS, &name) ? find_class_name(relations, name) : PROVIO_none;
}

bool provio_names_class(struct str property, struct str object)
{
	if (str_is(property, PROV_NS "ofType") || str_is(property, PROV_NS "type"))
		return true;
	return str_is(property, PROV_NS "wasMemberOf") && provio_class(object) != PROVIO_none;
}

/* ---- documents of its tools ---- */

bool provio_wrote(const char *p, size_t n)
{
	static const char *const words[] = {"<prov:", "<provio:", PROVIO_TOOL_NS, PROVIO_SETTING_NS};
	static const char own[] = "urn:stemma:";
	bool theirs = false;
	for (size_t i = 0; !theirs && i < sizeof(words) / sizeof(*words); i++)
		theirs = memmem(p, n, words[i], strlen(words[i])) != NULL;
	return theirs && !memmem(p, n, own, sizeof(own) - 1);
}

bool provio_time(struct str s, int64_t *ret)
{
	char text[32], iso[64];
	unsigned year, month, day, hour, minute, second;
	int end = -1;
	if (!s.n || s.n >= sizeof(text) || memchr(s.p, '\0', s.n))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	if (text[strspn(text, "0123456789/: ")] ||
	    sscanf(text, "%2u/%2u/%4u %2u:%2u:%2u%n", &month, &day, &year, &hour, &minute, &second, &end) != 6 ||
	    end != (int)s.n || year < 1000)
		return false;
	/* Days and hours that there are not are found where other times are read. */
	snprintf(iso, sizeof(iso), "%04u-%02u-%02uT%02u:%02u:%02u", year, month, day, hour, minute, second);
	return doc_time(str_of(iso), ret);
}
