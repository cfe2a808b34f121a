package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

const (
	private         = "我的邮箱是 bob@example.com，手机 138 1234 5678，密码：hunter2，卡号 4111-1111-1111-1111"
	privateRedacted = "我的邮箱是 [REDACTED_EMAIL]，手机 [REDACTED_PHONE]，密码：[REDACTED_SECRET]，卡号 [REDACTED_CC]"
)

// privateParts must not be stored.
var privateParts = []string{"bob@", "1234 5678", "hunter2", "1111-1111", "alice@", "13912345678", "carol@", "dave@"}

// With [redact] history no private data is stored in any table or sent to the agent. People see the answer unchanged.
func TestTheHistoryIsStoredRedacted(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Redact.History = true; c.Claude.KeepAlive.Duration = 0 })
	const answer = "记下了，抄送 alice@example.com，或打 13912345678。"
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text(answer)}})
	if got := r.ask(private); got != answer {
		t.Errorf("people see %q", got)
	}
	req := r.lastRequest()
	if got := req.LastUser(); got != privateRedacted {
		t.Errorf("the agent was asked %q", got)
	}
	r.ask("我叫小明")
	req = r.lastRequest()
	parsed, _, ok := readPrompt(req.LastUser())
	if !ok || len(parsed) != 2 || parsed[0].Text != privateRedacted ||
		parsed[1].Text != "记下了，抄送 [REDACTED_EMAIL]，或打 [REDACTED_PHONE]。" {
		t.Errorf("the history came back as %q", req.LastUser())
	}
	group := r.sim.Group("测试群", r.user)
	r.awaitReceived(r.sim.Say(group, r.user, "大家好，我是 carol@example.com"))
	r.answer(group, r.sim.Say(group, r.user, "/status dave@example.com", feishusim.Mention()))
	r.until("an empty outbox", func() bool { return r.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	for _, stored := range everythingStored(r) {
		for _, part := range privateParts {
			if strings.Contains(stored, part) {
				t.Errorf("stored: %s", stored)
			}
		}
	}
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE content LIKE '%[REDACTED_EMAIL]%'`); n != 4 {
		t.Errorf("%d messages are redacted, want the question, its answer, the overheard message and the command", n)
	}
}

// Without [redact] history the texts are stored unchanged.
func TestTheHistoryIsStoredUnredactedByDefault(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("好的 bob@example.com")}})
	r.ask(private)
	var got []string
	for m, err := range r.store().Messages().Range(t.Context(), chat.FeishuChat(r.chat), 0, 0, 1<<62) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Text)
	}
	if len(got) != 2 || got[0] != "好的 bob@example.com" || got[1] != private {
		t.Errorf("stored %q", got)
	}
}

// everythingStored is every row of every table of the rig's database.
func everythingStored(r *rig) []string {
	r.Helper()
	side := r.side()
	defer side.Close()
	names := column(r, side, dbtest.SelectTables())
	if len(names) < 5 {
		r.Fatalf("tables %q", names)
	}
	var rows []string
	for _, table := range names {
		rows = append(rows, column(r, side, fmt.Sprintf(`SELECT * FROM %q`, table))...)
	}
	return rows
}

// column is the result of a query with one column.
func column(r *rig, side *sql.DB, query string) (list []string) {
	r.Helper()
	rows, err := side.QueryContext(r.Context(), query)
	must(r, err)
	defer func() { must(r, errors.Join(rows.Err(), rows.Close())) }()
	columns, err := rows.Columns()
	must(r, err)
	values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		must(r, rows.Scan(into...))
		var parts []string
		for _, v := range values {
			parts = append(parts, string(v))
		}
		list = append(list, strings.Join(parts, "|"))
	}
	return list
}

// With [redact] history the actions of agents and the decisions about them are redacted, too: inputs of tools, results,
// and people's words.
func TestWhatAgentsDidIsStoredRedacted(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Redact.History = true })
	r.calls(bash("echo write to $(echo alice)@example.com, carol@example.com, 13912345678"),
		bash("rm -f dave@example.com"),
		modelsim.Text("完了"))
	id := r.sim.Say(r.chat, r.user, "动手吧")
	r.press(r.approval(r.chat, id, 1), doAllow)
	r.refuse(r.approval(r.chat, id, 2), "先问 bob@example.com")
	r.turnDone(r.chat, id)
	if !r.agentRead("alice@example.com") {
		t.Error("the agent did not get its tool's result")
	}
	const rows = `SELECT COUNT(*) FROM messages WHERE role IN ('tool', 'system')`
	if n := r.count(rows); n != 6 {
		t.Errorf("%d rows, want 2 tools that began and ended, and 2 decisions", n)
	}
	for _, part := range privateParts {
		if n := r.count(rows+` AND content LIKE ?1`, "%"+part+"%"); n != 0 {
			t.Errorf("%d rows hold %s", n, part)
		}
	}
	for part, want := range map[string]int{"[REDACTED_EMAIL]": 5, "[REDACTED_PHONE]": 3, "先问": 1} {
		if n := r.count(rows+` AND content LIKE ?1`, "%"+part+"%"); n < want {
			t.Errorf("%d rows contain %s, want %d", n, part, want)
		}
	}
	if out := r.output("audit", "--chat", r.chat); strings.Contains(out, "bob@") || strings.Contains(out, "carol@") ||
		!strings.Contains(out, "先问") {
		t.Errorf("the audit says %s", out)
	}
}
