//go:build !windows

package main

import (
	"os"
	"strconv"
)

// sealInherited keeps the files that are open when the program starts from the programs that it starts: whoever called it,
// such as a shell, a script or pm2, may have left them open, and agents are not to read or write them.
func sealInherited() {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // without /proc there is no list
	}
	for _, f := range list {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			closeOnExec(fd)
		}
	}
}
