// Package feishusim is a double of the Feishu/Lark open platform on the loopback interface: the HTTP API and the
// websocket long connection of one app in one tenant. It is strict where the platform is strict, records every rule
// that a client breaks, and can be made to fail in the ways the platform fails. Tests and the playground use it.
//
// Its knowledge of the platform comes from the documentation (open.feishu.cn/document) and from the source of the
// official SDK (github.com/larksuite/oapi-sdk-go/v3); comments name the page or file.
//
// It holds no expectations about the bridge. The page for using this platform is in console.
package feishusim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Server is the platform, with one app. Its parts are embedded for their exported methods.
type Server struct {
	*auth
	*records
	*faults
	*hub
	*world
	*eventSource
	*people
	*chatMembers
	*speech
	*console
	*registrations
	*httpServer

	cfg    Config
	notify *notifier
}

// Start starts a platform that listens on the loopback interface.
func Start(cfg Config) (*Server, error) {
	before, restored, err := load(cfg.Folder)
	if err != nil {
		return nil, err
	}
	if restored {
		cfg.AppID, cfg.AppSecret = before.AppID, before.AppSecret
	}
	cfg = cfg.withDefaults()
	ln, err := cfg.listen()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, notify: newNotifier()}
	s.records = &records{notify: s.notify}
	s.auth = newAuth(cfg)
	s.faults = &faults{}
	s.hub = newHub(cfg, s.auth, s.records, s.notify)
	s.world = newWorld(cfg, s.notify, s.records)
	s.eventSource = &eventSource{world: s.world, hub: s.hub}
	s.console = newConsole(cfg)
	s.people = &people{eventSource: s.eventSource, page: s.console, mentionsOnly: cfg.MentionsOnly}
	s.chatMembers = &chatMembers{eventSource: s.eventSource}
	s.speech = &speech{}
	if restored {
		if err := s.world.restore(before, cfg.Folder, cfg.StreamingTTL); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
		s.console.owner = before.Owner
	}
	s.registrations = newRegistrations(s.auth, s.console)
	s.httpServer = serve(ln, s.routes())
	return s, nil
}

// listen opens the listener. Only loopback is allowed: the double has no real access control.
func (c Config) listen() (net.Listener, error) {
	if c.Pipe != nil {
		return c.Pipe, nil
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// The address is checked after listening, because a host name may resolve to anything.
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen: %s is not a loopback address", c.Listen), ln.Close())
	}
	return ln, nil
}

// Close stops everything and waits until nothing is running. The records can still be read. The order matters: the hub
// closes the long connections, on which handlers wait.
func (s *Server) Close() error {
	err := s.httpServer.close()
	s.hub.close()
	s.httpServer.wait()
	s.world.close()
	return err
}

// routes builds the HTTP side.
func (s *Server) routes() http.Handler {
	limit := newLimiter()
	g := &gateway{
		limits: s.cfg.Limits, behind: s.cfg.ClockBehind, auth: s.auth, page: s.console, rec: s.records, faults: s.faults,
		limit: limit, onCard: make(map[string][]*cardCall),
	}
	im := &imAPI{world: s.world, push: s.push, limit: limit, limits: s.cfg.Limits, mentionsOnly: s.cfg.MentionsOnly}
	kit := &cardAPI{world: s.world, push: s.push, limit: limit, cfg: s.cfg}
	mux := http.NewServeMux()
	for _, group := range [][]route{
		s.auth.routes(), s.hub.routes(), im.routes(), kit.routes(),
		(&reactionAPI{world: s.world, push: s.push}).routes(),
		(&callbackAPI{world: s.world}).routes(),
		(&fileAPI{world: s.world, files: s.files}).routes(),
		(&chatAPI{world: s.world, page: s.console}).routes(),
		(&departmentAPI{world: s.world}).routes(),
		s.speech.routes(),
		s.console.routes(),
		s.registrations.routes(),
	} {
		for _, rt := range group {
			mux.HandleFunc(rt.pattern, g.handler(rt))
		}
	}
	// A client that calls an API that this double does not have gets the platform's 404 and a violation, so a test
	// cannot pass by accident.
	mux.HandleFunc("/", g.handler(route{pattern: "/", open: true, serve: servePathUnknown}))
	return mux
}

func servePathUnknown(_ http.ResponseWriter, q *request) reply {
	return reply{status: http.StatusNotFound, raw: []byte("404 page not found"), rule: RulePath,
		header: http.Header{"Content-Type": {"text/plain"}}}
}
