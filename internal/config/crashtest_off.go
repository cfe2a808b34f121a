//go:build !crashtest

package config

// applyTestSettings does nothing: no other program than the one that is tested can set what is for tests.
func applyTestSettings(*Config, []string) error { return nil }
