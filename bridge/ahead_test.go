package bridge

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// restartRig is a bridge that has answered a question in each of these chats, one after another, and was stopped.
func restartRig(t *testing.T, keys []chat.Key, change func(*claude.Config)) *bridgeRig {
	t.Helper()
	l := newRig(t, func(c *claude.Config) { c.MaxProcesses = 8 })
	l.start()
	for i, key := range keys {
		m := incoming("om_"+key.ID, "hello")
		m.Key, m.Time = key, time.Now().Add(time.Duration(i-len(keys))*time.Minute)
		l.receive(m)
		l.ended(convo.Done, i+1)
		_, err := l.store.Chats().MakeFolder(t.Context(), key, "")
		l.must(err)
	}
	l.stop()
	l.pool.Close()
	change(&l.config)
	l.pool = claude.NewPool(l.config)
	l.remake(func(*Config) {})
	return l
}

func someChats(ids ...string) (keys []chat.Key) {
	for _, id := range ids {
		keys = append(keys, chat.FeishuChat(id))
	}
	return keys
}

// After a restart the chats that spoke last have their processes, as many as there is room for, before anybody asks. A
// question elsewhere ends that of the chat that was silent for longest.
func TestTheChatsThatSpokeLastGetTheirProcesses(t *testing.T) {
	t.Parallel()
	keys := someChats("oc_first", "oc_second", "oc_third", "oc_last")
	l := restartRig(t, keys, func(c *claude.Config) { c.MaxProcesses = 4 })
	holds := func(want ...bool) func() bool {
		return func() bool {
			var got []bool
			for _, key := range keys {
				got = append(got, l.pool.Holds(key.String()))
			}
			return slices.Equal(got, want)
		}
	}
	l.start()
	l.until("processes of the last three", holds(false, true, true, true)) // one slot stays free
	// A process that is still starting is none that another question can end.
	l.until("all three waiting", func() bool { return l.pool.Stats().Idle == 3 })
	elsewhere := func(id string, done int) {
		m := incoming("om_"+id, "hello")
		m.Key = chat.FeishuChat(id)
		l.receive(m)
		l.ended(convo.Done, done)
	}
	elsewhere("oc_new", 5) // in the free slot
	elsewhere("oc_newer", 6)
	l.until("processes of the last two", holds(false, false, true, true))
	m := incoming("om_again", "hello")
	m.Key = keys[3]
	l.receive(m)
	l.ended(convo.Done, 7)
	if s := l.pool.Stats(); s.Started != 5 {
		t.Errorf("%d processes were started: not only the three and those of the new chats", s.Started)
	}
}

// No process is started for a chat whose session is gone, whose question waits, or whose project is gone; nobody hears of
// it. The next chat gets its process.
func TestAProcessThatCannotStartAgainIsNotMissed(t *testing.T) {
	t.Parallel()
	keys := someChats("oc_whole", "oc_lost", "oc_asked")
	l := restartRig(t, keys, func(*claude.Config) {})
	lost, err := l.store.Chats().Get(t.Context(), keys[1])
	l.must(err)
	path, err := l.config.Transcripts(keys[1].String()).Path(lost.Session.Cwd, lost.Session.ID)
	l.must(err)
	l.must(os.WriteFile(path, []byte("\x00\x00"), 0o600))
	m := incoming("om_waits", "hello")
	m.Key = keys[2]
	l.accept(m)
	free := l.takePlaces()
	_, said, _ := l.rec.SoFar()
	l.start()
	l.until("a process", func() bool { return l.pool.Stats().Idle == 1 })
	if s := l.pool.Stats(); s.Started != 1 || !l.pool.Holds(keys[0].String()) {
		t.Errorf("%+v", s)
	}
	if _, now, _ := l.rec.SoFar(); len(now) != len(said) {
		t.Errorf("people were told something: %+v", now[len(said):])
	}
	free()
	l.ended(convo.Done, 4)
	for line := range strings.Lines(l.logs.String()) {
		if strings.Contains(line, `"level":"error"`) {
			t.Error(line)
		}
	}
}

// Where no process waits for its chat's next message, none waits after a restart either.
func TestNoProcessStartsAgainWhereNoneIsKept(t *testing.T) {
	t.Parallel()
	l := restartRig(t, someChats("oc_1"), func(c *claude.Config) { c.KeepAlive.Duration = 0 })
	l.runner().ahead.restore(t.Context())
	if s := l.pool.Stats(); s.Started != 0 {
		t.Errorf("%+v", s)
	}
}
