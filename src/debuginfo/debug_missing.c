/* SPDX-License-Identifier: MIT */
/* debug_missing.c - see debug_missing.h. */
#include "src/debuginfo/debug_missing.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/version.h>

#include "src/base/log.h"
#include "src/modules/debug_unpack.h"

#define MAX_UNITS	(1u << 20)

static bool lacks_common(Dwarf *dwarf)
{
	const char *name;
	const void *build_id;

	return dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id) > 0 && !dwarf_getalt(dwarf);
}

static bool lacks_split(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	for (unsigned int i = 0; i < MAX_UNITS && dwarf_get_units(dwarf, unit, &unit, NULL, &type,
								  &die, &split) == 0; i++)
		if (type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_invalid)
			return true;
	return false;
}

uint32_t debug_missing_files(Dwarf *dwarf)
{
	return (lacks_common(dwarf) ? DEBUG_MISSING_COMMON : 0u) |
	       (lacks_split(dwarf) ? DEBUG_MISSING_SPLIT : 0u);
}

uint32_t debug_missing_packing(uint32_t packing)
{
	if (packing == ELFCOMPRESS_ZSTD)
		return debug_unpack_possible() ? 0 : DEBUG_MISSING_ZSTD;
	return packing ? DEBUG_MISSING_FORM : 0;
}

void debug_missing_log(const char *path, uint32_t missing)
{
	if (missing & DEBUG_MISSING_COMMON)
		log_warning("%s: its debug information refers to a file that dwz has made, which "
			    "is missing or can't be read; names are missing: install that file "
			    "(readelf --string-dump=.gnu_debugaltlink tells its name)", path);
	if (missing & DEBUG_MISSING_SPLIT)
		log_warning("%s: some of its debug information is in split files (.dwo) that are "
			    "missing or can't be read; inlined functions, types and lines may be "
			    "missing: put the .dwo files where they were compiled%s", path,
			    _ELFUTILS_PREREQ(0, 191) ? ", or the .dwp file beside the program" :
			    "; elfutils 0.191 and later read a .dwp file, too");
	if (missing & DEBUG_MISSING_ZSTD)
		log_warning("%s: its debug information is compressed by zstd, without which this "
			    "memattach was built; names are missing: build it with libzstd, or "
			    "uncompress the file (objcopy --decompress-debug-sections)", path);
	if (missing & DEBUG_MISSING_FORM)
		log_warning("%s: its debug information is compressed in a form that is not known; "
			    "names are missing: uncompress the file (objcopy "
			    "--decompress-debug-sections)", path);
	if (missing & DEBUG_MISSING_ROOM)
		log_warning("%s: its debug information can't be read: it is larger than what "
			    "--max-memory leaves for it, or damaged; names are missing", path);
}
