// Package pgtest starts PostgreSQL servers for tests: one that all tests of a run share, see pgrun, and one of its own
// for a test that stops it, kills it or configures it otherwise. Nothing of a server is left when the test ends, nor
// when the process of the test is killed.
//
// What is stored in a server, and how a program finds it, is up to the tests; package dbtest makes their databases.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Variable is the environment variable with the URL of the server that the tests of a run share.
const Variable = "MAGPIE_TEST_POSTGRES"

// patience is how long a server may take to start, which includes the recovery of hundreds of databases after
// [Server.Kill], and to stop.
const patience = 3 * time.Minute

// Config is how a server differs from what most tests use.
type Config struct {
	// InitDB are the arguments of initdb that choose the locale of databases. By default texts are in Chinese order, which
	// is not that of their bytes.
	InitDB []string

	// Settings are lines of postgresql.conf.
	Settings []string

	// Access are the lines of pg_hba.conf. By default whoever reaches the server is whom he says he is.
	Access []string

	// TLS gives the server a certificate for 127.0.0.1, see [Server.Certificate].
	TLS bool
}

// Server is a PostgreSQL server. Its methods are for one goroutine.
type Server struct {
	cluster
	process *process // nil: it is stopped
}

// Start starts a server that ends with the test, which is skipped if PostgreSQL is not installed.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), c)
	if errors.Is(err, errNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Open starts a server outside of a test. Close must be called.
func Open(ctx context.Context, c Config) (s *Server, err error) {
	cluster, err := newCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	s = &Server{cluster: *cluster}
	// Somebody else may have taken the port since it was found free.
	for range 5 {
		if s.port, err = freePort(); err != nil {
			break
		}
		if err = s.Start(ctx); err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// freePort finds a port that nobody listens at. It is below those that the kernel gives to clients: a client that looks
// for a stopped server at such a port may be connected with itself.
func freePort() (port int, err error) {
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

// URL is the URL of a database of the server, of which postgres exists from the start. Its role may do anything.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(superuser), Host: fmt.Sprintf("127.0.0.1:%d", s.port), Path: "/" + database,
		RawQuery: url.Values{"sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// Configure appends lines to postgresql.conf, for the next start.
func (s *Server) Configure(lines ...string) error { return s.appendTo("postgresql.conf", lines) }

// Start starts a server that is stopped, and returns when it takes connections.
func (s *Server) Start(ctx context.Context) error {
	if s.process != nil {
		return errors.New("start PostgreSQL: it is running")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := s.run()
	if err != nil {
		return err
	}
	if err := p.untilReady(ctx); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w\n%s", err, s.log()), p.kill())
	}
	s.process = p
	return nil
}

// Stop ends all connections and stops the server, with nothing left to recover.
func (s *Server) Stop() error { return s.end((*process).stop) }

// Kill kills all processes of the server at once, as a loss of power would, but for what the kernel still writes.
func (s *Server) Kill() error { return s.end((*process).kill) }

// Freeze keeps the server from doing anything until [Server.Thaw]: connections stay open, and nobody answers.
func (s *Server) Freeze() error { return s.signal(syscall.SIGSTOP) }

// Thaw is the end of [Server.Freeze].
func (s *Server) Thaw() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) error {
	if s.process == nil {
		return errors.New("PostgreSQL is not running")
	}
	return s.process.signal(sig)
}

func (s *Server) end(how func(*process) error) error {
	if s.process == nil {
		return errors.New("PostgreSQL is not running")
	}
	err := how(s.process)
	s.process = nil
	return err
}

// Close ends the server and removes all that it has made.
func (s *Server) Close() error {
	var err error
	if s.process != nil {
		err = s.Kill()
	}
	return errors.Join(err, s.forgetMemory(), os.RemoveAll(s.folder))
}

// log is the end of what the server has logged.
func (s *Server) log() string {
	data, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
