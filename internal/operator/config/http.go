package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"magpie/internal/i18n"
)

// HTTP is the section of the pages for the operator's machines.
type HTTP struct {
	// host:port of /metrics, /healthz and /readyz; without a host this machine only; empty = none
	Listen string `toml:"listen" env:"LISTEN"`
	// names under which they are served, besides addresses, localhost and known names
	Hosts []string `toml:"hosts" env:"HOSTS"`
	// https://host of the proxy before it, through which programs on other machines use the HTTP API; empty = none
	PublicURL string `toml:"public_url" env:"PUBLIC_URL"`
}

// HasAPI reports whether programs can ask over HTTP. Their tokens must not travel readably between machines.
func (c HTTP) HasAPI() bool { return c.Listen != "" && (c.isLocal() || c.PublicURL != "") }

// isLocal reports whether only this machine can reach the pages.
func (c HTTP) isLocal() bool {
	host, _, err := net.SplitHostPort(c.Address())
	ip, notIP := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || notIP == nil && ip.Unmap().IsLoopback())
}

// BaseURL is where clients of OpenAI's API find it.
func (c HTTP) BaseURL() string {
	return cmp.Or(strings.TrimSuffix(c.PublicURL, "/"), "http://"+c.Address()) + "/v1"
}

// PublicHost is the name of the proxy before it; empty = there is none.
func (c HTTP) PublicHost() string {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Names are the names under which the pages are served.
func (c HTTP) Names() []string {
	if host := c.PublicHost(); host != "" {
		return append(slices.Clone(c.Hosts), host)
	}
	return c.Hosts
}

// Address is the address to listen on. Without a host it is only reachable from this machine: the pages have no login.
func (c HTTP) Address() string {
	if strings.HasPrefix(c.Listen, ":") {
		return "127.0.0.1" + c.Listen
	}
	return c.Listen
}

// Validate reports the invalid key.
func (c HTTP) Validate() error {
	if c.Listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return i18n.Mistakef("[http] listen %q：应为 host:port，只限本机时写 :port",
			"[http] listen %q: must be host:port, or :port for this machine only", c.Listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return i18n.Mistakef("[http] listen %q：端口应为 1 到 65535 的数字",
			"[http] listen %q: the port must be a number from 1 to 65535", c.Listen)
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Scheme != "https" || u.Hostname() == "") {
		return i18n.Mistakef(`[http] public_url %q：应为 https:// 开头的地址，例如 "https://magpie.example.com"`,
			`[http] public_url %q: must be an address that begins with https://, as in "https://magpie.example.com"`, c.PublicURL)
	}
	return c.validateHosts()
}

// validateHosts reports names that no Host header can hold.
func (c HTTP) validateHosts() error {
	for _, name := range c.Hosts {
		if name == "" || strings.ContainsAny(name, ":/* ") {
			return i18n.Mistakef(`[http] hosts %q：应为不带端口的名字，例如 "magpie.example.com"`,
				`[http] hosts %q: must be names without a port, as in "magpie.example.com"`, name)
		}
	}
	return nil
}
