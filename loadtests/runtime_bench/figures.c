#include "loadtests/runtime_bench/figures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct figure *find(struct figures *figures, const char *name)
{
	struct figure *figure;

	for (size_t i = 0; i < figures->count; i++)
		if (strcmp(figures->each[i].name, name) == 0)
			return &figures->each[i];
	assert(figures->count < FIGURES_MAX && strlen(name) < FIGURE_NAME_BYTES);
	figure = &figures->each[figures->count++];
	memcpy(figure->name, name, strlen(name) + 1);
	return figure;
}

void figures_add(struct figures *figures, const char *name, double sample)
{
	struct figure *figure = find(figures, name);

	assert(figure->count < FIGURE_SAMPLES_MAX);
	figure->samples[figure->count++] = sample;
}

void figures_skip(struct figures *figures, const char *name, const char *note)
{
	struct figure *figure = find(figures, name);
	int length = snprintf(figure->note, sizeof(figure->note), "%s", note);

	assert(length > 0 && length < FIGURE_NOTE_BYTES);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void sort(struct figures *figures)
{
	for (size_t i = 0; i < figures->count; i++)
		qsort(figures->each[i].samples, figures->each[i].count, sizeof(double), compare);
}

static double least(const struct figure *figure)
{
	return figure->samples[0];
}

static double greatest(const struct figure *figure)
{
	return figure->samples[figure->count - 1];
}

static double median(const struct figure *figure)
{
	size_t middle = figure->count / 2;

	if (figure->count % 2)
		return figure->samples[middle];
	return (figure->samples[middle - 1] + figure->samples[middle]) / 2;
}

int figures_print_text(struct figures *figures, FILE *out)
{
	sort(figures);
	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->each[i];

		if (figure->count == 0)
			(void)fprintf(out, "%-46s - (%s)\n", figure->name, figure->note);
		else
			(void)fprintf(out, "%-46s %12.2f   %.2f … %.2f of %zu\n", figure->name,
			              median(figure), least(figure), greatest(figure),
			              figure->count);
	}
	return ferror(out) ? -EIO : 0;
}

/* ------ the tree; errors of the stream are looked at once, at the end */

/* The length of what @a and @b have in common, up to and with a dot. */
static size_t common_path(const char *a, const char *b)
{
	size_t common = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '.')
			common = i + 1;
	return common;
}

static void close_down_to(FILE *out, const char *path, size_t common)
{
	for (const char *dot = strchr(path + common, '.'); dot; dot = strchr(dot + 1, '.'))
		(void)fputc('}', out);
}

/* The members of @name below @common, but for the value of the last. */
static void open_up_to(FILE *out, const char *name, size_t common)
{
	const char *part = name + common;

	for (const char *dot = strchr(part, '.'); dot; dot = strchr(part, '.')) {
		(void)fprintf(out, "\"%.*s\":{", (int)(dot - part), part);
		part = dot + 1;
	}
	(void)fprintf(out, "\"%s\":", part);
}

static void print_tree(const struct figures *figures, FILE *out,
                       double (*value)(const struct figure *figure))
{
	const char *before = "";

	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->each[i];
		size_t common = common_path(before, figure->name);

		close_down_to(out, before, common);
		(void)fputs(i > 0 ? ",\n" : "", out);
		open_up_to(out, figure->name, common);
		if (figure->count > 0)
			(void)fprintf(out, "%.2f", value(figure));
		else
			(void)fputs("null", out);
		before = figure->name;
	}
	close_down_to(out, before, 0);
}

static void print_notes(const struct figures *figures, FILE *out)
{
	const char *comma = "";

	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->each[i];

		if (!figure->note[0])
			continue;
		(void)fprintf(out, "%s\"%s\":\"%s\"", comma, figure->name, figure->note);
		comma = ",\n";
	}
}

int figures_print_json(struct figures *figures, FILE *out)
{
	sort(figures);
	(void)fputc('{', out);
	print_tree(figures, out, median);
	(void)fputs(",\n\"min\":{", out);
	print_tree(figures, out, least);
	(void)fputs("},\n\"max\":{", out);
	print_tree(figures, out, greatest);
	(void)fputs("},\n\"notes\":{", out);
	print_notes(figures, out);
	(void)fputs("}}\n", out);
	return ferror(out) ? -EIO : 0;
}
