/* For each constraint of PROV-CONSTRAINTS that is checked: a document that violates it, and one like it that does not.
 * The documents are PROV-JSON with ' for ". What is expected follows from the Recommendation. */
#include "import/constraints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants these first */
#include <cmocka.h>

struct test {
	const char *what, *sections;
	const char *expected; /* numbers of violations, then of remarks with a ?: "24 42 37?" */
};

#define T1 "'2026-01-01T00:00:00Z'"
#define T2 "'2026-01-01T00:00:01Z'"
#define GEN(id, e, a) "'" id "':{'prov:entity':'x:" e "','prov:activity':'x:" a "'}"
#define GEN_AT(id, e, a, t) "'" id "':{'prov:entity':'x:" e "','prov:activity':'x:" a "','prov:time':" t "}"
#define USE(id, a, e) "'" id "':{'prov:activity':'x:" a "','prov:entity':'x:" e "'}"
#define USE_AT(id, a, e, t) "'" id "':{'prov:activity':'x:" a "','prov:entity':'x:" e "','prov:time':" t "}"
#define DER(id, e2, e1) "'" id "':{'prov:generatedEntity':'x:" e2 "','prov:usedEntity':'x:" e1 "'}"
#define SPEC(id, e2, e1) "'" id "':{'prov:specificEntity':'x:" e2 "','prov:generalEntity':'x:" e1 "'}"
#define START(id, a, e, by, t)                                                                                         \
	"'" id "':{'prov:activity':'x:" a "','prov:trigger':'x:" e "','prov:starter':'x:" by "','prov:time':" t "}"
#define END_(id, a, e, by, t)                                                                                          \
	"'" id "':{'prov:activity':'x:" a "','prov:trigger':'x:" e "','prov:ender':'x:" by "','prov:time':" t "}"

static const struct test tests[] = {
    {"nothing at all", "", ""},
    {"a chain",
     "'entity':{'x:a':{},'x:b':{}},'activity':{'x:p':{'prov:startTime':" T1 ",'prov:endTime':" T2 "}},"
     "'used':{" USE_AT("_:1", "p", "a", T1) "},'wasGeneratedBy':{" GEN_AT("_:2", "b", "p", T2) "},"
                                                                                               "'wasDerivedFrom':{" DER(
                                                                                                   "_:3", "b", "a") "}",
     ""},
    /* 22 */
    {"an activity told twice alike", "'activity':{'x:p':[{'prov:startTime':" T1 "},{'prov:endTime':" T2 "}]}", ""},
    {"an activity with two starts", "'activity':{'x:p':[{'prov:startTime':" T1 "},{'prov:startTime':" T2 "}]}", "22"},
    /* 23 */
    {"a use told twice alike", "'used':{'x:u':[{'prov:activity':'x:p','prov:entity':'x:a'},{'prov:activity':'x:p'}]}",
     ""},
    {"a use of two things",
     "'used':{'x:u':[{'prov:activity':'x:p','prov:entity':'x:a'},"
     "{'prov:activity':'x:p','prov:entity':'x:b'}]}",
     "23"},
    /* 24 */
    {"generations by two activities",
     "'wasGeneratedBy':{" GEN_AT("_:1", "a", "p", T1) "," GEN_AT("_:2", "a", "q", T1) "}", ""},
    {"two generations by one", "'wasGeneratedBy':{" GEN_AT("_:1", "a", "p", T1) "," GEN_AT("_:2", "a", "p", T2) "}",
     "24"},
    {"two generations with names", "'wasGeneratedBy':{" GEN("x:1", "a", "p") "," GEN("x:2", "a", "p") "}", "24"},
    {"one generation with a name and once without",
     "'wasGeneratedBy':{" GEN("x:1", "a", "p") "," GEN("_:2", "a", "p") "}", ""},
    /* 25 */
    {"two invalidations at once",
     "'wasInvalidatedBy':{" GEN_AT("_:1", "a", "p", T1) "," GEN_AT("_:2", "a", "p", T1) "}", ""},
    {"two invalidations", "'wasInvalidatedBy':{" GEN_AT("_:1", "a", "p", T1) "," GEN_AT("_:2", "a", "p", T2) "}", "25"},
    /* 26, 27 */
    {"starts by two", "'wasStartedBy':{" START("_:1", "p", "e", "q", T1) "," START("_:2", "p", "f", "r", T1) "}", ""},
    {"two starts by one", "'wasStartedBy':{" START("_:1", "p", "e", "q", T1) "," START("_:2", "p", "f", "q", T1) "}",
     "26"},
    {"ends by two", "'wasEndedBy':{" END_("_:1", "p", "e", "q", T1) "," END_("_:2", "p", "f", "r", T1) "}", ""},
    {"two ends by one", "'wasEndedBy':{" END_("_:1", "p", "e", "q", T1) "," END_("_:2", "p", "e", "q", T2) "}", "27"},
    /* 28, 29 */
    {"a start told in two ways",
     "'activity':{'x:p':{'prov:startTime':" T1 "}},'wasStartedBy':{" START("_:1", "p", "e", "q", T1) "}", ""},
    {"a start at two times",
     "'activity':{'x:p':{'prov:startTime':" T1 "}},'wasStartedBy':{" START("_:1", "p", "e", "q", T2) "}", "28"},
    {"an end told in two ways",
     "'activity':{'x:p':{'prov:endTime':" T2 "}},'wasEndedBy':{" END_("_:1", "p", "e", "q", T2) "}", ""},
    {"an end at two times",
     "'activity':{'x:p':{'prov:endTime':" T1 "}},'wasEndedBy':{" END_("_:1", "p", "e", "q", T2) "}", "29"},
    /* 42: a derivation is strictly later; it closes what the others only order */
    {"derived one from another",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "," DER("_:2", "c", "b") "," DER("_:3", "c", "a") "}", ""},
    {"derived from each other",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "," DER("_:2", "c", "b") "," DER("_:3", "a", "c") "}", "42"},
    {"derived from itself", "'wasDerivedFrom':{" DER("_:1", "a", "a") "}", "42"},
    {"used and made by each other: possible, if at once",
     "'used':{" USE("_:1", "p", "a") "," USE("_:2", "q", "b") "},'wasGeneratedBy':{" GEN("_:3", "b", "p") "," GEN(
         "_:4", "a", "q") "}",
     ""},
    /* 45, 46 with 42 */
    {"a special one of what it was derived from",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "},'specializationOf':{" SPEC("_:2", "b", "a") "}", ""},
    {"what is more general came later",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "},'specializationOf':{" SPEC("_:2", "a", "b") "}", "42"},
    /* 48 with 42: an agent that is an entity was there before what is attributed to it */
    {"attributed to an earlier one",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "},'wasAttributedTo':{'_:2':{'prov:entity':'x:b','prov:agent':'x:a'}}",
     ""},
    {"attributed to a later one",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "},'wasAttributedTo':{'_:2':{'prov:entity':'x:a','prov:agent':'x:b'}}",
     "42"},
    {"attributed to an agent that is nothing else",
     "'agent':{'x:g':{}},'wasAttributedTo':{'_:2':{'prov:entity':'x:a','prov:agent':'x:g'}}", ""},
    /* 41: a derivation's use is before its generation; the trigger of a start is before it (43), and a start before
       what follows */
    {"a derivation through an activity",
     "'used':{" USE("x:u", "p", "a") "},'wasGeneratedBy':{" GEN(
         "x:g", "b", "p") "},'wasDerivedFrom':{'_:1':{'prov:generatedEntity':'x:b',"
                          "'prov:usedEntity':'x:a','prov:activity':'x:p','prov:generation':'x:g','prov:usage':'x:u'}}",
     ""},
    {"used before it could be made",
     "'used':{" USE("x:u", "p", "a") "},'wasGeneratedBy':{" GEN(
         "x:g", "b",
         "p") "},'wasDerivedFrom':{'_:1':{'prov:generatedEntity':'x:b',"
              "'prov:usedEntity':'x:a','prov:activity':'x:p','prov:generation':'x:g','prov:usage':'x:u'}," DER(
                  "_:2", "c", "b") "," DER("_:3", "a", "c") "}",
     "42"},
    {"started by what it made: at once",
     "'wasStartedBy':{" START("_:1", "p", "e", "q", T1) "},'wasGeneratedBy':{" GEN("_:2", "e", "p") "}", ""},
    {"started by what came of what it made",
     "'wasStartedBy':{'_:1':{'prov:activity':'x:p','prov:trigger':'x:f'}},'wasGeneratedBy':{" GEN(
         "_:2", "e", "p") "},"
                          "'wasDerivedFrom':{" DER("_:3", "f", "e") "}",
     "42"},
    {"ended by what came of what it made",
     "'wasEndedBy':{'_:1':{'prov:activity':'x:p','prov:trigger':'x:f'}},'wasGeneratedBy':{" GEN(
         "_:2", "e", "p") "},"
                          "'wasDerivedFrom':{" DER("_:3", "f", "e") "}",
     ""},
    /* 33, 34, 37: by the moments that are told, as remarks */
    {"used before the activity began",
     "'activity':{'x:p':{'prov:startTime':" T2 "}},'used':{" USE_AT("_:1", "p", "a", T1) "}", "33?"},
    {"made after the activity ended",
     "'activity':{'x:p':{'prov:endTime':" T1 "}},'wasGeneratedBy':{" GEN_AT("_:1", "a", "p", T2) "}", "34?"},
    {"used before it was made",
     "'used':{" USE_AT("_:1", "p", "a", T1) "},'wasGeneratedBy':{" GEN_AT("_:2", "a", "q", T2) "}", "37?"},
    {"used when it was no more",
     "'used':{" USE_AT("_:1", "p", "a", T2) "},'wasInvalidatedBy':{" GEN_AT("_:2", "a", "q", T1) "}", "38?"},
    {"ended before it began", "'activity':{'x:p':{'prov:startTime':" T2 ",'prov:endTime':" T1 "}}", "30?"},
    {"gone before it was made",
     "'wasGeneratedBy':{" GEN_AT("_:1", "a", "p", T2) "},'wasInvalidatedBy':{" GEN_AT("_:2", "a", "q", T1) "}", "36?"},
    {"derived at the same moment",
     "'wasDerivedFrom':{" DER("_:1", "b", "a") "},'wasGeneratedBy':{" GEN_AT("_:2", "a", "p",
                                                                             T1) "," GEN_AT("_:3", "b", "q", T1) "}",
     "42?"},
    {"informed by what began after it had ended",
     "'activity':{'x:p':{'prov:endTime':" T1 "},'x:q':{'prov:startTime':" T2 "}},"
     "'wasInformedBy':{'_:1':{'prov:informed':'x:p','prov:informant':'x:q'}}",
     "35?"},
    {"a trigger made after the start",
     "'wasStartedBy':{'_:1':{'prov:activity':'x:p','prov:trigger':'x:e','prov:time':" T1 "}},"
     "'wasGeneratedBy':{" GEN_AT("_:2", "e", "q", T2) "}",
     "43?"},
    {"a trigger made after the end",
     "'wasEndedBy':{'_:1':{'prov:activity':'x:p','prov:trigger':'x:e','prov:time':" T1 "}},"
     "'wasGeneratedBy':{" GEN_AT("_:2", "e", "q", T2) "}",
     "44?"},
    {"a general thing made after a special one",
     "'specializationOf':{" SPEC("_:1", "b", "a") "},'wasGeneratedBy':{" GEN_AT("_:2", "a", "p",
                                                                                T2) "," GEN_AT("_:3", "b", "q", T1) "}",
     "45?"},
    {"a general thing gone before a special one",
     "'specializationOf':{" SPEC("_:1", "b", "a") "},'wasInvalidatedBy':{" GEN_AT("_:2", "a", "p", T1) "," GEN_AT(
         "_:3", "b", "q", T2) "}",
     "46?"},
    {"an agent made after the activity ended",
     "'entity':{'x:g':{}},'activity':{'x:p':{'prov:endTime':" T1 "}},"
     "'wasAssociatedWith':{'_:1':{'prov:activity':'x:p','prov:agent':'x:g'}},'wasGeneratedBy':{" GEN_AT("_:2", "g", "q",
                                                                                                        T2) "}",
     "47?"},
    {"an agent made after what is attributed to it",
     "'wasAttributedTo':{'_:1':{'prov:entity':'x:a','prov:agent':'x:g'}},"
     "'wasGeneratedBy':{" GEN_AT("_:2", "g", "q", T2) "," GEN_AT("_:3", "a", "p", T1) "}",
     "48?"},
    {"on behalf of one who came later",
     "'actedOnBehalfOf':{'_:1':{'prov:delegate':'x:d','prov:responsible':'x:r'}},"
     "'wasInvalidatedBy':{" GEN_AT("_:2", "d", "q", T1) "},'wasGeneratedBy':{" GEN_AT("_:3", "r", "p", T2) "}",
     "49?"},
    /* 50, 55 */
    {"an entity that is an agent", "'entity':{'x:a':{}},'agent':{'x:a':{}}", ""},
    {"an entity that is an activity", "'entity':{'x:a':{}},'activity':{'x:a':{}}", "55"},
    {"an activity by where it stands", "'entity':{'x:a':{}},'used':{" USE("_:1", "a", "b") "}", "55"},
    {"a plan that is an activity",
     "'activity':{'x:a':{}},'wasAssociatedWith':{'_:1':{'prov:activity':'x:p','prov:plan':'x:a'}}", "55"},
    /* 51 */
    {"a derivation without an activity, with a use",
     "'wasDerivedFrom':{'_:1':{'prov:generatedEntity':'x:b','prov:usedEntity':'x:a','prov:usage':'x:u'}}", "51"},
    /* 52 */
    {"special to each other", "'specializationOf':{" SPEC("_:1", "b", "a") "," SPEC("_:2", "a", "b") "}", "52"},
    {"special in steps",
     "'specializationOf':{" SPEC("_:1", "b", "a") "," SPEC("_:2", "c", "b") "," SPEC("_:3", "c", "a") "}", ""},
    /* 53, 54 */
    {"one name for a use and a generation",
     "'used':{" USE("x:1", "p", "a") "},'wasGeneratedBy':{" GEN("x:1", "a", "p") "}", "53"},
    {"one name for a use and an influence",
     "'used':{" USE("x:1", "p", "a") "},'wasInfluencedBy':{'x:1':{'prov:influencee':'x:p','prov:influencer':'x:a'}}",
     ""},
    {"one name for a use and an entity", "'entity':{'x:1':{}},'used':{" USE("x:1", "p", "a") "}", "54"},
    /* 56 */
    {"a member of a collection",
     "'entity':{'x:c':{'prov:type':{'$':'prov:Collection','type':'prov:QUALIFIED_NAME'}}},"
     "'hadMember':{'_:1':{'prov:collection':'x:c','prov:entity':'x:a'}}",
     ""},
    {"a member of an empty collection",
     "'entity':{'x:c':{'prov:type':{'$':'prov:EmptyCollection','type':'prov:QUALIFIED_NAME'}}},"
     "'hadMember':{'_:1':{'prov:collection':'x:c','prov:entity':'x:a'}}",
     "56"},
    /* instances */
    {"what bundles say does not meet",
     "'entity':{'x:a':{}},'bundle':{'x:b1':{'activity':{'x:a':{}}},"
     "'x:b2':{'wasDerivedFrom':{" DER("_:1", "b", "a") "}},'x:b3':{'wasDerivedFrom':{" DER("_:1", "a", "b") "}}}",
     ""},
    {"a bundle for itself", "'bundle':{'x:b1':{'wasDerivedFrom':{" DER("_:1", "b", "a") "," DER("_:2", "a", "b") "}}}",
     "42"},
};

static void note(void *arg, const struct violation *v)
{
	struct buf *b = arg;
	buf_printf(b, "%s%u%s", b->n ? " " : "", v->number, v->remark ? "?" : "");
	assert_true(*constraint_name(v->number));
}

static void check_one(const struct test *t)
{
	struct buf text = {0}, got = {0};
	struct err err = {0};
	struct doc d;
	buf_printf(&text, "{'prefix':{'x':'http://example.org/'}%s%s}", *t->sections ? "," : "", t->sections);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\'')
			text.p[i] = '"';
	doc_init(&d);
	if (doc_read_json(&d, t->what, text.p, text.n, &err) < 0)
		fail_msg("%s", err.text);
	long n = doc_check(&d, note, &got);
	long numbers = 0;
	for (const char *p = t->expected; *p; p += strspn(p, " ")) {
		size_t w = strcspn(p, " ");
		numbers += p[w - 1] != '?';
		p += w;
	}
	if (strcmp(buf_cstr(&got), t->expected) != 0)
		fail_msg("%s: '%s', not '%s'", t->what, buf_cstr(&got), t->expected);
	assert_int_equal(n, numbers);
	doc_release(&d);
	buf_release(&text);
	buf_release(&got);
}

static void constraints(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		check_one(&tests[i]);
}

/* A chain of derivations as long as documents are: no recursion, no square. */
static void long_chain(void **state)
{
	(void)state;
	struct doc d;
	struct buf got = {0};
	char name[32];
	const int n = 200000;
	doc_init(&d);
	for (int i = 0; i < n; i++) {
		struct doc_statement *st = doc_add(&d, DOC_wasDerivedFrom, 0);
		snprintf(name, sizeof(name), "x:%d", i + 1);
		st->arg[0] = doc_intern(&d, str_of(name));
		snprintf(name, sizeof(name), "x:%d", i);
		st->arg[1] = doc_intern(&d, str_of(name));
	}
	assert_int_equal(doc_check(&d, note, &got), 0);
	d.st.v[0].arg[1] = d.st.v[n - 1].arg[0];
	assert_int_equal(doc_check(&d, note, &got), 1);
	assert_string_equal(buf_cstr(&got), "42");
	doc_release(&d);
	buf_release(&got);
}

static void times(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {{"1970-01-01T00:00:00Z", 0},
	            {"1970-01-01T00:00:00", 0},
	            {"1970-01-01T01:00:00+01:00", 0},
	            {"1969-12-31T19:30:00-04:30", 0},
	            {"2000-02-29T12:00:00.5Z", 951825600500000000},
	            {"2026-11-21T15:53:38.123456789Z", 1795276418123456789},
	            {"1969-12-31T23:59:59.999999999Z", -1},
	            {"1999-12-31T24:00:00Z", 946684800000000000}};
	static const char *const bad[] = {"",
	                                  "2026",
	                                  "2026-11-21",
	                                  "2026-13-01T00:00:00Z",
	                                  "2026-02-29T00:00:00Z",
	                                  "2026-11-21T25:00:00Z",
	                                  "2026-11-21T15:53:38.Z",
	                                  "2026-11-21T15:53:38Zx",
	                                  "2026-11-21 15:53:38Z",
	                                  "9999-01-01T00:00:00Z",
	                                  "2026-11-21T24:00:01Z",
	                                  "1-1-1T0:0:0Z"};
	int64_t t;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!doc_time(str_of(good[i].text), &t) || t != good[i].ns)
			fail_msg("%s: %lld", good[i].text, (long long)t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (doc_time(str_of(bad[i]), &t))
			fail_msg("'%s' is a time", bad[i]);
}

int main(void)
{
	const struct CMUnitTest all[] = {cmocka_unit_test(constraints), cmocka_unit_test(long_chain),
	                                 cmocka_unit_test(times)};
	return cmocka_run_group_tests(all, NULL, NULL);
}
