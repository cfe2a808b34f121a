package bridge

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"magpie/bridge/access"
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
	b := newOverheard(Config{Groups: g, Context: l.cfg().Context}, l.store.DB, l.authorizer())
	b.redact, b.wait = func(text string) string { return text }, time.Minute
	question := func(id string, at time.Time) db.Claim {
		q := said(id, "ou_boss")
		q.ToBot, q.Time = true, at
		got := l.accept(q)
		l.sql(`UPDATE turns SET state = 'done'`)
		return db.Claim{Turn: db.Turn{ID: got.Turn, Key: room}, Chat: db.Chat{Kind: chat.Group}}
	}
	recorded := func() int { return l.count(`SELECT COUNT(*) FROM messages WHERE class = 'overheard'`) }
	question("om_q1", began)
	b.fetchMissed(t.Context(), question("om_q2", time.Now()))()
	if n := recorded(); n != 1 {
		t.Fatalf("%d messages are known, want that of the owner", n)
	}
	if !b.retryAt.IsZero() {
		t.Error("other groups have to wait for it, too")
	}
	s.err = nil
	b.fetchMissed(t.Context(), question("om_q3", time.Now()))()
	if n := recorded(); n != 2 {
		t.Errorf("%d messages are known; asked for those since %v, want %v", n, g.since, began)
	}
	b.fetchMissed(t.Context(), question("om_q4", time.Now()))()
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

// With very many groups, those in which the bot was not addressed for longest are forgotten first.
func TestFullCachesOfGroupsKeepTheRecentOnes(t *testing.T) {
	t.Parallel()
	b := newOverheard(Config{}, nil, nil)
	group := func(i int) chat.Key { return chat.FeishuChat(fmt.Sprint("oc_", i)) }
	for i := range maxGroups + 1 {
		b.markComplete(group(i))
		b.markPending(group(i), time.Unix(int64(i), 0))
	}
	recent, oldest := group(maxGroups-1), group(0)
	if _, ok := b.asked.Peek(recent); !ok || !b.fetchSince(recent, time.Now()).Before(time.Now().Add(-time.Hour)) {
		t.Error("a group in which the bot was addressed recently is forgotten")
	}
	if b.asked.Contains(oldest) || b.pending.Contains(oldest) {
		t.Error("nothing is forgotten")
	}
}
