package contextmgr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// managerOf is a manager with a chat of these messages, one every half an hour from 2026 on, by user and assistant in
// turns.
func managerOf(t *testing.T, mode Mode, texts ...string) (*Manager, chat.Key) {
	t.Helper()
	d := dbtest.New(t)
	key, list := chat.FeishuChat("oc_1"), make([]db.Record, len(texts))
	for i, text := range texts {
		list[i] = db.Record{Kind: chat.Private, Message: chat.Message{
			Key: key, ID: fmt.Sprint("om_", i), Role: []chat.Role{chat.User, chat.Assistant}[i%2], Class: chat.Talk,
			Text: text, Time: newYear.Add(time.Duration(i) * 30 * time.Minute),
		}}
	}
	if _, err := d.Messages().Importer()(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	cfg := Defaults()
	cfg.Mode, cfg.TimeZone = mode, "UTC"
	return New(d, cfg, zerolog.Nop()), key
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func asks(key chat.Key, text string, at time.Time) Request {
	return Request{
		Key: key, Kind: chat.Private, Turn: 1, Asked: []chat.Message{
			{Key: key, Role: chat.User, Class: chat.Talk, Text: text, Time: at},
		},
	}
}

func TestAQuestionAboutAntiquityIsNoError(t *testing.T) {
	m, key := managerOf(t, Hybrid, "恐龙灭绝", "是的")
	for _, text := range []string{"3000年前的恐龙是什么时候灭绝的", "dinosaurs 5000 years ago", "99999999999 天前的恐龙"} {
		if p := m.Build(t.Context(), asks(key, text, newYear.AddDate(0, 1, 0))); p.Unread != nil {
			t.Errorf("%q: the History could not be read", text)
		}
	}
}

// Without a session the agent only knows the prefix: retrieved messages must not shorten its recent part.
func TestRetrievalDoesNotShortenTheRecentPart(t *testing.T) {
	var steps []string
	for i := range 60 {
		steps = append(steps, fmt.Sprintf("Step %d: migrate postgres table number %d, %s", i, i,
			strings.Repeat("x", 40)))
	}
	plan := strings.Join(steps, "\n")
	texts := []string{"Please plan the postgres migration.", plan}
	for i := range 7 {
		texts = append(texts, fmt.Sprintf("other question %d %s", i, strings.Repeat("lorem ", 60)),
			fmt.Sprintf("other answer %d %s", i, strings.Repeat("ipsum ", 150)))
	}
	m, key := managerOf(t, Hybrid, texts...)
	p := m.Build(t.Context(), asks(key, "what is step 17 of the postgres migration?", newYear.Add(9*time.Hour)))
	if !strings.Contains(p.Text(), plan) {
		t.Errorf("the plan was truncated, with %d of %d tokens used", p.Stats.Tokens, m.cfg.MaxTokens)
	}
}

// A session that was full, or that was lost in an interrupted turn, is gone before the next turn. The prompt then has
// the History.
func TestResumeModeWithoutASessionHasTheHistory(t *testing.T) {
	m, key := managerOf(t, Resume, "my name is Ann", "hello Ann")
	if p := m.Build(t.Context(), asks(key, "what is my name?", newYear.Add(2*time.Hour))); len(p.History) == 0 {
		t.Errorf("the agent knows nothing: %q", p.Text())
	}
}

func TestAPastedLogIsReadQuickly(t *testing.T) {
	log := strings.Repeat("2026-05-04 12:00:01 ERROR request failed at 10.2.3.4\n", 20_000)
	began := time.Now()
	parseQuery(log, newYear, "zh")
	if took := time.Since(began); took > time.Minute { // far more than on a busy machine
		t.Errorf("%d KB took %v", len(log)>>10, took)
	}
}

// A chat counts as long at 0.8 of the window by estimate, and its summary is made from 0.7 of it: older messages would
// be in no prompt any more.
func TestAllOfALongChatReachesItsSummary(t *testing.T) {
	c := Defaults()
	c.Window = 20_000
	var msgs []chat.Message
	for tokens := 0; !c.NeedsCompaction(int64(tokens), 0); {
		m := chat.Message{
			Role: chat.User, Class: chat.Talk, Text: fmt.Sprintf("fact%03d. ", len(msgs)) +
				strings.Repeat("some words of it ", 40),
		}
		msgs, tokens = append(msgs, m), tokens+EstimateTokens(m.Text)
	}
	older := c.MessagesToSummarize(msgs)
	task := c.SummaryTask("en", chat.Private, Summary{}, older)
	missing := 0
	for i := range older {
		if !strings.Contains(task.Input, fmt.Sprintf("fact%03d.", i)) {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d messages are covered by the summary although its author does not see them",
			missing, len(older))
	}
}
