//go:build crashtest

package config

import (
	"time"

	"github.com/caarlos0/env/v11"

	"magpie/feishu"
)

// applyTestSettings applies settings for tests that start the program as a separate process with a double of the
// platform.
func applyTestSettings(c *Config, environ []string) error {
	var v struct {
		Pace     float64       `env:"PACE"`      // see [feishu.Config]
		NameWait time.Duration `env:"NAME_WAIT"` // see [feishu.Config]
		AckWait  time.Duration `env:"ACK_WAIT"`  // see [feishu.Config]
		PlaceTTL time.Duration `env:"PLACE_TTL"` // see [db.Config]
	}
	err := env.ParseWithOptions(&v, env.Options{Prefix: "MAGPIE_TEST_", Environment: env.ToMap(environ)})
	if err != nil {
		return err
	}
	apps := []*feishu.Config{&c.Feishu}
	for i := range c.Apps {
		apps = append(apps, &c.Apps[i].Config)
	}
	for _, a := range apps {
		a.Pace, a.NameWait, a.AckTimeout = v.Pace, v.NameWait, v.AckWait
	}
	c.DB.PlaceTTL = v.PlaceTTL
	return nil
}
