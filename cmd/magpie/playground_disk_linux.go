package main

import "golang.org/x/sys/unix"

const canLimitDisk = true

// limitDisk lets no file that a process writes grow or change any more (setrlimit(2), RLIMIT_FSIZE), which is to the
// process as a full disk is, and to nobody else; or lifts that again. The soft limit is changed only.
func limitDisk(pid int, full bool) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err
	}
	if limit.Cur = limit.Max; full {
		limit.Cur = 0
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil)
}
