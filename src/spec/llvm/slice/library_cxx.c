/* library_cxx.c - what functions of GNU's C++ library do, by the beginning of their names. What stands in no list here
 * has no summary. */
#include "spec/llvm/slice/library.h"

#include <stdlib.h>
#include <string.h>

/* A list ends with NULL. Of functions of a constant object, which begin with _ZNK, the K is left out. */

/* They use what they are given and what that leads to, call it, throw, and read and write the streams that they find
 * there; and no more. */
static const char *const streams[] = {"_ZNSo",
                                      "_ZNSi",
                                      "_ZNSd",
                                      "_ZStls",
                                      "_ZStrs",
                                      "_ZSt4endl",
                                      "_ZSt4ends",
                                      "_ZSt5flush",
                                      "_ZSt2ws",
                                      "_ZSt7getline",
                                      "_ZSt16__ostream_insert",
                                      "_ZNSt13basic_ostreamI",
                                      "_ZNSt13basic_istreamI",
                                      "_ZNSt14basic_iostreamI",
                                      "_ZNSt9basic_iosI",
                                      "_ZNSt8ios_baseC",
                                      "_ZNSt8ios_baseD",
                                      "_ZNSt8ios_base4Init",
                                      "_ZNSt8ios_base17register_callback",
                                      "_ZNSt8ios_base13_M_grow_words",
                                      "_ZNSt15basic_streambufI",
                                      "_ZNSt7__cxx1115basic_stringbufI",
                                      "_ZNSt7__cxx1118basic_stringstreamI",
                                      "_ZNSt7__cxx1119basic_istringstreamI",
                                      "_ZNSt7__cxx1119basic_ostringstreamI",
                                      "_ZNSt15basic_stringbufI",
                                      "_ZNSt18basic_stringstreamI",
                                      "_ZNSt19basic_istringstreamI",
                                      "_ZNSt19basic_ostringstreamI",
                                      "_ZNSt13basic_filebufI",
                                      "_ZNSt13basic_fstreamI",
                                      "_ZNSt14basic_ifstreamI",
                                      "_ZNSt14basic_ofstreamI",
                                      "_ZNSt5ctypeI",
                                      NULL};
/* They have no stream and call nothing. */
static const char *const plain[] = {"_ZNSt7__cxx1112basic_stringI",
                                    "_ZNSs",
                                    "_ZNSt15_List_node_base",
                                    "_ZNSt8__detail15_List_node_base",
                                    "_ZNSt8__detail20_Prime_rehash_policy",
                                    "_ZSt11_Hash_bytes",
                                    "_ZSt18_Rb_tree_",
                                    "_ZSt28_Rb_tree_",
                                    "_ZSt29_Rb_tree_",
                                    "_ZNSt9type_info",
                                    NULL};
static const char *const exceptions[] = {"9exception",
                                         "9bad_alloc",
                                         "8bad_cast",
                                         "10bad_typeid",
                                         "13bad_exception",
                                         "20bad_array_new_length",
                                         "11logic_error",
                                         "12length_error",
                                         "12out_of_range",
                                         "12domain_error",
                                         "16invalid_argument",
                                         "13runtime_error",
                                         "11range_error",
                                         "14overflow_error",
                                         "15underflow_error",
                                         "17bad_function_call",
                                         NULL};
/* They read, keep, or wait for what is no stream and not among their arguments, whatever stands before that. */
static const char *const hidden[] = {"6locale", "sync_with", "_handler", "xalloc", "random_device", "chrono", NULL};

static bool begins_with_any(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(name, *list, strlen(*list)) == 0)
			return true;
	return false;
}

static bool has_any(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strstr(name, *list))
			return true;
	return false;
}

/* Of one of the exceptions, or "_ZSt19__throw_...", which throws one. */
static bool is_of_exception(const char *name)
{
	const char *p = name + strlen("_ZSt");
	if (strncmp(name, "_ZNSt", 5) == 0)
		return begins_with_any(name + 5, exceptions);
	if (strncmp(name, "_ZSt", 4) != 0)
		return false;
	p += strspn(p, "0123456789");
	return strncmp(p, "__throw_", 8) == 0;
}

/* Does it open the file that its argument 1 names? */
static bool opens_file(const char *name)
{
	static const char *const files[] = {"basic_ofstream", "basic_ifstream", "basic_fstream", "basic_filebuf", NULL};
	static const char *const how[] = {"C1E", "C2E", "4openE", NULL};
	return has_any(name, files) && has_any(name, how);
}

const struct row *library_cxx_row(const char *name)
{
	static const struct row any = {
	    "",
	    "maybe **V=new r=D **V=D r<iD **V<iD iD<D oD<D,iD,$locale r<$locale mayend calls $exceptions=static:exception"};
	static const struct row opens = {"", "maybe *0=stream:1 *0<1,*1 r=0 mayend"};
	static const struct row own = {"", "**V=new r=D **V=D mayend $exceptions=static:exception"};
	if (strncmp(name, "_Z", 2) != 0 || has_any(name, hidden))
		return NULL;
	char *plain_name = llvm_need(strdup(name));
	if (strncmp(plain_name, "_ZNK", 4) == 0)
		memmove(plain_name + 3, plain_name + 4, strlen(plain_name + 3));
	const struct row *ret = is_of_exception(plain_name) || begins_with_any(plain_name, plain) ? &own
	                        : opens_file(plain_name)                                          ? &opens
	                        : begins_with_any(plain_name, streams)                            ? &any
	                                                                                          : NULL;
	free(plain_name);
	return ret;
}
