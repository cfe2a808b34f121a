package relay

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var (
	room  = chat.FeishuChat("oc_1")
	other = chat.FeishuChat("oc_2")
)

// fakeBridge is what a relay hands events to.
type fakeBridge struct {
	door.Handler

	mu     sync.Mutex
	took   []string
	fails  map[string]error // by what is in took
	failed chan string
	came   chan string
}

func (b *fakeBridge) take(what string) error {
	b.mu.Lock()
	err := b.fails[what]
	if err == nil {
		b.took = append(b.took, what)
	}
	b.mu.Unlock()
	if err != nil {
		b.failed <- what
		return err
	}
	b.came <- what
	return nil
}

func (b *fakeBridge) HandleMessage(_ context.Context, m chat.Incoming) error {
	return b.take("message " + m.ID)
}
func (b *fakeBridge) HandleEdit(_ context.Context, m chat.Incoming) error {
	return b.take("edit " + m.ID)
}
func (b *fakeBridge) HandleRecall(_ context.Context, _ chat.Key, id string) error {
	return b.take("recall " + id)
}
func (b *fakeBridge) HandlePress(_ context.Context, p chat.Press) (string, error) {
	return "done", b.take("press " + p.ID)
}
func (b *fakeBridge) HandleMembership(_ context.Context, c chat.Change) error {
	return b.take("membership " + string(c.Did))
}
func (b *fakeBridge) HandleRead(_ context.Context, _ chat.Key, reader chat.Actor) {
	_ = b.take("read " + reader.ID)
}

func (b *fakeBridge) setFails(what string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails[what] = err
}

func (b *fakeBridge) list() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.took)
}

// await waits until b has taken something.
func (b *fakeBridge) await(t *testing.T, what string) {
	t.Helper()
	for {
		select {
		case got := <-b.came:
			if got == what {
				return
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s did not come; taken: %q", what, b.list())
		}
	}
}

// machines are several bridges of one database.
type machines struct {
	t      *testing.T
	path   string
	stores []*db.DB
	relays []*Relay
	bridge []*fakeBridge
}

// newMachines makes two bridges. The first one has the room.
func newMachines(t *testing.T) *machines {
	t.Helper()
	dbtest.OfPostgres(t)
	ms := &machines{t: t, path: dbtest.Create(t)}
	for n := range 2 {
		store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(ms.path), Node: string("ab"[n]), Data: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		b := &fakeBridge{fails: map[string]error{}, failed: make(chan string, 1000), came: make(chan string, 1000)}
		r, err := New(b, Config{
			Take: store.Place().Take, Queue: *store.Forwarded(), Secret: "secret",
			Log: zerolog.New(zerolog.NewTestWriter(t)),
		})
		if err != nil {
			t.Fatal(err)
		}
		r.pause = time.Millisecond
		ms.stores, ms.relays, ms.bridge = append(ms.stores, store), append(ms.relays, r), append(ms.bridge, b)
	}
	ms.take(0, room)
	return ms
}

// take gives a room to a bridge.
func (ms *machines) take(n int, key chat.Key) {
	ms.t.Helper()
	if mine, err := ms.stores[n].Place().Take(ms.t.Context(), key); err != nil || !mine {
		ms.t.Fatalf("the room is its own: %v, %v", mine, err)
	}
}

// run runs the relay of a bridge until it is stopped, or the test ends.
func (ms *machines) run(n int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { ms.relays[n].Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	ms.t.Cleanup(stop)
	return stop
}

func (ms *machines) must(err error) {
	ms.t.Helper()
	if err != nil {
		ms.t.Fatal(err)
	}
}

// say has a message arrive at a bridge.
func (ms *machines) say(n int, key chat.Key, id string) {
	ms.t.Helper()
	ms.must(ms.relays[n].HandleMessage(ms.t.Context(), chat.Incoming{Key: key, ID: id}))
}

// awaitEmpty waits until no event waits.
func (ms *machines) awaitEmpty() {
	ms.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		rooms, err := ms.relays[1].config.Queue.Rooms(ms.t.Context())
		ms.must(err)
		if len(rooms) == 0 {
			return
		}
		if time.Now().After(end) {
			ms.t.Fatalf("events of %v still wait", rooms)
		}
	}
}

func TestEventsGoToTheBridgeThatHasTheRoom(t *testing.T) {
	ms := newMachines(t)
	ms.run(0)
	ms.run(1)
	ctx, wrong := t.Context(), ms.relays[1]
	topic := room
	topic.Thread = "omt_1"
	ms.say(1, topic, "om_1")
	ms.must(wrong.HandleEdit(ctx, chat.Incoming{Key: topic, ID: "om_1"}))
	ms.must(wrong.HandleRecall(ctx, room, "om_1"))
	ms.must(wrong.HandleMembership(ctx, chat.Change{Key: room, Did: chat.Removed}))
	if toast, err := wrong.HandlePress(ctx, chat.Press{Key: room, ID: "p"}); toast != "" || err != nil {
		t.Errorf("toast %q, %v", toast, err)
	}
	wrong.HandleRead(ctx, room, chat.Actor{ID: "ou_1"})
	ms.bridge[0].await(t, "read ou_1")
	want := []string{"message om_1", "edit om_1", "recall om_1", "membership removed", "press p", "read ou_1"}
	if got := ms.bridge[0].list(); !reflect.DeepEqual(got, want) {
		t.Errorf("the owner took %q", got)
	}
	ms.say(1, other, "om_2") // nobody's yet
	if toast, err := wrong.HandlePress(ctx, chat.Press{Key: other, ID: "q"}); toast != "done" || err != nil {
		t.Errorf("toast %q, %v", toast, err)
	}
	if got := ms.bridge[1].list(); !reflect.DeepEqual(got, []string{"message om_2", "press q"}) {
		t.Errorf("the other bridge took %q", got)
	}
	ms.awaitEmpty()
	if n := len(ms.bridge[0].list()); n != len(want) {
		t.Errorf("the owner took %d events", n)
	}
}

// What somebody has written is not in the database as a text before the right bridge has seen it: it may be a code.
func TestACodeIsNotStored(t *testing.T) {
	ms := newMachines(t)
	const code = "abcdefghijklmnopqrstuvwxyz#abcdefghijklmnopqrstuvwxyz"
	ms.must(ms.relays[1].HandleMessage(t.Context(), chat.Incoming{Key: room, ID: "om_1", Text: code}))
	if content := dbtest.Content(t, ms.path); strings.Contains(content, code) || strings.Contains(content, fmt.Sprintf("%x", code)) {
		t.Error("a code is in the database")
	}
	to := &given{}
	ms.relays[0].Handler = to
	stop := ms.run(0)
	ms.awaitEmpty()
	stop()
	if m, ok := to.events[0].(chat.Incoming); len(to.events) != 1 || !ok || m.Text != code {
		t.Errorf("the bridge got %+v", to.events)
	}
}

// Whoever takes the room of a bridge that is gone handles what had arrived for it, and before what arrives later.
func TestTheNextBridgeHandlesWhatTheLastHasNot(t *testing.T) {
	ms := newMachines(t)
	for n := range 120 {
		ms.say(1, room, fmt.Sprint(n))
	}
	ms.must(ms.stores[0].Close())
	ms.say(1, room, "120") // it has the room now, and the others still wait
	ms.must(ms.relays[1].HandleEdit(t.Context(), chat.Incoming{Key: room, ID: "0"}))
	if toast, err := ms.relays[1].HandlePress(t.Context(), chat.Press{Key: room, ID: "p"}); toast != "done" || err != nil {
		t.Errorf("a press waited: %q, %v", toast, err)
	}
	ms.run(1)
	ms.awaitEmpty()
	var want []string
	for n := range 121 {
		want = append(want, fmt.Sprint("message ", n))
	}
	want = append([]string{"press p"}, append(want, "edit 0")...)
	if got := ms.bridge[1].list(); !reflect.DeepEqual(got, want) {
		t.Errorf("taken: %q", got)
	}
	ms.say(1, room, "direct")
	if got := ms.bridge[1].list(); got[len(got)-1] != "message direct" {
		t.Errorf("with nothing waiting, a message waited")
	}
}

// A bridge that has crashed keeps its rooms until it is declared dead. Then another one handles what has arrived meanwhile.
func TestTheNextBridgeHandlesWhatArrivedForADeadOne(t *testing.T) {
	ms := newMachines(t)
	ms.run(1)
	ms.say(1, room, "om_1")
	ms.say(1, other, "om_2") // has been handled by now, and the first one has not
	if got := ms.bridge[1].list(); !reflect.DeepEqual(got, []string{"message om_2"}) {
		t.Errorf("while the first one may live, the second took %q", got)
	}
	_, err := dbtest.Side(t, ms.path).ExecContext(t.Context(),
		`UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE name = 'a'`)
	ms.must(err)
	third, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(ms.path), Node: "c", PlaceTTL: 30 * time.Millisecond})
	ms.must(err)        // it ended the place of the first one
	defer third.Close() //nolint:errcheck // nothing to lose
	ms.bridge[1].await(t, "message om_1")
	ms.awaitEmpty()
}

// An event that fails is tried again. Its room waits for it, but not for long, and presses and other rooms do not.
func TestAnEventThatFails(t *testing.T) {
	ms := newMachines(t)
	owner := ms.bridge[0]
	ms.take(0, other)
	ms.relays[0].pause = 100 * time.Millisecond
	owner.setFails("message bad", errors.New("the database is away"))
	owner.setFails("message denied", fmt.Errorf("not here: %w", chat.ErrDenied))
	ms.say(1, room, "denied")
	ms.say(1, room, "bad")
	ms.say(1, room, "later")
	_, err := ms.relays[1].HandlePress(t.Context(), chat.Press{Key: room, ID: "p"})
	ms.must(err)
	ms.run(0)
	ms.say(1, other, "elsewhere")
	owner.await(t, "message elsewhere")
	owner.await(t, "message later")
	if got := owner.list(); slices.Index(got, "press p") > slices.Index(got, "message later") {
		t.Errorf("taken: %q", got)
	}
	tries := map[string]int{}
	for len(owner.failed) > 0 {
		tries[<-owner.failed]++
	}
	if tries["message bad"] <= keepsOrder || tries["message denied"] != 1 {
		t.Errorf("tries before the room went on: %v", tries)
	}
	owner.setFails("message bad", nil)
	ms.awaitEmpty()
	if got := owner.list(); got[len(got)-1] != "message bad" {
		t.Errorf("taken: %q", got)
	}
	if n := len(ms.relays[0].lanes); n > 2 {
		t.Errorf("%d rooms are remembered", n)
	}
}

// An event that has failed for so long that no platform would deliver it again is dropped.
func TestAnEventThatFailsForever(t *testing.T) {
	ms := newMachines(t)
	owner := ms.bridge[0]
	owner.setFails("message bad", errors.New("never"))
	ms.say(1, room, "bad")
	side := dbtest.Side(t, ms.path)
	_, err := side.ExecContext(t.Context(), `UPDATE forwarded SET arrived_at = arrived_at - interval '9 hours'`)
	ms.must(err)
	_, err = side.ExecContext(t.Context(), `INSERT INTO forwarded (room, kind, payload, arrived_at)
		SELECT room, 'press', payload, arrived_at FROM forwarded`) // not sealed as that
	ms.must(err)
	ms.run(0)
	ms.awaitEmpty()
	if n := len(owner.failed); n != leastTries {
		t.Errorf("%d tries", n)
	}
}

// A room that goes elsewhere while an event is handled takes the event with it, however often that happens.
func TestARoomGoesElsewhereMeanwhile(t *testing.T) {
	ms := newMachines(t)
	gone := fmt.Errorf("store it: %w", chat.ErrElsewhere)
	for _, what := range []string{"message om_1", "press p", "message om_2"} {
		ms.bridge[0].setFails(what, gone)
	}
	ms.say(1, room, "om_1")
	side := dbtest.Side(t, ms.path)
	_, err := side.ExecContext(t.Context(), `UPDATE forwarded SET arrived_at = arrived_at - interval '9 hours'`)
	ms.must(err)
	ms.relays[0].pause = 0
	stop := ms.run(0)
	for range leastTries + 1 {
		select {
		case <-ms.bridge[0].failed:
		case <-time.After(time.Minute):
			t.Fatal("the event is not tried again")
		}
		_, err := side.ExecContext(t.Context(), `NOTIFY forwarded`)
		ms.must(err)
	}
	stop()
	for len(ms.bridge[0].failed) > 0 {
		<-ms.bridge[0].failed
	}
	_, err = ms.relays[0].HandlePress(t.Context(), chat.Press{Key: room, ID: "p"})
	ms.must(err)
	ms.say(0, room, "om_2")
	if n := len(ms.bridge[0].failed); n != 1 {
		t.Errorf("%d events were handled at once", n)
	}
	ms.must(ms.stores[0].Close())
	ms.run(1)
	ms.awaitEmpty()
	want := []string{"message om_1", "press p", "message om_2"}
	if got := ms.bridge[1].list(); !reflect.DeepEqual(got, want) {
		t.Errorf("the next bridge took %q", got)
	}
}

// An event is answered where it came from, so only one bridge can answer a terminal.
func TestATerminalAtTheWrongBridge(t *testing.T) {
	ms := newMachines(t)
	in := chat.Incoming{Key: room, ID: "cli:1.1"}
	if err := ms.relays[1].HandleMessage(t.Context(), in); !errors.Is(err, chat.ErrElsewhere) {
		t.Errorf("%v", err)
	}
	ms.must(ms.relays[0].HandleMessage(t.Context(), in))
	ms.awaitEmpty()
}

// The log says how long a press takes from the wrong bridge to the one that has the room.
func TestAPressIsSoonAtTheRightBridge(t *testing.T) {
	ms := newMachines(t)
	ms.run(0)
	ms.run(1)
	var took []time.Duration
	for n := range 50 {
		id := fmt.Sprint(n)
		start := time.Now()
		_, err := ms.relays[1].HandlePress(t.Context(), chat.Press{Key: room, ID: id})
		ms.must(err)
		ms.bridge[0].await(t, "press "+id)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("a press at the wrong bridge was handled after %v (median), %v (95 of 100)", took[25], took[47])
}
