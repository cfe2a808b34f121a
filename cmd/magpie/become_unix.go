//go:build unix

package main

import "syscall"

// become runs another program in this process.
func become(path string, args, env []string) error { return syscall.Exec(path, args, env) }
