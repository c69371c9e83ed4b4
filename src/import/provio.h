/* provio.h - the words of PROV-IO's vocabulary (Han et al., HPDC 2022, Table 2) as documents write them.
 *
 * Its own tool writes the prefixes into the names (<prov:wasMemberOf>, <provio:IOAPI:Create>), says what a thing is by
 * prov:ofType, prov:type or prov:wasMemberOf, and has its relations in the one or the other namespace. Here all of this
 * is put into the names of doc/provio.ttl, so that the rest of the import knows one form. */
#ifndef STEMMA_IMPORT_PROVIO_H
#define STEMMA_IMPORT_PROVIO_H

#include "import/doc.h"

#define PROVIO_NS "urn:stemma:provio#"
/* PROV-IO's own namespace, and that of the settings that it tells: mls:Name, Value, Version, Type, Quality. */
#define PROVIO_TOOL_NS "http://www.w3.org/ns/provio#"
#define PROVIO_SETTING_NS "https://www.w3.org/ns/mls#"

enum provio_class {
	PROVIO_none,
	/* data objects */
	PROVIO_Directory,
	PROVIO_File,
	PROVIO_Group,
	PROVIO_Dataset,
	PROVIO_Attribute,
	PROVIO_Datatype,
	PROVIO_Link,
	/* calls */
	PROVIO_Create,
	PROVIO_Open,
	PROVIO_Read,
	PROVIO_Write,
	PROVIO_Fsync,
	PROVIO_Rename,
	/* agents */
	PROVIO_User,
	PROVIO_Thread,
	PROVIO_Program,
	/* what a program says of itself */
	PROVIO_Type,
	PROVIO_Configuration,
	PROVIO_Metrics,
	/* what PROV-IO does not have */
	PROVIO_Shape,
	PROVIO_Part,
	PROVIO_CLASSES
};
/* Is it a class of objects: folders, files, datasets ...? */
static inline bool provio_is_object(enum provio_class c)
{
	return c >= PROVIO_Directory && c <= PROVIO_Link;
}
/* Is it a class of calls: create, open, read ...? */
static inline bool provio_is_call(enum provio_class c)
{
	return c >= PROVIO_Create && c <= PROVIO_Rename;
}

/* Did one of PROV-IO's tools write the document? Not stemma, whose own are whole or none: by the words that are in it.
 */
bool provio_wrote(const char *p, size_t n);
/* A time as those tools write it, month/day/year hour:minute:second, in ns since 1970. They tell no zone: it counts as
 * UTC. False: it is none. */
bool provio_time(struct str s, int64_t *ret);
/* Appends the name in the form of doc/provio.ttl; false, and nothing appended, where it is that already or is none. */
bool provio_name(struct str iri, struct buf *ret);
enum provio_class provio_class(struct str iri);
/* What such a thing is to PROV. */
enum doc_kind provio_kind(enum provio_class c);
/* The call that a relation of an object to it is of (wasReadBy: Read), PROVIO_none. */
enum provio_class provio_relation(struct str iri);
/* Does a property say of what class its subject is? */
bool provio_names_class(struct str property, struct str object);

#endif
