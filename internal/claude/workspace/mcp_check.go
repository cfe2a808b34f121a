package workspace

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// ErrServerLogin is why an MCP server cannot be checked: it asks for a login. That is the CLI's own, so agents may be
// able to use the server.
var ErrServerLogin = errors.New("the server asks for a login")

// ErrServerSlow means that an MCP server works, but that the first answer of a process does not wait until it has
// started.
var ErrServerSlow = errors.New("the server starts slowly")

// serverChecks is how many servers are checked at once.
const serverChecks = 4

// serverDefinition is how an MCP server is reached.
type serverDefinition struct {
	Type    string            `json:"type"` // empty = stdio
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Helper  string            `json:"headersHelper"` // a command that prints headers
}

// decodeServer decodes a definition, with the variables that it names replaced, as the CLI does.
func (e Environment) decodeServer(definition []byte) (d serverDefinition, err error) {
	if err := json.Unmarshal(definition, &d); err != nil {
		return d, err
	}
	d.Command, d.URL = e.expand(d.Command), e.expand(d.URL)
	for i, v := range d.Args {
		d.Args[i] = e.expand(v)
	}
	for _, list := range []map[string]string{d.Env, d.Headers} {
		for name, v := range list {
			list[name] = e.expand(v)
		}
	}
	return d, nil
}

var variableUse = regexp.MustCompile(`\$\{([^}]+)\}`)

// expand replaces ${NAME} and ${NAME:-default}. What has no value stays.
func (e Environment) expand(s string) string {
	return variableUse.ReplaceAllStringFunc(s, func(use string) string {
		name, standard, hasStandard := strings.Cut(use[2:len(use)-1], ":-")
		if v, ok := e[name]; ok {
			return v
		} else if hasStandard {
			return standard
		}
		return use
	})
}

// lookPath finds a program as a process in dir with this environment would.
func (e Environment) lookPath(program, dir string) (string, error) {
	if filepath.Base(program) != program {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return exec.LookPath(program)
	}
	for _, folder := range filepath.SplitList(e["PATH"]) {
		if path, err := exec.LookPath(filepath.Join(folder, program)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// configuredServer is a server by its name and its definition.
type configuredServer struct{ name, definition string }

// CheckServers connects to the MCP servers of agents that work in these folders, with the environment that the CLI
// gives them and for as long as it waits for them; to one that several have, once. It returns what is wrong, by name.
// Processes that it starts end with it.
func (c Config) CheckServers(ctx context.Context, dirs ...string) (failures map[string]error, err error) {
	a, err := NewAgent(c, "")
	if err != nil {
		return nil, err
	}
	a.folder = newFolder("", a.Env)
	dirOf := map[configuredServer]string{}
	err = a.User.RunAs(func() (err error) {
		for _, dir := range dirs {
			found, _, unread := a.servers(dir)
			err = errors.Join(err, unread)
			for name, definition := range found {
				s := configuredServer{name, string(definition)}
				dirOf[s] = cmp.Or(dirOf[s], dir)
			}
		}
		return err
	})
	failures = map[string]error{}
	var mu sync.Mutex
	var checks errgroup.Group
	checks.SetLimit(serverChecks)
	for s, dir := range dirOf {
		checks.Go(func() error {
			if err := a.checkServer(ctx, dir, []byte(s.definition)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures[s.name] = err
			}
			return nil
		})
	}
	return failures, errors.Join(err, checks.Wait())
}

// serverTime is the time in one of the variables of [serverTimes].
func (e Environment) serverTime(name string) time.Duration {
	if n, err := strconv.Atoi(e[name]); err == nil && n > 0 {
		return time.Duration(n) * time.Millisecond
	}
	return serverTimes[name]
}

// checkServer checks one server. Of a kind that only the CLI knows it finds nothing wrong.
func (a Agent) checkServer(ctx context.Context, dir string, definition []byte) error {
	d, err := a.Env.decodeServer(definition)
	if err != nil {
		return nil //nolint:nilerr // the CLI decides what it makes of that
	}
	limit, began := a.Env.serverTime(serverTimeout), time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case d.Command != "" && (d.Type == "" || d.Type == "stdio"):
		err = a.tryProcess(limited, dir, d)
	case d.Helper == "" && (d.Type == "http" || d.Type == "sse"):
		err = d.tryURL(limited, a.Env)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return i18n.Mistakef("%v 内没有应答", "no answer within %v", limit)
	}
	if err == nil && time.Since(began) > a.Env.serverTime(serverWait) {
		return ErrServerSlow
	}
	return err
}

// handshake begins a session with a server and ends it.
func handshake(ctx context.Context, t mcp.Transport) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "magpie", Version: "1"}, nil)
	// Not the newest version, with which another request comes before "initialize".
	session, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		return err
	}
	_ = session.Close() // the server may not end well, but it works
	return nil
}

// serverGrace is how long a server may take to end after its input, and what it has started after it.
const serverGrace = 1500 * time.Millisecond

// tryProcess starts a server and ends it, with all that it has started.
func (a Agent) tryProcess(ctx context.Context, dir string, d serverDefinition) error {
	program, err := a.Env.lookPath(d.Command, dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, d.Args...)
	cmd.Args[0], cmd.Dir, cmd.WaitDelay = d.Command, dir, serverGrace
	cmd.SysProcAttr = proctree.OwnGroup()
	a.User.SetCredential(cmd)
	errorOutput := &stream.TailBuffer{}
	output, written := io.Pipe()
	cmd.Stdout = &stream.LineWriter{Emit: func(line []byte) {
		if json.Valid(line) { // the CLI passes over anything else
			_, _ = written.Write(append(line, '\n'))
		}
	}}
	cmd.Stderr = errorOutput
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	env := append(a.Env.List(), "CLAUDE_PROJECT_DIR="+dir, "CLAUDECODE=1")
	for name, v := range d.Env {
		env = append(env, name+"="+v)
	}
	child := proctree.New(cmd, a.Config.Instance, "")
	if err := child.Start(env, wallAround(a, Spec{Dir: dir})); err != nil {
		return err
	}
	go func() {
		child.Wait()
		_ = written.Close()
		child.Close()
	}()
	err = handshake(ctx, &mcp.IOTransport{Reader: output, Writer: input})
	_, _ = input.Close(), output.Close()
	// A server that works ends by itself. One that has ended before it answered is awaited, to tell how.
	ended := child.WaitGone(ctx, serverGrace)
	child.Kill()
	<-child.Exited()
	if err != nil && ended {
		return EndOf(child.Err(), errorOutput.String())
	}
	return err
}

// EndOf says how a program has ended that was to go on, and the last line that it has written.
func EndOf(err error, output string) error {
	if err == nil {
		err = i18n.Mistakef("没有应答就结束了", "it ended without an answer")
	}
	line := text.SafeLine(output[strings.LastIndexByte(output, '\n')+1:])
	if line == "" {
		return err
	}
	return i18n.Mistakef("%v（%s）", "%v (%s)", err, line)
}

// tryURL connects to a server on the network.
func (d serverDefinition) tryURL(ctx context.Context, env Environment) error {
	to, err := url.Parse(d.URL)
	if err != nil {
		return i18n.Mistakef("网址不正确", "its URL is not valid") // without the URL, which may hold a secret
	}
	network := http.DefaultTransport.(*http.Transport).Clone()
	network.TLSClientConfig = &tls.Config{RootCAs: env.authorities()}
	defer network.CloseIdleConnections()
	requests := &serverRequests{network: network, host: to.Host, headers: d.Headers}
	client := &http.Client{Transport: requests}
	var t mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: d.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	if d.Type == "sse" {
		t = &mcp.SSEClientTransport{Endpoint: d.URL, HTTPClient: client}
	}
	if err := handshake(ctx, t); err != nil {
		return cmp.Or(requests.failure(), err)
	}
	return nil
}

// authorities are the system's certificate authorities and those that the CLI is told to trust; nil = the system's.
func (e Environment) authorities() *x509.CertPool {
	data, err := os.ReadFile(e["NODE_EXTRA_CA_CERTS"])
	if err != nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil
	}
	pool.AppendCertsFromPEM(data)
	return pool
}

// serverRequests makes the requests to a server, with its headers, and notes why the first has failed: the errors of
// the protocol's client name the URL, which may hold a secret.
type serverRequests struct {
	network http.RoundTripper
	host    string // the headers are for it alone
	headers map[string]string

	mu     sync.Mutex
	failed error
}

// RoundTrip implements http.RoundTripper.
func (s *serverRequests) RoundTrip(req *http.Request) (*http.Response, error) {
	authorized := false
	if req.URL.Host == s.host {
		req = req.Clone(req.Context())
		for name, v := range s.headers {
			req.Header.Set(name, v)
		}
		authorized = req.Header.Get("Authorization") != ""
	}
	resp, err := s.network.RoundTrip(req)
	switch {
	case err != nil:
		s.fail(err)
	case resp.StatusCode == http.StatusUnauthorized && !authorized:
		s.fail(ErrServerLogin)
	case resp.StatusCode >= http.StatusBadRequest:
		s.fail(i18n.Mistakef("HTTP 状态 %d", "HTTP status %d", resp.StatusCode))
	}
	return resp, err
}

func (s *serverRequests) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cmp.Or(s.failed, err)
}

func (s *serverRequests) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
