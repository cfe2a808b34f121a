//go:build crashtest

package config

import (
	"time"

	"github.com/caarlos0/env/v11"
)

// applyTestSettings applies settings for tests that start the program as a separate process with a double of the
// platform.
func applyTestSettings(c *Config, environ []string) error {
	var v struct {
		Pace     float64       `env:"PACE"`      // see [feishu.Config]
		NameWait time.Duration `env:"NAME_WAIT"` // see [feishu.Config]
		AckWait  time.Duration `env:"ACK_WAIT"`  // see [feishu.Config]
		Several  bool          `env:"SEVERAL"`   // see [db.Config]
		PlaceTTL time.Duration `env:"PLACE_TTL"` // see [db.Config]
	}
	err := env.ParseWithOptions(&v, env.Options{Prefix: "MAGPIE_TEST_", Environment: env.ToMap(environ)})
	if err != nil {
		return err
	}
	c.Feishu.Pace, c.Feishu.NameWait, c.Feishu.AckTimeout = v.Pace, v.NameWait, v.AckWait
	c.DB.Several, c.DB.PlaceTTL = v.Several, v.PlaceTTL
	return nil
}
