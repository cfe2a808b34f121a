package main

import "golang.org/x/sys/unix"

const canLimitDisk = true

// limitDisk prevents a process from growing or changing any file (setrlimit(2), RLIMIT_FSIZE), which looks like a full
// disk to that process alone; or it lifts that limit. Only the soft limit is changed.
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
