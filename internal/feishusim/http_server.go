package feishusim

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"magpie/internal/httpdrain"
)

// httpServer serves HTTP on a listener until it is closed.
type httpServer struct {
	host   string
	server *http.Server
	stop   context.CancelFunc  // ends the requests
	accept sync.WaitGroup      // the accept loop
	work   *httpdrain.Handlers // handlers in work
}

// serve starts a server.
func serve(ln net.Listener, h http.Handler) *httpServer {
	ctx, stop := context.WithCancel(context.Background())
	s := &httpServer{host: ln.Addr().String(), stop: stop, work: &httpdrain.Handlers{}}
	s.server = &http.Server{
		Handler:           s.work.Wrap(h),
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	s.accept.Go(func() { _ = s.server.Serve(ln) }) // ends with ErrServerClosed; an earlier end shows in every call
	return s
}

// URL returns the base of all HTTP APIs, http://127.0.0.1:<port>.
func (s *httpServer) URL() string { return "http://" + s.host }

// close closes the listener and ends the requests, except those whose connections were taken over. It does not wait.
func (s *httpServer) close() error {
	s.stop()
	return s.server.Close()
}

// wait waits until no request is being served.
func (s *httpServer) wait() {
	s.accept.Wait()
	s.work.Wait()
}
