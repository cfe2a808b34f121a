//go:build !crashtest

package config

// applyTestSettings does nothing: only the program under test has test settings.
func applyTestSettings(*Config, []string) error { return nil }
