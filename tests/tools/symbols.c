/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - symbols [-a] FILE: names of addresses by src/symbolize, for what compares them.
 *
 * Reads hexadecimal addresses of the file, a line each, "r" before those that are return
 * addresses. Prints each address, then a line a frame, innermost first:
 * "<TAB>function<TAB>file<TAB>line<TAB>column", "?" and 0 for what is unknown. -a: a child reads
 * the file, as a session has it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/names/names.h"
#include "src/symbolize/symbolize.h"

struct asked {
	struct frame *frame;
	uint32_t count;
};

static int read_asked(uint32_t module, struct asked *ret)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		struct frame *grown = reallocarray(ret->frame, ret->count + 1, sizeof(*grown));

		if (!grown)
			return 1;
		ret->frame = grown;
		ret->frame[ret->count++] = (struct frame){
			.module = module, .flags = line[0] == 'r' ? FRAME_RETURN : 0,
			.offset = strtoull(line + (line[0] == 'r'), NULL, 16),
		};
	}
	return 0;
}

static void print(struct symbolizer *symbolizer, const struct frame *frame)
{
	size_t count;
	const struct symbol_frame *found = symbolizer_frame(symbolizer, frame, &count);

	printf("0x%llx\n", (unsigned long long)frame->offset);
	for (size_t i = 0; i < count; i++)
		printf("\t%s\t%s\t%u\t%u\n", found[i].function ? found[i].function : "?",
		       found[i].file ? found[i].file : "?", found[i].line, found[i].column);
}

static int print_all(struct modules *modules, uint32_t module, bool apart)
{
	struct session_names *names = NULL;
	struct symbolizer *symbolizer;
	struct asked asked = { .frame = NULL };

	if (read_asked(module, &asked) || symbolizer_new(modules, &symbolizer) < 0 ||
	    (apart && session_names_new(modules, symbolizer, &names) < 0))
		return 1;
	symbolizer_foresee(symbolizer, asked.frame, asked.count);
	for (uint32_t i = 0; i < asked.count; i++)
		print(symbolizer, &asked.frame[i]);
	session_names_free(names);
	symbolizer_free(symbolizer);
	free(asked.frame);
	return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	struct module_source source = { .open_file = NULL };
	bool apart = argc == 3 && strcmp(argv[1], "-a") == 0;
	const char *path = argv[argc - 1];
	int fd = argc == 2 || apart ? open(path, O_RDONLY | O_CLOEXEC) : -1, status = 1;
	struct modules *modules;
	uint32_t module;

	if (fd < 0 || modules_new(&source, &modules) < 0) {
		fputs("usage: symbols [-a] FILE <ADDRESSES\n", stderr);
		return 2;
	}
	if (modules_add_file(modules, path, fd, false, &module) == 0)
		status = print_all(modules, module, apart);
	else
		fprintf(stderr, "symbols: %s is no usable ELF file\n", path);
	modules_free(modules);
	return status;
}
