package feishu

import (
	"net/url"
	"strings"
)

// Console gives the pages of the developer console on which an app is put right.
type Console struct{ base string }

// Console gives the pages of the app. A platform that is not one of the public ones is assumed to have them in the same
// place.
func (c Config) Console() Console { return Console{c.baseURL() + "/app/" + url.PathEscape(c.AppID)} }

// Scopes is the page that asks for permissions; these are ticked already.
func (c Console) Scopes(scopes []string) string {
	q := url.Values{"q": {strings.Join(scopes, ",")}, "op_from": {"openapi"}, "token_type": {"tenant"}}
	return c.base + "/auth?" + q.Encode()
}

// Events is the page of events and callbacks.
func (c Console) Events() string { return c.base + "/event" }

// Bot is the page of the bot capability.
func (c Console) Bot() string { return c.base + "/bot" }

// Versions is the page that publishes what was changed on the others.
func (c Console) Versions() string { return c.base + "/version" }

// Credentials is the page with id and secret.
func (c Console) Credentials() string { return c.base + "/baseinfo" }

// accountsURL is where apps are created. The public platform has a host of its own for it.
func (c Config) accountsURL() string {
	switch base := c.baseURL(); base {
	case hostFeishu:
		return accountsFeishu
	case hostLark:
		return accountsLark
	default:
		return base
	}
}
