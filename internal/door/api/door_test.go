package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
)

// A terminal that is not connected is expected back for a while, also after a restart of the service. What is asked of no
// terminal can be decided by any.
func TestWhoCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hub
		began := time.Now()
		key := chat.Key{Channel: chat.Terminal, Kind: "chat", ID: "main"}
		a, b := watcher{key, uuid.NewString()}, watcher{key, uuid.NewString()}
		is := func(what string, w watcher, want error) {
			t.Helper()
			if err := h.reaches(w, began); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		is("who has not come back yet", a, errNobody)
		time.Sleep(grace + 1)
		is("who has not come back", a, chat.ErrUnreachable)
		_, leave := h.watch(key, a.terminal)
		_, other := h.watch(key, b.terminal)
		is("who is there", a, nil)
		leave()
		is("who has just gone", a, errNobody)
		is("another", b, nil)
		is("any", watcher{key: key}, nil)
		time.Sleep(grace + 1)
		is("who has gone", a, chat.ErrUnreachable)
		is("another", b, nil)
		other()
		is("any", watcher{key: key}, errNobody)
		if len(h.left) != 2 {
			t.Errorf("kept is %v", h.left)
		}
		time.Sleep(grace + 1)
		is("any", watcher{key: key}, chat.ErrUnreachable)
	})
}

// onlyConn is a listener with one connection.
type onlyConn chan net.Conn

func (l onlyConn) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l onlyConn) Close() error { return nil }

func (l onlyConn) Addr() net.Addr { return &net.TCPAddr{} }

// A request that takes long to arrive, and its answer long to find, is answered: whoever had no answer would ask again.
func TestASlowRequestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &http.Server{ReadTimeout: time.Second, WriteTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := readBody(w, r)
			time.Sleep(2 * readLimit)
			_, _ = fmt.Fprint(w, len(data), err, r.Context().Err())
		})}
		conns := make(onlyConn, 1)
		go func() { _ = srv.Serve(conns) }()
		client, server := net.Pipe()
		conns <- server
		_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
		if err == nil {
			time.Sleep(readLimit / 2)
			_, err = io.WriteString(client, "cd")
		}
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "4 <nil> <nil>" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		close(conns)
		_ = srv.Close()
	})
}
