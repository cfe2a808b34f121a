package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// version35 is a database as the program has left it that decided by statements, with what a statement adds.
func version35(t *testing.T, statement string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "magpie.db")
	raw, err := sql.Open("sqlite3", "file:"+version31(t, ""))
	must(t, err)
	schema, err := fs.Sub(db.Schema(), "schema")
	must(t, err)
	migrations, err := goose.NewProvider(goose.DialectSQLite3, raw, schema)
	must(t, err)
	_, err = migrations.UpTo(t.Context(), 35)
	must(t, err)
	_, err = raw.ExecContext(t.Context(), statement)
	must(t, err)
	_, err = raw.ExecContext(t.Context(), `VACUUM INTO ?1`, path)
	must(t, errors.Join(err, raw.Close()))
	return path
}

// kindsOfTurns are the rows that a chat can be left with: one chat for each kind.
var kindsOfTurns = []string{
	"merged", "steered", "late", "interrupted", "goes on", "dropped", "follow-up", "asks", "decided", "stopped",
	"recalled", "postponed", "ended conversation",
}

func upgradedKey(kind string) chat.Key {
	return chat.FeishuChat("oc_" + strings.ReplaceAll(kind, " ", "_"))
}

// turnsOfVersion35 are those rows. A message of the chat c has the ID c.seq.
func turnsOfVersion35() string {
	var s strings.Builder
	for i, kind := range kindsOfTurns {
		fmt.Fprintf(&s, "INSERT INTO chats (no, key, kind, next_seq, epoch) VALUES (%d, '%v', 'p2p', 9, %d);\n", i+1,
			upgradedKey(kind), map[bool]int{true: 1}[kind == "ended conversation"])
	}
	turn := func(kind string, id int, columns, values string) {
		fmt.Fprintf(&s, "INSERT INTO turns (id, chat_key, epoch, created_at, reply_to, %s) VALUES (%d, '%v', 0, 1, 'om', %s);\n",
			columns, id, upgradedKey(kind), values)
	}
	// questions are seq:state, the state may be empty
	asks := func(kind string, turn int, questions ...string) {
		for _, q := range questions {
			seq, state, _ := strings.Cut(q, ":")
			fmt.Fprintf(&s, `INSERT INTO messages (chat_key, seq, epoch, turn_id, message_id, role, class, actor_id, content,
				sent_at, state) VALUES ('%v', %s, 0, %d, 'om_%d.%[2]s', 'user', 'talk', 'ou_1', 'q%[2]s', %[2]s, '%[5]s');`+"\n",
				upgradedKey(kind), seq, turn, turn, state)
		}
	}
	steer := func(kind string, turn, seq, read int) {
		fmt.Fprintf(&s, "INSERT INTO steers VALUES (%d, '%v', %d, 'p%[3]d', %d);\n", turn, upgradedKey(kind), seq, read)
	}
	approval := func(kind, id string, turn int, state string) {
		a := db.Approval{Tool: "Bash", Input: []byte("{}")}
		fmt.Fprintf(&s, `INSERT INTO approvals (id, chat_key, turn_id, needed_by, tool, input, hash, project, askers, state,
			created_at, expires_at) VALUES ('%s', '%v', %d, %[3]d, 'Bash', '{}', '%[4]s', '', '[]', '%[5]s', 1, 9);`+"\n",
			id, upgradedKey(kind), turn, a.Hash(), state)
	}
	const ran = `state, attempts, started_at, session_id, prompt_id`
	turn("merged", 1, `state`, `'queued'`)
	asks("merged", 1, "1", "2")
	turn("steered", 2, ran, `'running', 1, 5, 's2', 'p'`)
	asks("steered", 2, "1", "2", "3")
	steer("steered", 2, 2, 1)
	steer("steered", 2, 3, 0)
	turn("late", 3, `state, failure`, `'interrupted', 'late'`)
	asks("late", 3, "1")
	turn("interrupted", 4, ran+`, failure, acted`, `'interrupted', 1, 5, 's4', 'p', 'crash', 1`)
	asks("interrupted", 4, "1", "2", "3")
	steer("interrupted", 4, 2, 1)
	steer("interrupted", 4, 3, 0)
	turn("goes on", 5, ran+`, failure, acted`, `'interrupted', 1, 5, 's5', 'p', 'continued', 1`)
	asks("goes on", 5, "1:recalled", "2")
	turn("goes on", 6, `state, continues`, `'queued', 5`)
	asks("goes on", 6, "3")
	turn("dropped", 7, ran+`, failure`, `'interrupted', 1, 5, 's7', 'p', 'dropped'`)
	asks("dropped", 7, "1", "2")
	steer("dropped", 7, 2, 0)
	turn("follow-up", 8, ran, `'done', 1, 5, 's8', 'p'`)
	asks("follow-up", 8, "1")
	turn("follow-up", 9, `state, session_id, follows`, `'running', 's8', 8`)
	turn("asks", 10, ran, `'interrupted', 1, 5, 's10', 'p'`)
	asks("asks", 10, "1")
	approval("asks", "waits", 10, "waiting")
	turn("decided", 11, ran, `'interrupted', 1, 5, 's11', 'p'`)
	asks("decided", 11, "1")
	approval("decided", "allowed", 11, "approved")
	approval("decided", "denied", 11, "refused")
	turn("stopped", 12, ran+`, stopped, acted`, `'running', 1, 5, 's12', 'p', 1, 1`) // by a recall
	asks("stopped", 12, "1:recalled", "2")
	turn("recalled", 13, `state`, `'queued'`)
	asks("recalled", 13, "1:recalled", "2:edited", "3")
	turn("postponed", 14, `state, attempts, due_at`, `'queued', 1, 99`)
	asks("postponed", 14, "1", "2")
	steer("postponed", 14, 2, 0) // it was handed over before the turn was postponed
	turn("ended conversation", 15, ran, `'interrupted', 1, 5, 's15', 'p'`)
	asks("ended conversation", 15, "1")
	return s.String()
}

// brief is a chat in one line.
func brief(c convo.Chat) string {
	list := []string{}
	for _, t := range c.Turns {
		s := fmt.Sprintf("%d phase %d attempts %d stopped %d acted %t continues %d follows %d asks", t.ID, t.Phase, t.Attempts,
			t.Stopped, t.Acted, t.Continues, t.Follows)
		for _, q := range t.Asked {
			s += fmt.Sprintf(" %d", q.Seq)
		}
		for _, a := range t.Added {
			s += fmt.Sprintf(" +%d %t", a.Seq, a.Read)
		}
		for _, q := range t.Gone {
			s += fmt.Sprintf(" -%d", q.Seq)
		}
		if t.Continues != 0 {
			s += fmt.Sprintf(" after %d %t %t", len(t.Earlier.Left), t.Earlier.Gone, t.Earlier.Acted)
		}
		list = append(list, s)
	}
	for _, r := range c.Requests {
		list = append(list, fmt.Sprintf("%s %d %d", r.ID, r.NeededBy, r.Verdict))
	}
	return strings.Join(list, "; ")
}

// What an earlier program has left in a chat means the same today, and goes on.
func TestAChatGoesOnAfterAnUpgrade(t *testing.T) {
	dbtest.OfSQLite(t)
	d := open(t, version35(t, turnsOfVersion35()))
	for kind, want := range map[string]string{
		"merged":      "1 phase 1 attempts 0 stopped 0 acted false continues 0 follows 0 asks 1 2",
		"steered":     "2 phase 3 attempts 1 stopped 0 acted false continues 0 follows 0 asks 1 +2 true +3 false",
		"late":        "3 phase 4 attempts 0 stopped 0 acted false continues 0 follows 0 asks 1",
		"interrupted": "4 phase 5 attempts 1 stopped 0 acted true continues 0 follows 0 asks 1 +2 true +3 false",
		"goes on":     "6 phase 1 attempts 0 stopped 0 acted false continues 5 follows 0 asks 3 after 1 true true",
		"dropped":     "",
		"follow-up":   "9 phase 2 attempts 0 stopped 0 acted false continues 0 follows 8 asks",
		"asks":        "10 phase 5 attempts 1 stopped 0 acted false continues 0 follows 0 asks 1; waits 10 1",
		"decided": "11 phase 5 attempts 1 stopped 0 acted false continues 0 follows 0 asks 1; " +
			"allowed 11 2; denied 11 3",
		"stopped":            "12 phase 3 attempts 1 stopped 1 acted true continues 0 follows 0 asks 2 -1",
		"recalled":           "13 phase 1 attempts 0 stopped 0 acted false continues 0 follows 0 asks 3 -1",
		"postponed":          "14 phase 1 attempts 1 stopped 0 acted false continues 0 follows 0 asks 1 2",
		"ended conversation": "15 phase 5 attempts 1 stopped 0 acted false continues 0 follows 0 asks 1",
	} {
		c, err := d.Turns().Of(t.Context(), upgradedKey(kind))
		must(t, err)
		if got := brief(c); got != want {
			t.Errorf("%s:\n%s, not\n%s", kind, got, want)
		}
	}
	for _, kind := range kindsOfTurns {
		t.Run(kind, func(t *testing.T) { goesOn(t, d, kind) })
	}
}

// goesOn has happen in a chat what happens next there.
func goesOn(t *testing.T, d *db.DB, kind string) {
	t.Helper()
	key, ts := upgradedKey(kind), d.Turns()
	is := func(want string) {
		t.Helper()
		c, err := ts.Of(t.Context(), key)
		must(t, err)
		got := ""
		for _, turn := range c.Turns {
			got += fmt.Sprintf("%d:", turn.Phase)
			for _, q := range turn.Asked {
				got += fmt.Sprintf("%d ", q.Seq)
			}
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%s is left, not %s", got, want)
		}
	}
	ask := func(continues int64) {
		t.Helper()
		in := say("om_next", "next")
		in.Key, in.Continues = key, continues
		accept(t, d, in)
	}
	next := func(want string) db.Claim {
		t.Helper()
		c, err := d.Turns().Claim(t.Context(), key, startIn("s"))
		must(t, err)
		if got := texts(c.Asked); got != want {
			t.Errorf("asked %s, not %s", got, want)
		}
		return c
	}
	end := func(turn int64, state convo.Phase) {
		t.Helper()
		c, err := ts.Of(t.Context(), key)
		must(t, err)
		must(t, ts.Finish(t.Context(), db.TurnResult{
			Turn: db.Turn{ID: turn, Key: key, Epoch: c.Epoch}, State: state, Answer: "answer", Card: chat.Card{Body: "x"},
		}))
	}
	switch kind {
	case "merged":
		ask(0)
		end(next("u:q1 u:q2 u:next").Turn.ID, convo.Done)
		is("")
	case "steered":
		ask(0)
		end(2, convo.Done)
		is("1:3 9") // what was not read is asked with what waits
		end(next("u:q3 u:next").Turn.ID, convo.Done)
		is("")
	case "late":
		must(t, ts.Decide(t.Context(), db.Decision{Key: key, Turn: 3, Event: "e3", GoOn: true}))
		end(next("u:q1").Turn.ID, convo.Done)
	case "interrupted":
		ask(4)
		is("1:3 9")
		next("u:q3 u:next")
	case "goes on":
		end(next("u:q3").Turn.ID, convo.Done)
	case "dropped":
		ask(7)
		is("1:9")
	case "follow-up":
		f, err := ts.OpenFollowUp(t.Context(), key)
		must(t, err)
		_, err = ts.Happens(t.Context(), key, convo.Wakes{Turn: f.ID})
		must(t, err)
		end(next("u:q1").Turn.ID, convo.Done)
		is("")
	case "asks":
		a, err := d.Access().Approval(t.Context(), "waits")
		must(t, err)
		a.State = convo.Allowed
		must(t, d.Access().Settle(t.Context(), a, db.Settling{From: convo.Waiting, GoOn: &db.Decision{
			ContinueMessage: chat.Message{Key: key, ID: "continue:10", Role: chat.User, Class: chat.Talk, Text: "go on", Time: time.UnixMilli(20)},
		}}))
		c := next("u:go on")
		list, err := d.Access().OpenApprovals(t.Context(), key, c.Turn.ID)
		must(t, err)
		if len(list) != 1 || list[0].State != convo.Allowed {
			t.Errorf("decided: %+v", list)
		}
		told, err := ts.Happens(t.Context(), key, convo.Tells{ID: a.ID})
		must(t, err)
		if len(told) != 1 {
			t.Errorf("told: %+v", told)
		}
	case "decided":
		ask(11)
		c := next("u:next")
		list, err := d.Access().OpenApprovals(t.Context(), key, c.Turn.ID)
		must(t, err)
		if len(list) != 2 {
			t.Errorf("decided: %+v", list)
		}
	case "stopped":
		end(12, convo.Cancelled)
		is("") // what its agent may have acted upon is not asked again
	case "recalled":
		_, err := d.Messages().Recall(t.Context(), key, "om_13.3", chat.Card{Body: "over"})
		must(t, err)
		is("")
	case "postponed":
		_, err := ts.Happens(t.Context(), key, convo.Due{})
		must(t, err)
		end(next("u:q1 u:q2").Turn.ID, convo.Done)
		is("") // nothing is asked twice
	case "ended conversation":
		c, err := ts.Of(t.Context(), key)
		must(t, err)
		if list := c.In(convo.Late, convo.Interrupted); len(list) != 1 || list[0].ID != 15 {
			t.Errorf("of ended conversations: %+v", list)
		}
		must(t, ts.Decide(t.Context(), db.Decision{Key: key, Turn: 15, Event: "e15"}))
		is("")
	}
}
