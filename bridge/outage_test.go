package bridge

import (
	"context"
	"errors"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/overheard"
	"magpie/db"
	"magpie/internal/chat"
)

// departed makes the people of a department be let in, and lets the platform fail to tell who they are.
func (l *bridgeRig) departed() *departments {
	s := &departments{of: map[string][]string{"ou_1": {"od_dev"}, "ou_2": {"od_dev"}}, err: errors.New("down")}
	l.remake(func(c *Config) {
		c.Access = access.Config{Owner: "ou_boss", Allow: []string{"od_dev"}}
		c.Departments, c.Waits.Departments = s, time.Minute
	})
	return s
}

// An edit is redelivered while its author's access is unknown.
func TestAnEditWaitsUntilItsAuthorIsKnown(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.abandonedTurn("om_1", "hello")
	s := l.departed()
	edited := incoming("om_1", "goodbye")
	if err := l.bridge.HandleEdit(t.Context(), edited); !errors.Is(err, s.err) {
		t.Fatalf("taken in as %v", err)
	}
	s.err = nil
	l.must(l.bridge.HandleEdit(t.Context(), edited))
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE content LIKE '%goodbye%'`); n != 1 {
		t.Errorf("%d messages say what was edited", n)
	}
}

// group tells what was said in a group since a time.
type group struct {
	said  []chat.Incoming
	since time.Time // that it was asked for last
}

func (g *group) ListMessages(_ context.Context, _ chat.Key, _ chat.Kind, since time.Time, _ int) ([]chat.Incoming,
	error) {
	g.since = since
	var list []chat.Incoming
	for _, m := range g.said {
		if m.Time.After(since) {
			list = append(list, m)
		}
	}
	return list, nil
}

// Messages of authors whose access is unknown are fetched again, from the same time on. Messages of others do not wait
// for them.
func TestWhatWasSaidWaitsUntilItsAuthorIsKnown(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	s := l.departed()
	began := time.Now().Add(-time.Hour)
	said := func(id, who string) chat.Incoming {
		return chat.Incoming{Key: room, Kind: chat.Group, ID: id, Text: id, Actor: chat.Actor{ID: who},
			Time: began.Add(time.Minute)}
	}
	g := &group{said: []chat.Incoming{said("om_boss", "ou_boss"), said("om_1", "ou_1")}}
	keep := func(text string) string { return text }
	b := overheard.New(g, l.store.DB, l.authorizer(), l.cfg().Context, time.Minute, keep)
	question := func(id string, at time.Time) db.Claim {
		q := said(id, "ou_boss")
		q.ToBot, q.Time = true, at
		got := l.accept(q)
		l.sql(`UPDATE turns SET state = 'done'`)
		return db.Claim{Turn: db.Turn{ID: got.Turn, Key: room}, Chat: db.Chat{Kind: chat.Group}}
	}
	recorded := func() int { return l.count(`SELECT COUNT(*) FROM messages WHERE class = 'overheard'`) }
	question("om_q1", began)
	b.Fetch(t.Context(), question("om_q2", time.Now()))()
	if n := recorded(); n != 1 {
		t.Fatalf("%d messages are known, want that of the owner", n)
	}
	s.err = nil // the next fetch does not wait, as it would after an error of the platform
	b.Fetch(t.Context(), question("om_q3", time.Now()))()
	if n := recorded(); n != 2 {
		t.Errorf("%d messages are known; asked for those since %v, want %v", n, g.since, began)
	}
	b.Fetch(t.Context(), question("om_q4", time.Now()))()
	if !g.since.After(began.Add(time.Minute)) {
		t.Errorf("asked again for what is known, since %v", g.since)
	}
}

// departments is a directory of people.
type departments struct {
	of  map[string][]string
	err error
}

func (s *departments) Departments(_ context.Context, user string) ([]string, error) {
	return s.of[user], s.err
}
