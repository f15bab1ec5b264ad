/* SPDX-License-Identifier: MIT */
/*
 * test_report_json.c - the document: valid JSON whatever names say, the figures of
 * the snapshot, nulls for what is not known, and docs/snapshot.schema.json (by
 * python3-jsonschema; that part is skipped where it is missing).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <locale.h>

#include "tests/unit/sample_session.h"
#include "tests/unit/schema_validator.h"

struct document {
	struct sample sample;
	struct snapshot *snapshot;
	char *text;
	json_t *root;
};

static void document_make(struct document *document, bool exact, bool leaks,
			  enum snapshot_detached detached, uint32_t top)
{
	struct report_input input;

	sample_init(&document->sample, exact);
	sample_fill(&document->sample, exact ? 0 : 4096);
	document->snapshot = sample_take(&document->sample, leaks, detached);
	input = sample_input(&document->sample, document->snapshot);
	input.options.top = top;
	document->text = sample_print("json", &input);
	document->root = json_loads(document->text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(document->root);
}

static void document_done(struct document *document)
{
	json_decref(document->root);
	free(document->text);
	snapshot_free(document->snapshot);
	sample_done(&document->sample);
}

static json_t *get(const struct document *document, const char *object, const char *key)
{
	return json_object_get(json_object_get(document->root, object), key);
}

static void exact_figures(void **state)
{
	struct document document;
	json_t *site, *frame;

	(void)state;
	document_make(&document, true, false, SNAPSHOT_PRISTINE, 0);
	assert_int_equal(json_integer_value(get(&document, "totals", "alloc_bytes")), 30064);
	assert_int_equal(json_integer_value(get(&document, "totals", "live_bytes")), 20064);
	assert_int_equal(json_integer_value(get(&document, "totals", "peak_live_bytes")), 30000);
	assert_int_equal(json_integer_value(get(&document, "totals", "temporary_count")), 0);
	assert_int_equal(json_integer_value(get(&document, "map_totals", "live_bytes")), 8192);
	assert_string_equal(json_string_value(get(&document, "session", "detached")), "pristine");
	assert_true(json_is_null(json_object_get(document.root, "leaks")));
	assert_int_equal(json_array_size(json_object_get(document.root, "timeline")), 4);
	assert_int_equal(json_array_size(json_object_get(document.root, "sites")), 3);
	site = json_array_get(json_object_get(document.root, "sites"), 0);
	assert_int_equal(json_integer_value(json_object_get(site, "live_bytes_low")), 20000);
	frame = json_array_get(json_object_get(site, "frames"), 0);
	assert_string_equal(json_string_value(json_object_get(frame, "function")),
			    "inner<T>::\"f\"");
	assert_true(json_is_true(json_object_get(frame, "inlined")));
	frame = json_array_get(json_object_get(site, "frames"), 2);
	assert_true(json_is_null(json_object_get(frame, "function")));
	assert_true(json_is_null(json_object_get(frame, "line")));
	assert_int_equal(json_integer_value(json_object_get(frame, "offset")), 0x2fff);
	document_done(&document);
}

static void unknown_is_null(void **state)
{
	struct document document;
	json_t *site;

	(void)state;
	document_make(&document, false, true, SNAPSHOT_ATTACHED, 1);
	assert_true(json_is_null(get(&document, "totals", "temporary_count")));
	assert_true(json_is_null(get(&document, "totals", "double_free_count")));
	assert_true(json_is_null(get(&document, "totals", "free_unknown_count")));
	assert_true(json_is_null(get(&document, "session", "detached")));
	assert_true(json_is_null(get(&document, "leaks", "definitely_lost")));
	assert_int_equal(json_array_size(get(&document, "leaks", "groups")), 2);
	assert_int_equal(json_array_size(json_object_get(document.root, "sites")), 1);
	site = json_array_get(json_object_get(document.root, "sites"), 0);
	assert_true(json_integer_value(json_object_get(site, "live_bytes_low")) <
		    json_integer_value(json_object_get(site, "live_bytes_high")));
	document_done(&document);
}

static json_int_t point_value(const struct document *document, size_t at, const char *key)
{
	json_t *timeline = json_object_get(document->root, "timeline");
	json_t *value = json_object_get(json_array_get(timeline, at), key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void points_have_their_ends(void **state)
{
	struct document document;

	(void)state;
	document_make(&document, true, false, SNAPSHOT_PRISTINE, 0);
	for (size_t i = 0; i < 4; i++) {
		json_int_t bytes = point_value(&document, i, "alloc_bytes");

		assert_int_equal(point_value(&document, i, "alloc_bytes_low"), bytes);
		assert_int_equal(point_value(&document, i, "alloc_bytes_high"), bytes);
	}
	document_done(&document);
	document_make(&document, false, false, SNAPSHOT_PRISTINE, 0);
	assert_true(point_value(&document, 0, "alloc_count_low") <
		    point_value(&document, 0, "alloc_count_high"));
	assert_true(point_value(&document, 0, "live_bytes_low") <
		    point_value(&document, 0, "live_bytes_high"));
	assert_true(point_value(&document, 3, "free_count_low") <
		    point_value(&document, 3, "free_count_high"));
	document_done(&document);
}

static void is_one_line_of_ascii_safe_text(void **state)
{
	struct document document;

	(void)state;
	document_make(&document, true, true, SNAPSHOT_DORMANT, 0);
	assert_ptr_equal(strchr(document.text, '\n'), document.text + strlen(document.text) - 1);
	assert_null(strchr(document.text, '\033'));
	assert_string_equal(json_string_value(get(&document, "target", "exe")),
			    "/usr/bin/\xef\xbf\xbd" "demo");
	document_done(&document);
}

static void writes_errors_of_the_stream(void **state)
{
	struct document document;
	struct report_input input;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	document_make(&document, true, false, SNAPSHOT_PRISTINE, 0);
	input = sample_input(&document.sample, document.snapshot);
	assert_non_null(full);
	assert_int_equal(report_find("json")->write(full, &input), -28);
	fclose(full);
	document_done(&document);
}

static void follows_the_schema(void **state)
{
	(void)state;
	for (int variant = 0; variant < 8; variant++) {
		struct document document;
		int status;

		document_make(&document, variant & 1, variant & 2,
			      (enum snapshot_detached)(variant & 3), (uint32_t)variant & 4);
		status = schema_validate("snapshot.schema.json", document.text);
		if (status == 77) {
			document_done(&document);
			print_message("python3 or its jsonschema is missing\n");
			skip();
		}
		assert_int_equal(status, 0);
		/* The schema is strict: one key too many is an error. */
		json_object_set_new(document.root, "surplus", json_null());
		free(document.text);
		document.text = json_dumps(document.root, JSON_COMPACT);
		assert_int_equal(schema_validate("snapshot.schema.json", document.text), 1);
		document_done(&document);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_figures),
		cmocka_unit_test(unknown_is_null),
		cmocka_unit_test(points_have_their_ends),
		cmocka_unit_test(is_one_line_of_ascii_safe_text),
		cmocka_unit_test(writes_errors_of_the_stream),
		cmocka_unit_test(follows_the_schema),
	};

	setlocale(LC_ALL, "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
