/* SPDX-License-Identifier: MIT */
/*
 * test_history.c - an earlier recording is asked about sites by their stacks, and only one of the
 * same program is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "src/recording/history.h"
#include "tests/unit/sample_recording.h"

static char problem[HISTORY_PROBLEM_BYTES];

/* Modules 1 and 2 of the samples have build ids; site 3 consists of a frame of module 1. */
static void make(void)
{
	struct sample sample;
	struct recording *recording = sample_recording(&sample, 60, SAMPLE_LEAK);
	struct site_lives *lives = NULL;

	assert_int_equal(site_lives_take(sample.sites, sample.live, &sample.ticks, 0, sample.now,
					 &lives), 0);
	assert_int_equal(recording_add_lives(recording, lives), 0);
	site_lives_free(lives);
	assert_int_equal(recording_close(recording), 0);
	sample_done(&sample);
	sample_change("INSERT INTO modules(id, path, build_id, kind) VALUES"
		      "(1, '/usr/bin/demo', 'c0ffee', 0), (2, '/lib/libx.so', 'beef', 0)");
}

/* The watching process numbers its modules otherwise. */
static const char *other_build_id(void *context, uint32_t module)
{
	(void)context;
	return module == 9 ? "c0ffee" : module == 8 ? "beef" : module == 7 ? "0ther" : "";
}
static const struct history_modules modules = { .build_id = other_build_id };

static const struct suspect_past *find(const struct history *history, const struct frame *frame,
				       uint32_t count)
{
	return history_find(history, SITE_MALLOC, frame, count, &modules);
}

static void sites_are_found_by_their_stacks(void **state)
{
	struct frame frame[] = { { .module = 9, .flags = FRAME_RETURN, .offset = 0x2000 },
				 { .module = 8, .flags = FRAME_RETURN, .offset = 0x3000 } };
	const struct suspect_past *past;
	struct history *history = NULL;

	(void)state;
	make();
	assert_int_equal(history_open(sample_path, "c0ffee", problem, &history), 0);
	assert_true(history_seconds(history) > 59 && history_seconds(history) < 62);
	past = find(history, frame, 2);	/* the cache */
	assert_non_null(past);
	assert_int_equal(site_life_living(past->life), SAMPLE_CACHE);
	assert_false(past->growing);
	/* how a frame was found says nothing about what it is */
	frame[0].flags |= FRAME_GUESSED;
	assert_ptr_equal(find(history, frame, 2), past);
	assert_null(find(history, frame, 1));
	assert_null(find(history, frame, 0));
	assert_null(history_find(history, SITE_CUSTOM, frame, 2, &modules));
	frame[0].flags = FRAME_SIGNAL;
	assert_null(find(history, frame, 2));
	frame[0].flags = FRAME_RETURN;
	frame[1].offset++;
	assert_null(find(history, frame, 2));
	frame[1].offset--;
	frame[1].module = 7;	/* an update of the library */
	assert_null(find(history, frame, 2));
	frame[1].module = 0;	/* code made at run time */
	assert_null(find(history, frame, 2));
	frame[0].offset = 0x5000;
	assert_non_null(find(history, frame, 1));
	history_free(history);
}

static void refused(const char *path, const char *build_id, int error, const char *why)
{
	struct history *history = NULL;

	assert_int_equal(history_open(path, build_id, problem, &history), error);
	assert_null(history);
	if (!strstr(problem, why))
		fail_msg("'%s' is not in '%s'", why, problem);
	assert_null(strchr(problem, '\n'));
}

static void others_are_refused_in_words(void **state)
{
	int fd;

	(void)state;
	refused(sample_path, "c0ffee", -ENOENT, "No such file");
	make();
	refused(sample_path, "decaf", -ESRCH, "another program");
	refused(sample_path, "", -ESRCH, "no build id");
	sample_change("UPDATE modules SET build_id = NULL");
	refused(sample_path, "c0ffee", -ESRCH, "another program");
	sample_change("CREATE TABLE kept AS SELECT * FROM site_lives WHERE site > 0;"
		      "DELETE FROM site_lives WHERE site > 0");
	refused(sample_path, "c0ffee", -ENODATA, "lifetimes");
	sample_change("INSERT INTO site_lives SELECT * FROM kept;"
		      "UPDATE modules SET build_id = 'c0ffee' WHERE id = 1;"
		      "UPDATE site_lives SET freed = '{' WHERE site = 1");
	refused(sample_path, "c0ffee", -EBADMSG, "damaged");
	sample_change("DROP TABLE site_lives");
	refused(sample_path, "c0ffee", -ENODATA, "lifetimes");
	sample_change("PRAGMA user_version = 7");
	refused(sample_path, "c0ffee", -EPROTONOSUPPORT, "newer");
	fd = open(sample_path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "something else", 14), 14);
	close(fd);
	refused(sample_path, "c0ffee", -EBADMSG, "not a recording");
	refused("/dev/null", "c0ffee", -EBADMSG, "not a recording");
}

/* Any bytes of the file changed: what opens can be asked. */
static void damage_is_survived(void **state)
{
	struct frame frame[] = { { .module = 9, .flags = FRAME_RETURN, .offset = 0x2000 },
				 { .module = 8, .flags = FRAME_RETURN, .offset = 0x3000 } };
	int fd, opened = 0;
	off_t size;

	(void)state;
	make();
	fd = open(sample_path, O_RDWR);
	size = lseek(fd, 0, SEEK_END);
	srandom(9);
	for (int round = 0; round < 300; round++) {
		off_t at = random() % (size - 8);
		struct history *history = NULL;
		uint8_t old[8], new[8];

		assert_int_equal(pread(fd, old, 8, at), 8);
		for (size_t i = 0; i < 8; i++)
			new[i] = (uint8_t)random();
		assert_int_equal(pwrite(fd, new, 8, at), 8);
		if (history_open(sample_path, "c0ffee", problem, &history) == 0) {
			opened++;
			(void)find(history, frame, 2);
		}
		history_free(history);
		assert_int_equal(pwrite(fd, old, 8, at), 8);
	}
	close(fd);
	assert_true(opened > 0);
}

int main(void)
{
#define IN_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, sample_recording_begin, sample_recording_end)
	const struct CMUnitTest tests[] = {
		IN_FOLDER(sites_are_found_by_their_stacks),
		IN_FOLDER(others_are_refused_in_words),
		IN_FOLDER(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
