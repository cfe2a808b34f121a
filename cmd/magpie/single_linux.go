package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"magpie/internal/i18n"
)

// holdApp makes this the only program on the machine that serves a Feishu app: the platform sends each event to one of
// an app's connections, so two programs would take each other's messages. The lock ends when it is closed, or with the
// process. It is a socket without a file (unix(7), "abstract"), which is visible from a sandbox and to other users,
// too.
func holdApp(appID string) (io.Closer, error) {
	sum := sha256.Sum256([]byte(appID))
	name := fmt.Sprintf("@magpie-app-%x", sum[:8])
	ln, err := net.Listen("unix", name)
	for began := time.Now(); errors.Is(err, syscall.EADDRINUSE) && time.Since(began) < leftover; {
		time.Sleep(leftover / 100)
		ln, err = net.Listen("unix", name)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, i18n.Mistakef("这台机器上已经有程序在运行应用 %[1]s%[2]v：先停掉它，否则两个程序会互相抢消息",
			"another program on this machine is already running the app %[1]s%[2]v: stop it first, "+
				"or the two would take each other's messages",
			appID, holderOf(name))
	} else if err != nil {
		return nil, fmt.Errorf("hold the app %s: %w", appID, err)
	}
	return ln, nil
}

// leftover is how long the socket of a released lock may stay open: a child process that was just forked has a copy of
// the file descriptor until its exec closes it.
const leftover = 2 * time.Second

// holderOf names the process that holds the socket; [unknownHolder] = unknown.
func holderOf(name string) error {
	conn, err := net.Dial("unix", name)
	if err != nil {
		return unknownHolder
	}
	defer conn.Close() //nolint:errcheck // nothing was said
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return unknownHolder
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return unknownHolder
	}
	return i18n.Mistakef("（进程 %d）", " (process %d)", cred.Pid)
}

// unknownHolder is an unknown process.
var unknownHolder = i18n.Mistakef("", "")
