package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy only allows the page's own files: no inline script, no other host, no HTML from strings.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// withGuard only admits this user's own pages. A foreign name that resolves to the loopback address (DNS rebinding)
// shows in the Host header, a foreign page in Origin and Sec-Fetch-Site.
func withGuard(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !loopbackName(r.Host) {
			http.Error(w, "the playground answers only to localhost", http.StatusForbidden)
			return
		}
		if !fromOwnUser(r) {
			http.Error(w, "the playground answers only to the user who has started it", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackName reports whether the Host header names this machine and nothing else.
func loopbackName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
