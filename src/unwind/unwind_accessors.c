/* SPDX-License-Identifier: MIT */
/* unwind_accessors.c - what libunwind may ask of nobody. */
#include "src/unwind/unwind_accessors.h"

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *argument)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)argument;
	return -UNW_EBADREG;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space;
	(void)info;
	(void)argument;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *argument)
{
	(void)space;
	(void)address;
	(void)argument;
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument)
{
	(void)space;
	(void)cursor;
	(void)argument;
	return -UNW_EINVAL;
}

unw_addr_space_t unwind_accessors_space(const unw_accessors_t *own)
{
	unw_accessors_t accessors = {
		.find_proc_info = own->find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = own->access_mem,
		.access_reg = own->access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
	};
	unw_addr_space_t space = unw_create_addr_space(&accessors, 0);

	if (space)
		unw_set_caching_policy(space, UNW_CACHE_NONE);
	return space;
}
