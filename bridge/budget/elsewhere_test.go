package budget

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// What a user asks at another bridge counts as what he asks at this one.
func TestWhatRunsElsewhereCounts(t *testing.T) {
	dbtest.OfPostgres(t)
	t.Parallel()
	path := dbtest.Create(t)
	open := func(node string) *db.DB {
		d, err := db.Open(t.Context(), db.Config{
			URL: dbtest.URL(path), Node: node, Data: filepath.Join(t.TempDir(), node), Verify: true})
		must(t, err)
		return d
	}
	here, there := open("here"), open("there")
	defer func() { must(t, errors.Join(here.Close(), there.Close())) }()
	p := New(nil, here.Access(), time.UTC, zerolog.Nop())
	p.Store(&Limits{TurnUSD: 1, UserDayUSD: 1})
	check := func() error {
		return p.Check(t.Context(), db.Claim{Turn: db.Turn{ID: 1000, Key: chat.FeishuChat("oc_9")},
			Asked: []chat.Message{{Actor: chat.Actor{ID: "feishu:ou_1"}}}})
	}
	must(t, check())
	p.Release(1000)
	_, err := there.Messages().Accept(t.Context(), db.Inbound{Incoming: chat.Incoming{
		Key: room, ID: "om_1", Text: "q", Time: time.Now(), Actor: chat.Actor{ID: "feishu:ou_1"}, Kind: chat.Private}, Class: chat.Talk})
	must(t, err)
	_, err = there.Turns().Claim(t.Context(), room, db.Start{Session: "s"})
	must(t, err)
	if err := check(); !errors.As(err, new(*SpentError)) {
		t.Errorf("beside an answer that may use up the limit: %v", err)
	}
}
