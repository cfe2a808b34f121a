//go:build !linux

package main

// portHolder is not supported on this system.
func portHolder(string) error { return unknownHolder }
