package bridge

import (
	"strings"
	"testing"
	"time"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// asksInTurn is a bridge whose running turn, asked for by ou_1, has a question of the agent. It returns the turn.
func asksInTurn(l *bridgeRig) (turn int64) {
	l.Helper()
	l.say("om_1", "hello")
	claim := l.claim(room)
	l.beginTurn(room, claim.Turn.ID, func(error) {})
	l.approvals().RequestDecision(l.Context(), claim, approval.Workspace{}, claude.ToolAsk{
		ID: "ask", Name: claude.QuestionTool, Input: []byte(`{"questions":[{"question":"Which color?","header":"Color"}]}`),
	}, func(claude.Decision) bool { return true })
	return claim.Turn.ID
}

// A message that was written before the agent asked answers nothing, however late it arrives, unless it quotes the
// question. The platform's clock counts, which may differ from this machine's.
func TestAMessageFromBeforeTheQuestionDoesNotAnswerIt(t *testing.T) {
	t.Parallel()
	const ahead = 10 * time.Minute // of the platform's clock
	l := newRig(t)
	l.remake(func(c *Config) { c.Age = func(m chat.Incoming) time.Duration { return time.Since(m.Time) + ahead } })
	turn := asksInTurn(l)
	l.open()
	list, err := l.store.Access().OpenApprovals(t.Context(), room)
	l.must(err)
	l.must(l.store.Outbox().SetCard(t.Context(), db.Post{Key: list[0].Key, Approval: list[0].ID}, "card"))
	asked := list[0].Created.Add(ahead)
	for name, tc := range map[string]struct {
		at     time.Time
		quotes bool
		want   int64
	}{
		"before":          {asked.Add(-time.Millisecond), false, 0},
		"before, a quote": {asked.Add(-time.Millisecond), true, turn},
		"after":           {asked.Add(time.Millisecond), false, turn},
	} {
		m := incoming("om_2", "green")
		m.Time = tc.at
		if tc.quotes {
			m.Files = []chat.File{{Number: 1, Kind: chat.Quote, Of: "card"}}
		}
		if got, err := l.receiver().answerTo(t.Context(), m); err != nil || got.Turn != tc.want {
			t.Errorf("%s: answers in turn %d, want %d, %v", name, got.Turn, tc.want, err)
		}
	}
}

// While the agent waits for a decision, /status says so: nothing else moves until somebody decides.
func TestTheStatusOfAChatThatWaitsForADecision(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	asksInTurn(l)
	for lang, want := range map[i18n.Lang][2]string{
		i18n.Chinese: {"**状态**：等待确认，请看聊天里的卡片\n", "**会话**：进行中"},
		i18n.English: {"**Status**: waiting for a decision, see the card in this chat\n", "**Session**: active"},
	} {
		got, err := l.commandSet().status(t.Context(), invocation{chat: db.Chat{Key: room}, lang: lang})
		if l.must(err); !strings.Contains(got.reply, want[0]) || !strings.Contains(got.reply, want[1]) {
			t.Errorf("%q, want %q", got.reply, want)
		}
	}
}
