/* SPDX-License-Identifier: MIT */
/*
 * fuzz_screen.c - what an analyst that was taken over could send to the live screen, with keys
 * pressed in between: rows stay within the sites, the selection within the rows, and no text
 * holds what moves a cursor.
 *
 * The input is a row of messages: a byte for the type (its upper half: how many keys follow the
 * message), two for the length, then so many bytes.
 */
#include <string.h>

#include "src/screen/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

static void check(struct model *model)
{
	struct screen_want want;

	model_settle(model);
	if (model->row_count > model->state.site_count ||
	    (model->row_count && model->sites.selected >= model->row_count))
		abort();
	for (uint32_t i = 0; i < model->row_count; i++) {
		const struct screen_site *site;

		if (model->row[i] >= model->state.site_count)
			abort();
		site = &model->site[model->row[i]];
		(void)model_figures(model, site);
		check_text(model_name(model, site->id)->function);
		check_text(model_name(model, site->id)->place);
	}
	for (uint32_t i = 0; i < model->stack_count; i++)
		check_text(model->stack[i].function);
	for (uint32_t i = 0; i < model->leaks.head.group_count; i++)
		for (size_t k = 0; k < SCREEN_GROUP_TEXTS; k++)
			check_text(model->leaks.group[i].text[k]);
	if (model->leaks.head.group_count &&
	    model->groups.selected >= model->leaks.head.group_count)
		abort();
	check_text(model->leaks.uncovered);
	check_text(model->leaks.problem);
	check_text(model->note);
	check_text(model->cmdline);
	model_wants(model, &want);
	if (want.count > SCREEN_MAX_WANTED)
		abort();
}

/* One message and the keys after it; the rest, or NULL at the end. */
static const uint8_t *one(struct model *model, const uint8_t *at, const uint8_t *end)
{
	static const uint32_t special[] = {
		SCREEN_KEY_UP, SCREEN_KEY_DOWN, SCREEN_KEY_PAGE_UP, SCREEN_KEY_PAGE_DOWN,
		SCREEN_KEY_HOME, SCREEN_KEY_END, SCREEN_KEY_BACKSPACE, SCREEN_KEY_ESCAPE,
	};
	size_t bytes, keys;
	_cleanup_free_ char *copy = NULL;

	if (end - at < 3)
		return NULL;
	bytes = at[1] | (size_t)at[2] << 8;
	keys = at[0] >> 4;
	if (bytes > (size_t)(end - at) - 3)
		bytes = (size_t)(end - at) - 3;
	copy = malloc(bytes + 1);	/* of its own: a read beyond it is seen */
	if (!copy)
		return NULL;
	memcpy(copy, at + 3, bytes);
	(void)!model_take(model, at[0] & 0xfu, copy, bytes);
	for (at += 3 + bytes; keys && at < end; keys--, at++) {
		model->page = 1u + *at % 50u;
		(void)keys_press(model, *at < 0x80 ? *at : special[*at % ARRAY_SIZE(special)]);
		check(model);
	}
	check(model);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct model *model;

	if (model_new(&model))
		return 0;
	while (data)
		data = one(model, data, end);
	model_free(model);
	return 0;
}
