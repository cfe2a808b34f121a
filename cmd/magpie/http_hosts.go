package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"magpie/internal/operator/config"
)

// knownHosts serves the pages only under names of this program. A browser led here by a foreign name (DNS rebinding)
// sends that name in the Host header; without this check, a page of that name could read the content.
func knownHosts(c config.HTTP, ln net.Addr, pages http.Handler) http.Handler {
	names := append([]string{"localhost"}, c.Names()...)
	if host, _, err := net.SplitHostPort(c.Address()); err == nil && host != "" {
		names = append(names, host)
	}
	at, err := netip.ParseAddrPort(ln.String())
	local := err == nil && at.Addr().Unmap().IsLoopback()
	if host, err := os.Hostname(); err == nil && !local {
		names = append(names, host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		ip, err := netip.ParseAddr(host)
		byAddress := err == nil && (!local || ip.Unmap().IsLoopback()) // no foreign name is involved
		byName := slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
		if host != "" && !byAddress && !byName { // browsers always send it
			why := fmt.Sprintf("this is not served under the name %q: add it to [http] hosts", host)
			http.Error(w, why, http.StatusMisdirectedRequest)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// hostOf is the name in a Host header.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.TrimSuffix(host, ".")
}
