package feishu

import (
	"slices"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestStatesAreShownAsReactions(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	shows := func(want ...string) {
		t.Helper()
		m, _ := p.Message(ask.ID)
		if !slices.Equal(m.Reactions, want) {
			t.Errorf("the question shows %q, want %q", m.Reactions, want)
		}
	}
	signal := func(s chat.Reaction) {
		t.Helper()
		p.must(p.SetReaction(p.ctx(), ask, s))
	}
	signal(chat.Working)
	signal(chat.Working)
	shows("Typing")
	signal(chat.Finished)
	shows("DONE")
	signal(chat.Working)
	signal(chat.NoReaction)
	shows("DONE")
	signal(chat.NoReaction)

	p.React(ask.ID, p.Users()[0], "Typing")
	signal(chat.Working)
	p.Client = p.another() // does not know the reaction's ID
	signal(chat.Failed)
	shows("DONE", "Typing", "CrossMark")
	p.clean()
}

// A question that gets no other reaction, for example because it has too many, does not look unanswered.
func TestARefusedReactionLeavesNoOther(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.must(p.SetReaction(p.ctx(), ask, chat.Working))
	p.Inject(feishusim.Fault{Method: "POST", Path: "/open-apis/im/v1/messages/" + ask.ID + "/reactions", Code: 231011})
	if err := p.SetReaction(p.ctx(), ask, chat.Finished); err == nil {
		t.Error("the refusal is not reported")
	}
	if m, _ := p.Message(ask.ID); len(m.Reactions) != 0 {
		t.Errorf("the question shows %q", m.Reactions)
	}
}

func TestReactionsToWhatIsNoMessage(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	calls := len(p.Calls())
	p.must(p.SetReaction(p.ctx(), chat.Ref{Key: ask.Key, ID: "continue:7"}, chat.Working))
	if len(p.Calls()) != calls {
		t.Error("the platform was called")
	}
	p.Recall(ask.ID)
	if err := p.SetReaction(p.ctx(), ask, chat.Working); err == nil {
		t.Error("a recalled message got a reaction")
	}
	p.clean()
}
