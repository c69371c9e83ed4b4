/* The native half of org.stemma.App. Has the functions of stemma/app.h in itself: nothing else is to be found at run
 * time. Bytes are copied out, not pinned: a collection of garbage is not to wait for us. */
#include "stemma/app.h"

#include <jni.h>
#include <stdlib.h>

#define NAME_ROOM 256

struct text {
	char small[NAME_ROOM];
	char *p;
	size_t n;
};

/* A copy of the bytes; empty where there is no memory for them. */
static void text_get(JNIEnv *env, jbyteArray a, struct text *t)
{
	t->p = t->small;
	t->n = a ? (size_t)(*env)->GetArrayLength(env, a) : 0;
	if (t->n > sizeof(t->small) && !(t->p = malloc(t->n))) {
		t->p = t->small;
		t->n = 0;
	}
	if (t->n)
		(*env)->GetByteArrayRegion(env, a, 0, (jsize)t->n, (jbyte *)t->p);
}

static void text_free(struct text *t)
{
	if (t->p != t->small)
		free(t->p);
}

JNIEXPORT jboolean JNICALL Java_org_stemma_App_present0(JNIEnv *env, jclass class, jbyteArray tool);
JNIEXPORT jbyteArray JNICALL Java_org_stemma_App_run0(JNIEnv *env, jclass class);
JNIEXPORT jlong JNICALL Java_org_stemma_App_say0(JNIEnv *env, jclass class, jint kind, jbyteArray name,
                                                 jbyteArray value, jbyteArray version, jdouble number, jlong step,
                                                 jlong activity);

JNIEXPORT jboolean JNICALL Java_org_stemma_App_present0(JNIEnv *env, jclass class, jbyteArray tool)
{
	struct text t;
	(void)class;
	text_get(env, tool, &t);
	if (t.n < sizeof(t.small)) {
		t.small[t.n] = '\0';
		stemma_app_tool(t.small);
	}
	text_free(&t);
	return stemma_app_present() ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jbyteArray JNICALL Java_org_stemma_App_run0(JNIEnv *env, jclass class)
{
	const char *run = stemma_app_run();
	jsize n = 0;
	(void)class;
	while (run && run[n])
		n++;
	jbyteArray ret = (*env)->NewByteArray(env, n);
	if (ret && n)
		(*env)->SetByteArrayRegion(env, ret, 0, n, (const jbyte *)run);
	return ret;
}

JNIEXPORT jlong JNICALL Java_org_stemma_App_say0(JNIEnv *env, jclass class, jint kind, jbyteArray name,
                                                 jbyteArray value, jbyteArray version, jdouble number, jlong step,
                                                 jlong activity)
{
	struct text n, v, w;
	(void)class;
	text_get(env, name, &n);
	text_get(env, value, &v);
	text_get(env, version, &w);
	uint64_t id = stemma_app_say(kind, n.p, n.n, v.p, v.n, w.p, w.n, number, step, (uint64_t)activity);
	text_free(&n);
	text_free(&v);
	text_free(&w);
	return (jlong)id;
}
