//go:build linux && cgo

#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seal_linux.h"

// magpie_seal runs before the Go runtime, so before there is a second thread: each thread has capabilities of its own, and
// what is set later does not reach those that exist already.
__attribute__((constructor)) static void magpie_seal(void) {
	// Nobody but root reads the memory, the environment and the open files of this process, or traces it; it dumps no core.
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	struct rlimit core;
	if (getrlimit(RLIMIT_CORE, &core) == 0) {
		core.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &core);
	}
	// The capabilities that a service manager has given to this program are not for those that it starts. With the
	// inheritable ones go the ambient ones.
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, caps) == 0) {
		for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
			caps[i].inheritable = 0;
		syscall(SYS_capset, &header, caps);
	}
}

void magpie_wipe(const char *name) {
	char *value = getenv(name);
	if (value != NULL)
		explicit_bzero(value, strlen(value));
}
