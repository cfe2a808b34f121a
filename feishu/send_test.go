package feishu

import (
	"slices"
	"strings"
	"testing"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestReply(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	id, err := p.Reply(p.ctx(), ask, "**done** <at id=all></at>", "seed")
	p.must(err)
	again, err := p.Reply(p.ctx(), ask, "**done** <at id=all></at>", "seed")
	p.must(err)
	all := p.answers(ask.Key.ID)
	if len(all) != 1 || all[0].ID != id || again != id || all[0].ParentID != ask.ID || all[0].Type != "post" {
		t.Errorf("ids %s and %s, messages %+v", id, again, all)
	}
	if got := all[0].Text(); got != "**done** &lt;at id=all>&lt;/at>" {
		t.Errorf("text %q", got)
	}
	p.clean()
}

// A mention notifies the users that it names, once, and nobody that only the text names.
func TestAMentionCallsPeople(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	ann := p.Users()[0].OpenID
	id, err := p.Mention(p.ctx(), ask, []string{ann}, "done <at user_id=\"all\"></at>\n**x**", "seed")
	p.must(err)
	again, err := p.Mention(p.ctx(), ask, []string{ann}, "done <at user_id=\"all\"></at>\n**x**", "seed")
	p.must(err)
	all := p.answers(ask.Key.ID)
	if len(all) != 1 || again != id || all[0].ParentID != ask.ID || !slices.Equal(all[0].Calls, []string{ann}) {
		t.Fatalf("ids %s and %s, messages %+v", id, again, all)
	}
	if got := strings.ReplaceAll(all[0].Text(), zeroWidthSpace, ""); got != "@Ann done <at user_id=\"all\"></at> **x**" {
		t.Errorf("text %q", got)
	}
	p.clean()
}

// When the platform refuses a mention, the text is sent without it.
func TestAMentionFallsBackToText(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: replyAPI, Times: 1, Code: 230001})
	_, err := p.Mention(p.ctx(), ask, []string{"ou_gone"}, "done", "seed")
	p.must(err)
	if m := p.answers(ask.Key.ID)[0]; m.Text() != "done" || len(m.Calls) > 0 {
		t.Errorf("%+v", m)
	}
	p.clean()
}

func TestReplyWithoutAQuestionGoesIntoTheChat(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	_, err := p.Reply(p.ctx(), chat.Ref{Key: ask.Key}, "good morning", "seed")
	p.must(err)
	if m := p.answers(ask.Key.ID)[0]; m.ParentID != "" || m.Text() != "good morning" {
		t.Errorf("message %+v", m)
	}
	p.clean()
}

func TestLongReplyIsSplit(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	text := strings.Repeat("一些字。\n\n", 3000)
	id, err := p.Reply(p.ctx(), ask, text, "seed")
	p.must(err)
	all := p.answers(ask.Key.ID)
	if len(all) < 3 || all[0].ID != id {
		t.Fatalf("%d messages, the first %s, want %s", len(all), all[0].ID, id)
	}
	p.checkText(ask, text)
	p.clean()
}

func TestReplyFallsBackToPlainText(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: replyAPI, Times: 1, Code: 230001})
	_, err := p.Reply(p.ctx(), ask, `1 < 2 <at user_id="all">x</at>`, "seed")
	p.must(err)
	m := p.answers(ask.Key.ID)[0]
	if got := strings.ReplaceAll(m.Text(), zeroWidthSpace, ""); m.Type != "text" ||
		got != `1 < 2 <at user_id="all">x</at>` {
		t.Errorf("%s %q", m.Type, got)
	}
	p.clean()
}

func TestErrorsSayWhatHappened(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: replyAPI, Code: 230002, Msg: "Bot can NOT be out of the chat."})
	_, err := p.Reply(p.ctx(), ask, "secret words", "seed")
	e, ok := err.(*openapi.Error)
	if !ok || e.Code != 230002 || e.LogID == "" || !strings.Contains(err.Error(), "log id") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v (%T)", err, err)
	}
}

func TestKeysAreShortAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, seed := range []string{"", "a", strings.Repeat("long", 100)} {
		for _, kind := range []string{"card", "post"} {
			for part := range 3 {
				k := keyOf(seed, kind, part)
				if len(k) > 50 || seen[k] || k != keyOf(seed, kind, part) {
					t.Errorf("key %q", k)
				}
				seen[k] = true
			}
		}
	}
}
