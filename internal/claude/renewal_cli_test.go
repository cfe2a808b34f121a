package claude_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// accountService is the account service, and the model's API for clients that are logged in. Each renewal invalidates
// the previous login, as with the real service.
type accountService struct {
	mu       sync.Mutex
	serial   int // of the valid login
	renewals int
	wrong    []string // requests with an invalid login
}

// renew is the token endpoint.
func (s *accountService) renew(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	token := gjson.GetBytes(body, "refresh_token").String()
	w.Header().Set("Content-Type", "application/json")
	if token != fmt.Sprintf("refresh-%d", s.serial) {
		s.wrong = append(s.wrong, "renewal with "+token)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"Refresh token not found or invalid"}`)
		return
	}
	s.serial++
	s.renewals++
	_ = json.NewEncoder(w).Encode(map[string]any{
		"token_type": "Bearer", "access_token": fmt.Sprintf("access-%d", s.serial),
		"refresh_token": fmt.Sprintf("refresh-%d", s.serial),
		"expires_in":    28800, "scope": "user:inference user:profile",
	})
}

// valid passes on requests with the valid login.
func (s *accountService) valid(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		bad := ok && token != fmt.Sprintf("access-%d", s.serial)
		if bad {
			s.wrong = append(s.wrong, r.URL.Path+" with "+token)
		}
		s.mu.Unlock()
		if bad {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w,
				`{"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired"}}`)
			return
		}
		// Otherwise a server that begins its answer closes the request's body, perhaps before a proxy has seen its end,
		// and then the proxy cuts the answer.
		_ = http.NewResponseController(w).EnableFullDuplex()
		next.ServeHTTP(w, r)
	})
}

// listenAsProxy is an HTTP proxy on the loopback interface that poses as whatever host it is asked for. It returns its
// address and the certificate file that makes the CLI trust it.
func listenAsProxy(t *testing.T, h http.Handler, hosts ...string) (address, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "loopback"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: hosts, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	must(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	site := &http.Server{
		Handler: h, TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der},
			PrivateKey: key}}}, ReadHeaderTimeout: time.Minute,
	}
	outer, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	proxy := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tunnel(w, r, inner.Addr().String(), hosts)
		})}
	var all sync.WaitGroup
	all.Go(func() { _ = site.ServeTLS(inner, "", "") }) // ends with the server
	all.Go(func() { _ = proxy.Serve(outer) })
	t.Cleanup(func() { _ = site.Close(); _ = proxy.Close(); all.Wait() })
	return "http://" + outer.Addr().String(), authority
}

// tunnel connects a client with the site if it asks for one of these hosts.
func tunnel(w http.ResponseWriter, r *http.Request, site string, hosts []string) {
	host, _, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil ||
		!strings.Contains(" "+strings.Join(hosts, " ")+" ", " "+host+" ") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	there, err := net.Dial("tcp", site)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close() //nolint:errcheck // all bytes were copied
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close() //nolint:errcheck // all bytes were copied
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{here, there}, {there, here}} {
		go func() { _, _ = io.Copy(pair[0], pair[1]); done <- struct{}{} }()
	}
	<-done // the other one ends when both are closed
}

// When agents of several chats renew the login at the same time, one of them does, all continue, and the machine's user
// stays logged in: there is one login.
func TestChatsRenewTheLoginOfTheMachine(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		service := &accountService{}
		mux := http.NewServeMux()
		n := newTwoChats(t, command, func(c *claude.Config) {
			address, authority := listenAsProxy(t, mux, "platform.claude.com", "api.anthropic.com")
			c.Environ = append(without(without(c.Environ, "ANTHROPIC_BASE_URL"), "ANTHROPIC_API_KEY"),
				"HTTPS_PROXY="+address, "NODE_EXTRA_CA_CERTS="+authority)
			c.MaxProcesses = 4
		})
		model, err := url.Parse(n.model.URL())
		must(t, err)
		mux.HandleFunc("POST /v1/oauth/token", service.renew)
		mux.Handle("/", service.valid(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(model)
		}}))
		login := filepath.Join(n.home, ".claude", ".credentials.json")
		write(t, login, fmt.Sprintf(`{"claudeAiOauth":{"accessToken":"access-0","refreshToken":"refresh-0","expiresAt":%d,`+
			`"scopes":["user:inference","user:profile"],"subscriptionType":"max"},"mcpOAuth":{"x":"kept"}}`,
			time.Now().Add(-time.Hour).UnixMilli()))
		var all sync.WaitGroup
		for _, owner := range []string{"a", "b", "c"} {
			all.Go(func() {
				if a := n.turn(t.Context(), owner, fresh(), "我叫小明"); a.err != nil || a.result.Failure != "" ||
					a.text() == "" {
					t.Errorf("%s: %q, %+v, %v", owner, a.text(), a.result, a.err)
				}
			})
		}
		all.Wait()
		service.mu.Lock()
		defer service.mu.Unlock()
		if service.renewals != 1 {
			t.Errorf("%d renewals", service.renewals)
		}
		// A CLI that is suspended for ten seconds loses its lock, so another one's renewal may be refused. It then
		// finds the new login.
		t.Logf("refused: %q", service.wrong)
		data, err := os.ReadFile(login)
		must(t, err)
		if got := gjson.GetBytes(data, "claudeAiOauth.refreshToken").String(); got != fmt.Sprintf("refresh-%d",
			service.serial) || !gjson.GetBytes(data, "mcpOAuth.x").Exists() {
			t.Errorf("the machine's login is %s", data)
		}
		if after, err := os.Stat(login); err != nil || after.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", after, err)
		}
		for _, owner := range []string{"a", "b", "c"} {
			if _, err := os.Lstat(filepath.Join(n.folder(owner), ".credentials.json")); err == nil {
				t.Errorf("%s has a login of its own", owner)
			}
		}
	})
}
