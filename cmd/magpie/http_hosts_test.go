package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"magpie/internal/operator/config"
)

// getAs requests a page under a host name.
func (r *rig) getAs(host, path string) (status int, body string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.prog.http.Addr().String()+path, nil)
	must(r, err)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	must(r, err)
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	must(r, err)
	return resp.StatusCode, string(data)
}

// A web page whose host name resolves to this machine gets nothing from the program.
func TestPagesAreServedUnderTheirOwnNamesOnly(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.HTTP.Listen, c.HTTP.Hosts = ":0", []string{"magpie.example.com"} })
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for host, want := range map[string]bool{
			"localhost": true, "LOCALHOST:9180": true, "localhost.": true,
			"127.0.0.1:1": true, "[::1]:9180": true, "[::1]": true,
			"magpie.example.com": true, "Magpie.Example.com:80": true,
			"evil.example": false, "evil.example:9180": false, "127.0.0.1.evil.example": false,
			"localhost.evil.example": false, "a.magpie.example.com": false,
			"192.168.1.2": false, "0.0.0.0": false,
		} {
			status, body := r.getAs(host, path)
			refused := status == http.StatusMisdirectedRequest && strings.Contains(body, "[http] hosts") &&
				strings.Count(body, "\n") == 1
			if refused == want || !refused && strings.Contains(body, "[http] hosts") {
				t.Errorf("%s as %s: %d %.100s", path, host, status, body)
			}
		}
	}
}

// Other machines may read the pages by address, by the machine's name, or by a configured name.
func TestPagesForOtherMachines(t *testing.T) {
	machine, err := os.Hostname()
	must(t, err)
	c := config.HTTP{Listen: "metrics.internal:9180", Hosts: []string{"magpie"}}
	address := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.7:9180"))
	h := knownHosts(c, address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"10.0.0.7:9180": 200, "[fd00::7]:9180": 200, machine + ":9180": 200,
		"metrics.internal:9180": 200, "magpie": 200, "localhost": 200, "": 200,
		"evil.example": 421, "10.0.0.7.evil.example": 421,
	} {
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		req.Host = host
		h.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
	}
}
