/* SPDX-License-Identifier: MIT */
/*
 * hook_print.c - a hook plan as text for `memattach check`.
 *
 * Module paths and versions come from the target: anything that a terminal could
 * take for more than a letter is replaced. UTF-8 paths lose their letters that
 * way; a report that lies about what it touches would be worse.
 */
#include <inttypes.h>

#include "src/plan/hook_planner.h"

static void print_safe(const char *text, size_t bytes, FILE *out)
{
	for (size_t i = 0; i < bytes && text[i]; i++)
		fputc(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?', out);
}

const char *hook_patch_name(enum hook_patch_kind kind)
{
	switch (kind) {
	case HOOK_PATCH_GAP:
		return "gap";
	case HOOK_PATCH_DIRECT:
		return "direct";
	case HOOK_PATCH_STOPPED:
		return "stopped";
	case HOOK_PATCH_NONE:
		break;
	}
	return "none";
}

static void print_entry(const struct hook_entry *entry, FILE *out)
{
	fputs("  ", out);
	print_safe(entry->name, sizeof(entry->name), out);
	fprintf(out, " at 0x%" PRIx64 ": %s, %u bytes moved", entry->address,
		hook_patch_name(entry->patch), entry->covered_bytes);
	if (entry->patch == HOOK_PATCH_GAP)
		fprintf(out, ", jump at %+" PRId64, (int64_t)(entry->gap - entry->address));
	fputc('\n', out);
}

static void print_family(const struct hook_plan *plan, uint32_t index, FILE *out)
{
	const struct hook_family *family = &plan->family[index];

	print_safe(family->name, sizeof(family->name), out);
	if (family->version[0]) {
		fputc(' ', out);
		print_safe(family->version, sizeof(family->version), out);
	}
	fputs(" in ", out);
	print_safe(family->module, sizeof(family->module), out);
	fputs(":\n", out);
	for (uint32_t i = 0; i < plan->entry_count && i < RING_MAX_ENTRIES; i++) {
		if (plan->entry[i].family == index)
			print_entry(&plan->entry[i], out);
	}
}

void hook_plan_print(const struct hook_plan *plan, FILE *out)
{
	for (uint32_t i = 0; i < plan->family_count && i < HOOK_MAX_FAMILIES; i++)
		print_family(plan, i, out);
	for (uint32_t i = 0; i < plan->skipped_count && i < HOOK_MAX_SKIPPED; i++) {
		fputs("left alone: ", out);
		print_safe(plan->skipped[i], sizeof(plan->skipped[i]), out);
		fputc('\n', out);
	}
	if (plan->left_out)
		fprintf(out, "left out for lack of room: %u\n", plan->left_out);
	fprintf(out, "loader: %s\n", plan->dlopen ? "dlopen or map" : "map");
}
