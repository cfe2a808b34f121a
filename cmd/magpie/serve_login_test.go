package main

import (
	"slices"
	"strings"
	"testing"

	"magpie/internal/config"
	"magpie/internal/feishusim"
)

// Who starts the bridge learns that the agent is not logged in, before anybody has asked in vain.
func TestServeWarnsIfNobodyIsLoggedIn(t *testing.T) {
	r := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Claude.Environ = slices.DeleteFunc(slices.Clone(c.Claude.Environ), func(kv string) bool {
			return strings.HasPrefix(kv, "ANTHROPIC_API_KEY=")
		})
	})
	r.load = func() (config.Config, error) { return r.cfg, nil }
	r.start()
	defer r.stop()
	if !r.logs.await("Claude is not logged in, so nobody gets an answer", 1) {
		t.Errorf("no warning in %s", r.logs)
	}
}
