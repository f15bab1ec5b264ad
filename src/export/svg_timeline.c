/* SPDX-License-Identifier: MIT */
/*
 * svg_timeline.c - memory over time as a still picture: live bytes as an area, RSS as a line.
 *
 * Live bytes count from the attach, RSS is all of the process: the one may be far below the other.
 */
#include <math.h>

#include "src/export/export.h"
#include "src/export/export_text.h"
#include "src/export/svg.h"
#include "src/report/human.h"

#define WIDTH	1000.0
#define HEIGHT	400.0
#define LEFT	90.0
#define RIGHT	(WIDTH - 20.0)
#define TOP	60.0
#define BOTTOM	(HEIGHT - 40.0)
#define TICKS	4

struct chart {
	FILE *out;
	const struct snapshot *snapshot;
	double seconds, bytes;		/* at the right end, at the top; above 0 */
};

/* A recording's times may be anything; a picture has no room for what is outside. */
static double x_of(const struct chart *chart, double time)
{
	double part = isfinite(time) && time > 0 ? time / chart->seconds : 0;

	return LEFT + (part < 1 ? part : 1) * (RIGHT - LEFT);
}

static double y_of(const struct chart *chart, uint64_t bytes)
{
	double part = (double)bytes / chart->bytes;

	return BOTTOM - (part < 1 ? part : 1) * (BOTTOM - TOP);
}

static void measure(struct chart *chart)
{
	const struct snapshot *snapshot = chart->snapshot;

	for (size_t i = 0; i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];

		if (isfinite(point->time))
			chart->seconds = fmax(chart->seconds, point->time);
		chart->bytes = fmax(chart->bytes, (double)point->live_bytes);
		chart->bytes = fmax(chart->bytes, (double)point->rss_bytes);
	}
	chart->seconds = chart->seconds > 0 ? chart->seconds : 1;
	chart->bytes = chart->bytes > 0 ? chart->bytes : 1;
}

static int put_grid(const struct chart *chart)
{
	int err = 0;

	for (int i = 0; err == 0 && i <= TICKS; i++) {
		double part = (double)i / TICKS;
		double x = LEFT + part * (RIGHT - LEFT), y = BOTTOM - part * (BOTTOM - TOP);

		fprintf(chart->out, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1f\" "
			"stroke=\"#dddddd\"/>\n", LEFT, y, RIGHT, x, TOP, BOTTOM);
		err = svg_text(chart->out, LEFT - 6, y + 4, "end",
			       human_bytes(part * chart->bytes).text);
		if (err == 0)
			err = svg_text(chart->out, x, BOTTOM + 16, i == TICKS ? "end" : "middle",
				       human_seconds(part * chart->seconds).text);
	}
	return err;
}

/* The level holds until the next point: steps would say more than is known, lines do not lie. */
static void put_line(const struct chart *chart, const char *separator, bool rss)
{
	const struct snapshot *snapshot = chart->snapshot;

	for (size_t i = 0; i < snapshot->timeline_count; i++) {
		const struct timeline_point *point = &snapshot->timeline[i];

		if (rss && !point->rss_bytes)
			continue;	/* not known */
		fprintf(chart->out, "%s%.1f %.1f", separator, x_of(chart, point->time),
			y_of(chart, rss ? point->rss_bytes : point->live_bytes));
		if (separator[0] == 'M')
			fputs("h0", chart->out);
		separator = "L";	/* of one point alone: a dot */
	}
}

static void put_curves(const struct chart *chart)
{
	const struct snapshot *snapshot = chart->snapshot;

	if (!snapshot->timeline_count)
		return;
	/* Nothing of it lived at the attach. */
	fprintf(chart->out, "<path fill=\"#9ecae1\" stroke=\"#3182bd\" d=\"M%.1f %.1f",
		LEFT, BOTTOM);
	put_line(chart, "L", false);
	fprintf(chart->out, "L%.1f %.1fZ\"><title>live bytes</title></path>\n",
		x_of(chart, snapshot->timeline[snapshot->timeline_count - 1].time), BOTTOM);
	fputs("<path fill=\"none\" stroke=\"#e6550d\" stroke-width=\"2\" stroke-linecap=\"round\" "
	      "d=\"M0 0", chart->out);
	put_line(chart, "M", true);
	fputs("\"><title>RSS</title></path>\n", chart->out);
}

static int put_head(const struct chart *chart)
{
	const struct snapshot *snapshot = chart->snapshot;
	char text[200];
	int err = svg_text_fit(chart->out, 10, 18, WIDTH - 20, snapshot->target.cmdline);

	snprintf(text, sizeof(text), "process %d, by memattach: peak %s live since the attach",
		 snapshot->target.pid, human_bytes((double)snapshot->totals.peak_live_bytes).text);
	if (err == 0)
		err = svg_text(chart->out, 10, 33, "start", text);
	fputs("<rect x=\"690\" y=\"40\" width=\"12\" height=\"8\" fill=\"#9ecae1\"/>\n"
	      "<rect x=\"830\" y=\"43\" width=\"12\" height=\"2\" fill=\"#e6550d\"/>\n",
	      chart->out);
	if (err == 0)
		err = svg_text(chart->out, 708, 48, "start", "live bytes");
	return err < 0 ? err : svg_text(chart->out, 848, 48, "start", "RSS");
}

int export_timeline_svg(FILE *out, const struct export_input *input)
{
	struct chart chart = { .out = out, .snapshot = input->content->snapshot };
	int err;

	measure(&chart);
	svg_begin(out, WIDTH, HEIGHT);
	err = put_head(&chart);
	if (err == 0)
		err = put_grid(&chart);
	put_curves(&chart);
	svg_end(out);
	return err;
}
