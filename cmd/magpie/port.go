package main

import (
	"errors"
	"net"
	"syscall"

	"magpie/internal/configtype"
)

// explainListen explains an address that is in use: which process has it, if known, and how to configure another one.
func explainListen(err error, address, how string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	_, port, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return err
	}
	return configtype.Mistakef("%s 已被占用%v：停掉占用它的程序，或用 %s 换一个地址",
		"%s is in use%v: stop that program, or choose another address with %s", address, portHolder(port), how)
}

// holderError names a process that holds a port.
func holderError(name string, pid int) error {
	return configtype.Mistakef("（%q，进程 %d）", " by %q (process %d)", name, pid)
}

// unknownHolder is an unknown process.
var unknownHolder = configtype.Mistakef("", "")
