/* SPDX-License-Identifier: MIT */
/* dlopen_files.c - see dlopen_files.h. */
#include "inject/dlopen_files.h"

#include <errno.h>
#include <sys/mman.h>

#include "inject/arch/x86_64/regs.h"
#include "inject/remote_memfd.h"
#include "inject/tracee.h"

int dlopen_files_see(struct borrow *b, void *of)
{
	struct dlopen_files *files = of;
	struct user_regs_struct r;
	struct regs_mapped mapped;
	int error = tracee_get_registers(b->request.tid, &r);

	if (error)
		return error;
	if (!regs_has_mapped(&r, &mapped) || mapped.fd < 0 ||
	    (mapped.flags & (MAP_TYPE | MAP_ANONYMOUS)) != MAP_PRIVATE ||
	    remote_memfd_confirm(files->attachment, b, REMOTE_SHIM, mapped.fd) == 0)
		return 0;
	if (!(mapped.flags & MAP_FIXED))
		files->left = mapped.address;
	files->refused = true;
	regs_set_result(&r, -EBADF);
	return tracee_set_registers(b->request.tid, &r);
}
