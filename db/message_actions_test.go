package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Actions of agents are recorded once and take no seq of the conversation: search expects neighbors to have close
// numbers, and an import puts old messages in front.
func TestActionsAreNoMessages(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "one")).Turn
	now := time.Now().UTC().Truncate(time.Millisecond)
	action := func(use string, ended bool) db.RecordedAction {
		return db.RecordedAction{
			Action: db.Action{Use: use, Tool: "Bash", Ended: ended}, Key: oc, Turn: turn, Epoch: 1, Time: now,
		}
	}
	decided := action("t1", false)
	decided.Decision, decided.By = "allowed", chat.Actor{ID: "ou_1", Name: "小明"}
	for range 2 {
		list := []db.RecordedAction{action("t1", false), decided, action("t1", true)}
		if err := d.Messages().RecordActions(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	accept(t, d, say("om_2", "two"))
	old := db.Record{Kind: chat.Private, Message: chat.Message{
		Key: oc, ID: "om_0", Role: chat.User, Class: chat.Talk, Text: "zero", Time: time.UnixMilli(0),
	}}
	if n, err := d.Messages().Importer()(t.Context(), []db.Record{old}); err != nil || n != 1 {
		t.Fatalf("%d imported, %v", n, err)
	}
	seqs := map[string]int64{}
	var roles []chat.Role
	for r, err := range d.Messages().Export(t.Context(), oc) {
		if err != nil {
			t.Fatal(err)
		}
		seqs[r.ID] = r.Seq
		roles = append(roles, r.Role)
	}
	if len(seqs) != 6 || seqs["om_2"] != seqs["om_1"]+1 || seqs["om_0"] >= seqs["om_1"] {
		t.Errorf("numbers %v of %v", seqs, roles)
	}
	got, err := d.Messages().Decisions(t.Context(), oc, now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil || len(got) != 1 || got[0] != decided {
		t.Errorf("decisions %+v, %v", got, err)
	}
	if list, err := d.Messages().Decisions(t.Context(), chat.Key{}, now.Add(time.Hour),
		now.Add(2*time.Hour)); err != nil || len(list) != 0 {
		t.Errorf("later decisions %+v, %v", list, err)
	}
}

// However many actions there are, messages get into the index.
func TestActionsDoNotBlockTheIndex(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, say("om_1", "one")).Turn
	for i := range 30 {
		var list []db.RecordedAction
		for j := range 20 {
			list = append(list, db.RecordedAction{
				Action: db.Action{Use: fmt.Sprint(i, j), Tool: "Bash"}, Key: oc, Turn: turn, Epoch: 1, Time: time.Now(),
			})
		}
		if err := d.Messages().RecordActions(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	d.FillIndex(t)
	rows, err := d.Read(`SELECT (SELECT upto FROM indexed) - (SELECT id FROM messages WHERE message_id = 'om_1')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ahead int
	for rows.Next() {
		if err := rows.Scan(&ahead); err != nil {
			t.Fatal(err)
		}
	}
	if rows.Err() != nil || ahead < 300 {
		t.Errorf("the index lags by %d messages, %v", ahead, rows.Err())
	}
}

// Actions are kept as long as messages.
func TestOldActionsAreSwept(t *testing.T) {
	d := fresh(t)
	turn := accept(t, d, old("om_1", "one", 100*day)).Turn
	c := claim(t, d, "s-1")
	finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done})
	var list []db.RecordedAction
	for use, ago := range map[string]time.Duration{"old": 100 * day, "new": day} {
		a := db.RecordedAction{Action: db.Action{Use: use, Tool: "Bash"}, Key: oc, Turn: turn, Time: time.Now().Add(-ago)}
		decided := a
		decided.Decision = "allowed"
		list = append(list, a, decided)
	}
	if err := d.Messages().RecordActions(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	left := func() (uses []string) {
		for r, err := range d.Messages().Export(t.Context(), oc) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Role == chat.Tool || r.Role == chat.System {
				uses = append(uses, fmt.Sprint(r.Role, strings.Contains(r.Text, "old")))
			}
		}
		return uses
	}
	cfg := db.Defaults()
	if _, err := db.Sweep(t.Context(), d, cfg); err != nil || len(left()) != 4 {
		t.Fatalf("by default kept: %v, %v", left(), err)
	}
	cfg.HistoryTTL.Duration = 90 * day
	if s, err := db.Sweep(t.Context(), d, cfg); err != nil || s.Messages != 3 || len(left()) != 2 {
		t.Errorf("kept %v, swept %+v, %v", left(), s, err)
	}
}
