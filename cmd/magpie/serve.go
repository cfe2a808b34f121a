package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"magpie/bridge"
	"magpie/db"
	"magpie/feishu"
	"magpie/internal/claude"
)

type serveCmd struct {
	Config string `help:"The configuration file. Looked for in the working folder, then the user's and the system's configuration folder." type:"path" placeholder:"magpie.toml"`
}

// Run runs the bridge until ctx is done.
func (s serveCmd) Run(ctx context.Context) error {
	c, err := loadConfig(s.Config, os.Environ())
	if err != nil {
		return err
	}
	p, err := newProgram(ctx, c, newLog(os.Stderr, c.Log), nil)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

func newLog(w io.Writer, c logConfig) zerolog.Logger {
	if c.Format == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly}
	}
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // validate has refused any other
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// program is the bridge with all its parts. The playground and tests build the same one.
type program struct {
	cfg    config
	log    zerolog.Logger
	store  *db.DB
	pool   *claude.Pool
	client *feishu.Client
	bridge *bridge.Bridge
}

// newProgram builds the program; run starts it. observe is told of every context that is built, and may be nil.
func newProgram(ctx context.Context, c config, log zerolog.Logger, observe func(bridge.Built)) (*program, error) {
	node, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this machine: %w", err)
	}
	store, err := db.Open(ctx, c.DB)
	if err != nil {
		return nil, err
	}
	p := &program{cfg: c, log: log, store: store, pool: claude.NewPool(c.Claude), client: feishu.New(c.Feishu, log)}
	p.bridge = bridge.New(bridge.Config{
		Access: c.Access, Project: c.Claude.Project, PermissionMode: c.Claude.PermissionMode, Node: node, Context: c.Context, Observe: observe,
	}, store, p.pool, p.client, log)
	return p, nil
}

// run runs the program until ctx is done, and takes it down.
func (p *program) run(ctx context.Context) error {
	if p.cfg.Access.Unset() {
		p.log.Warn().Msg("[access] names nobody: write to the bot, and it tells you the user id (ou_...) to set as owner")
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.bridge.Run(ctx) })
	g.Go(func() error { return p.client.Run(ctx, p.bridge) })
	if p.cfg.HTTP.Listen != "" {
		g.Go(func() error { return serveHealth(ctx, p.cfg.HTTP.Listen, p.client) })
	}
	p.log.Info().Str("version", version()).Msg("magpie is running")
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	var managed sync.WaitGroup
	managed.Go(func() { newManager(p.probe, p.client.Status, p.log).run(alive, ctx.Done()) })
	err := g.Wait()
	p.pool.Close()
	die()
	managed.Wait()
	err = errors.Join(err, p.store.Close())
	p.log.Info().Err(err).Msg("magpie has stopped")
	return err
}

// probe reports whether the store still takes writes. No turn has the id 0, so nothing is changed.
func (p *program) probe(ctx context.Context) error { return p.store.RequeueTurn(ctx, 0) }

// serveHealth answers GET /healthz with how the connection to the platform stands.
func serveHealth(ctx context.Context, addr string, client *feishu.Client) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		st := client.Status()
		if !st.Connected {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "{\"feishu_connected\":%t,\"since\":%q}\n", st.Connected, st.Since.Format(time.RFC3339))
	})
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("[http] listen: %w", err)
	}
	return serveHTTP(ctx, ln, mux)
}

// serveHTTP serves until ctx is done.
func serveHTTP(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() }) // a stream would keep a graceful shutdown waiting
	defer stop()
	if err := srv.Serve(ln); ctx.Err() == nil {
		return err
	}
	return nil
}
