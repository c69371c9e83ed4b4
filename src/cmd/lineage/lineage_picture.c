/* lineage_picture.c - a lineage as a picture: SVG, and by a converter what is made of that. */
#include "answer/picture/picture.h"
#include "base/child.h"
#include "base/io.h"
#include "cmd/lineage/lineage_view.h"
#include "cmd/lineage/stage_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct picturing {
	const struct lineage_view *v;
	const struct shape *shape;
	struct stages *stages;
};

/* A picture_text: of a frame the name of its stage. */
static int words_of(void *arg, const struct picture *p, const struct picture_box *b, uint32_t member, struct buf *name,
                    struct buf *note)
{
	const struct picturing *x = arg;
	const char *outline;
	(void)p;
	if (b->kind != PICTURE_FRAME)
		return lineage_words(x->v, x->shape, member, name, note, &outline);
	stage_title(stages_get(x->stages, member), b->n == 1, name);
	return 0;
}

/* Appends the SVG. 0; -E2BIG, and *ret_boxes says how many boxes it would have; -errno. */
static int make_svg(const struct lineage_view *v, struct buf *ret, size_t *ret_boxes)
{
	struct shape shape = {0};
	struct picture p = {0};
	struct picturing x = {.v = v, .shape = &shape};
	struct buf title = {0}, note = {0};
	const char *outline;
	int rc = lineage_shape(v, &shape);
	if (rc == 0 && !v->stages)
		rc = stages_new(v->s, &x.stages);
	if (rc == 0)
		rc = picture_make(&(struct picture_of){.s = v->s,
		                                       .l = v->l,
		                                       .shape = &shape,
		                                       .down = v->options->direction == LINEAGE_DOWN,
		                                       .all = v->options->all,
		                                       .stages = x.stages,
		                                       .view = v->stages},
		                  &p);
	*ret_boxes = p.boxes.n;
	buf_printf(&title, v->options->direction == LINEAGE_DOWN ? "What came from " : "Lineage of ");
	if (rc == 0)
		rc = lineage_words(v, &shape, 0, &title, &note, &outline);
	if (rc == 0)
		rc = picture_svg(&p, words_of, &x, buf_cstr(&title), ret);
	buf_release(&title);
	buf_release(&note);
	picture_release(&p);
	stages_free(x.stages);
	lineage_shape_release(v, &shape);
	return rc;
}

/* Hands the SVG to rsvg-convert, which writes to standard output. A status, reported. */
static int convert_svg(const struct buf *svg, const char *format)
{
	int ends[2];
	char program[] = "rsvg-convert", option[24], *argv[] = {program, option, NULL};
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return report("cannot start 'rsvg-convert': %s", strerror(errno)), STATUS_SELF;
	snprintf(option, sizeof(option), "--format=%s", format);
	fflush(stdout);
	const int r = child_start(&(struct child){.argv = argv, .in = ends[0], .out = CHILD_SAME, .err = CHILD_SAME}, &pid);
	close(ends[0]);
	if (r) {
		close(ends[1]);
		report("cannot make a %s: 'rsvg-convert' %s", format, r == -ENOENT ? "is not installed" : strerror(-r));
		report_hint("install the package librsvg2-bin, or use --format svg");
		return STATUS_SELF;
	}
	/* It may end before it has read all: then a write fails, and its status says why. */
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	io_write(ends[1], svg->p, svg->n, NULL);
	close(ends[1]);
	const int end = child_wait(pid);
	signal(SIGPIPE, old);
	if (WIFSIGNALED(end) && WTERMSIG(end) == SIGPIPE)
		return STATUS_SELF; /* whoever read the picture went away */
	if (WIFEXITED(end) && WEXITSTATUS(end) == 0)
		return STATUS_OK;
	if (WIFEXITED(end))
		report("cannot make a %s: 'rsvg-convert' exited with status %d", format, WEXITSTATUS(end));
	else
		report("cannot make a %s: 'rsvg-convert' was killed by signal %d", format, WTERMSIG(end));
	report_hint("use --format svg");
	return STATUS_SELF;
}

int lineage_picture(const struct lineage_view *v, const char *format)
{
	struct buf svg = {0};
	size_t boxes = 0;
	int status = STATUS_OK;
	const int rc = make_svg(v, &svg, &boxes);
	if (rc == -E2BIG) {
		report("the picture would have %zu boxes, and %d are drawn at most", boxes, PICTURE_BOXES);
		report_hint(v->stages ? "--depth draws less" : "--stages draws a box for each stage, --depth draws less");
		status = STATUS_SELF;
	} else if (rc < 0) {
		status = cmd_report_unread(v->s, "describe the lineage");
	} else if (strcmp(format, "svg") != 0) {
		status = convert_svg(&svg, format);
	} else {
		fwrite(svg.p, 1, svg.n, stdout);
	}
	buf_release(&svg);
	return status;
}
