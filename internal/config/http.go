package config

import (
	"fmt"
	"net"
	"strings"
)

// HTTP is the section of the pages for the operator's machines.
type HTTP struct {
	// host:port of /metrics, /healthz and /readyz; without a host this machine only; empty = none
	Listen string `toml:"listen" env:"LISTEN"`
	// names under which they are served, beside addresses, localhost and the names that are known
	Hosts []string `toml:"hosts" env:"HOSTS"`
}

// Address is where to listen. Without a host it is this machine only: the pages have no login.
func (c HTTP) Address() string {
	if strings.HasPrefix(c.Listen, ":") {
		return "127.0.0.1" + c.Listen
	}
	return c.Listen
}

// Validate names the key that is wrong.
func (c HTTP) Validate() error {
	if c.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("[http] listen %q: want host:port, or :port for this machine only", c.Listen)
	}
	return c.validateHosts()
}

// validateHosts reports names that no Host header can hold.
func (c HTTP) validateHosts() error {
	for _, name := range c.Hosts {
		if name == "" || strings.ContainsAny(name, ":/* ") {
			return fmt.Errorf("[http] hosts %q: want names without a port, as in \"magpie.example.com\"", name)
		}
	}
	return nil
}
