package feishu

import (
	"net/url"
	"strings"
)

// Console builds links to the pages of the developer console where an app is configured.
type Console struct{ base string }

// Console returns the links for this app. A platform other than the public ones is assumed to have the same paths.
func (c Config) Console() Console { return Console{c.baseURL() + "/app/" + url.PathEscape(c.AppID)} }

// Scopes is the page that requests permissions, with these preselected.
func (c Console) Scopes(scopes []string) string {
	q := url.Values{"q": {strings.Join(scopes, ",")}, "op_from": {"openapi"}, "token_type": {"tenant"}}
	return c.base + "/auth?" + q.Encode()
}

// Events is the page of events and callbacks.
func (c Console) Events() string { return c.base + "/event" }

// Bot is the page of the bot capability.
func (c Console) Bot() string { return c.base + "/bot" }

// Versions is the page that publishes the changes made on the others.
func (c Console) Versions() string { return c.base + "/version" }

// Credentials is the page with id and secret.
func (c Console) Credentials() string { return c.base + "/baseinfo" }

// Apps are the pages that list a user's apps. On the public platforms it depends on who scans a code which one applies.
func (c Config) Apps() []string {
	if base := c.baseURL(); base != hostFeishu && base != hostLark {
		return []string{base + "/app"}
	}
	return []string{hostFeishu + "/app", hostLark + "/app"}
}

// accountsURL is where apps are created. The public platform uses a host of its own for that.
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
