//go:build !crashtest

package main

// loosen changes nothing: what the program that is tested may set, no other can.
func loosen(*config, []string) error { return nil }
