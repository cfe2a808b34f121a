package forwarded_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/db/dbtest"
	"magpie/db/forwarded"
	"magpie/internal/chat"
	"magpie/internal/leaktest"
)

var room = chat.FeishuChat("oc_1")

func TestMain(m *testing.M) { leaktest.Main(m) }

func newQueue(t *testing.T) (_ forwarded.Queue, path string) {
	t.Helper()
	dbtest.OfPostgres(t)
	path = dbtest.Create(t)
	return *dbtest.Open(t, path).Forwarded(), path
}

func add(t *testing.T, q forwarded.Queue, key chat.Key, payload string) {
	t.Helper()
	if err := q.Add(t.Context(), key, "message", []byte(payload)); err != nil {
		t.Error(err)
	}
}

// content lists the events of a room.
func content(t *testing.T, q forwarded.Queue, room chat.Key) (list []forwarded.Event, text string) {
	t.Helper()
	list, err := q.Events(t.Context(), room, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, string(e.Payload))
	}
	return list, strings.Join(all, " ")
}

func TestAnEventIsKeptUntilItIsRemoved(t *testing.T) {
	q, _ := newQueue(t)
	topic, other := room, chat.FeishuChat("oc_2")
	topic.Thread = "omt_1"
	add(t, q, other, "x")
	add(t, q, room, "a")
	add(t, q, topic, "b")
	list, text := content(t, q, room)
	if text != "a b" || list[0].Kind != "message" || list[0].Age < 0 || list[0].Age > time.Hour {
		t.Errorf("%q, %+v", text, list)
	}
	if rooms, err := q.Rooms(t.Context()); err != nil || !slices.Equal(rooms, []chat.Key{other, room}) {
		t.Errorf("rooms %v, %v", rooms, err)
	}
	if later, err := q.Events(t.Context(), room, list[0].ID); err != nil || len(later) != 1 {
		t.Errorf("after the first: %+v, %v", later, err)
	}
	for _, e := range list {
		if has, err := q.Has(t.Context(), topic); err != nil || !has {
			t.Errorf("has %v, %v", has, err)
		}
		if err := q.Remove(t.Context(), room, e.ID); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := q.Has(t.Context(), topic); err != nil || has {
		t.Errorf("has %v, %v", has, err)
	}
	if rooms, err := q.Rooms(t.Context()); err != nil || !slices.Equal(rooms, []chat.Key{other}) {
		t.Errorf("rooms %v, %v", rooms, err)
	}
}

// Whoever has seen an event of a room has seen all earlier ones, although many bridges store some at the same time.
func TestNoEarlierEventAppearsLater(t *testing.T) {
	q, _ := newQueue(t)
	const writers, each = 8, 40
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range each {
				add(t, q, room, fmt.Sprintf("%d.%d", n, i))
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	var seen, last int64
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for {
			list, err := q.Events(t.Context(), room, last)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			for _, e := range list {
				seen, last = seen+1, e.ID
			}
		}
	}
	if seen != writers*each {
		t.Errorf("%d of %d events were seen", seen, writers*each)
	}
}

// A bridge that waits is told of a new event, also after its connection has ended.
func TestAWaitingBridgeIsTold(t *testing.T) {
	q, path := newQueue(t)
	ctx, stop := context.WithCancel(t.Context())
	heard, ended := make(chan struct{}, 100), make(chan struct{})
	go func() { q.Wait(ctx, func() { heard <- struct{}{} }); close(ended) }()
	<-heard // it is connected
	add(t, q, room, "a")
	<-heard
	var cut int
	err := dbtest.Side(t, path).QueryRowContext(ctx, `SELECT COUNT(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&cut)
	if err != nil || cut != 1 {
		t.Fatalf("%d connections, %v", cut, err)
	}
	<-heard // it is connected again, and may have missed something
	add(t, q, room, "b")
	<-heard
	stop()
	<-ended
}
