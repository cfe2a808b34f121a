//go:build !linux

package main

// portHolder is not known on this system.
func portHolder(string) error { return unknownHolder }
