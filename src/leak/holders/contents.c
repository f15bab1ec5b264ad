/* SPDX-License-Identifier: MIT */
/*
 * contents.c - see contents.h.
 *
 * A string is guessed from what the bytes look like: four characters of printable text and a
 * zero behind them, as strings(1) does, if they are no address; for a std::string its own
 * pointer, length and capacity must agree as well. Nothing is followed but that one pointer, and
 * no more than limit bytes are read there: the user agreed to so many bytes of each block.
 * Refused: libc++'s strings, whose short form is told from any other bytes by luck alone.
 */
#include "src/leak/holders/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_TEXT	4u	/* fewer characters are any small number's bytes */
#define SMALL_STRING	15u	/* libstdc++: what fits into the string itself */
#define LARGEST_STRING	(1ull << 40)

/* Length of the UTF-8 sequence of more than one byte at text; 0: none, or it is cut. */
static size_t sequence_length(const uint8_t *text, size_t count)
{
	uint32_t value = text[0];
	size_t bytes = value >= 0xf0 && value < 0xf5 ? 4 : value >= 0xe0 ? 3 : 2;

	if (value < 0xc2 || value >= 0xf5 || bytes > count)
		return 0;
	value &= 0x7fu >> bytes;
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0u) != 0x80u)
			return 0;
		value = value << 6 | (text[i] & 0x3fu);
	}
	if (value < (bytes == 2 ? 0xa0u : bytes == 3 ? 0x800u : 0x10000u) || value > 0x10ffffu ||
	    (value >= 0xd800u && value < 0xe000u))
		return 0;
	return bytes;
}

/* How many bytes from the first on are printable text, tabs and ends of lines included. */
static size_t text_length(const uint8_t *text, size_t count)
{
	size_t at = 0;

	while (at < count) {
		bool plain = (text[at] >= 0x20 && text[at] < 0x7f) ||
			     (text[at] && strchr("\t\n\r", text[at]));
		size_t bytes = plain ? 1 : sequence_length(text + at, count - at);

		if (!bytes)
			break;
		at += bytes;
	}
	return at;
}

/* Whether text that ends at length does so because count bytes were read, and no more. */
static bool ends_by_limit(const uint8_t *text, size_t length, size_t count)
{
	return length == count || (count - length < 4 && text[length] >= 0xc2);
}

static int set_text(struct leak_content *content, enum leak_text kind, const uint8_t *text,
		    size_t length, bool cut)
{
	content->text = strndup((const char *)text, length);
	content->kind = kind;
	content->text_cut = cut;
	return content->text ? 0 : -ENOMEM;
}

/* Text elsewhere, that a std::string of length bytes points to. */
static int take_pointed(const struct picture *picture, uint64_t address, uint64_t length,
			uint32_t limit, struct leak_content *content)
{
	bool cut = length > limit;
	size_t wanted = cut ? limit : (size_t)length + 1, found;
	_cleanup_free_ uint8_t *text = malloc(wanted);

	if (!text)
		return -ENOMEM;
	if (picture_read(picture, address, text, wanted))
		return 0;
	found = text_length(text, wanted);
	if (found < LEAST_TEXT || (cut ? !ends_by_limit(text, found, wanted) :
				   found != length || text[found]))
		return 0;
	return set_text(content, LEAK_TEXT_STD, text, found, cut);
}

/* struct { char *text; size_t length; union { char small[16]; size_t capacity; }; } */
static int take_std_string(const struct picture *picture, uint32_t limit,
			   struct leak_content *content)
{
	struct {
		uint64_t text, length;
		union {
			uint8_t small[SMALL_STRING + 1];
			uint64_t capacity;
		};
	} string;
	const struct leak_content *c = content;
	uint64_t shown;

	if (c->size < sizeof(string) ||
	    picture_read(picture, c->address, &string, sizeof(string)))
		return 0;
	if (string.text == c->address + offsetof(__typeof__(string), small)) {
		if (!string.length || string.length > SMALL_STRING ||
		    text_length(string.small, SMALL_STRING) != string.length ||
		    string.small[string.length])
			return 0;
		shown = string.length < limit ? string.length : limit;
		shown = text_length(string.small, shown);
		return set_text(content, LEAK_TEXT_STD, string.small, shown,
				shown < string.length);
	}
	if (string.capacity <= SMALL_STRING || string.capacity > LARGEST_STRING ||
	    string.length > string.capacity || string.length < LEAST_TEXT)
		return 0;
	return take_pointed(picture, string.text, string.length, limit, content);
}

/* Addresses of programs (0x55...) are six printable bytes and two zeros, now and then. */
static bool is_pointer(const struct picture *picture, const struct leak_content *content)
{
	uint64_t word;

	if (content->count < sizeof(word))
		return false;
	memcpy(&word, content->byte, sizeof(word));
	return procmaps_find(&picture->maps, word);
}

static int take_c_string(struct leak_content *content)
{
	size_t length = text_length(content->byte, content->count);
	bool cut = content->count < content->size &&
		   ends_by_limit(content->byte, length, content->count);

	if (length < LEAST_TEXT || (!cut && (length == content->count || content->byte[length])))
		return 0;
	return set_text(content, LEAK_TEXT_C, content->byte, length, cut);
}

int contents_read(const struct picture *picture, const struct block *block, uint32_t limit,
		  struct leak_content *ret)
{
	uint32_t wanted = block->bytes < limit ? (uint32_t)block->bytes : limit;
	struct leak_content content = { .address = block->address, .size = block->bytes,
					.byte = malloc(wanted + 1u) };
	int error;

	if (!content.byte)
		return -ENOMEM;
	content.count = (uint32_t)picture_read_some(picture, block->address, content.byte, wanted);
	error = take_std_string(picture, limit, &content);
	if (!error && !content.text && !is_pointer(picture, &content))
		error = take_c_string(&content);
	if (error) {
		leak_content_done(&content);
		return error;
	}
	*ret = content;
	return 0;
}
