package feishu

import (
	"sync"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

func TestSlowNamesDoNotHoldMessagesUp(t *testing.T) {
	p := newPlatform(t, feishusim.Config{AckTimeout: nameTimeout * 8 / 10})
	p.Client = p.configured(Config{NameWait: nameWait})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Delay: time.Hour})
	p.Say(room, ann, "hello")
	if m := next(t, rec.messages); m.Actor.Name != "" {
		t.Errorf("name %q", m.Actor.Name)
	}
	p.await("acknowledged in time", func(v *feishusim.View) bool {
		return len(v.Deliveries()) == 1 && v.Deliveries()[0].AckCode == 200 && !v.Deliveries()[0].Late
	})
}

func TestNamesOfOthersComeFromMentions(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room := p.Group("team", ann, bob)
	p.run(rec)
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Code: 99991672})
	p.Say(room, ann, "ask him", feishusim.MentionUsers(bob))
	if m := next(t, rec.messages); m.Actor.Name != "" {
		t.Errorf("name %q", m.Actor.Name)
	}
	p.Say(room, bob, "yes?")
	if m := next(t, rec.messages); m.Actor.Name != "Bob" {
		t.Errorf("name %q", m.Actor.Name)
	}
	asked := 0
	for _, c := range p.Calls() {
		if c.Code == 99991672 {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the chat's members were asked for %d times", asked)
	}
}

func TestManyCallsShareOneToken(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	tokens := func() int {
		n := 0
		for _, c := range p.Calls() {
			if c.Path == "/open-apis/auth/v3/tenant_access_token/internal" {
				n++
			}
		}
		return n
	}
	ask := func() {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := p.whoAmI(p.ctx()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	ask()
	if n := tokens(); n != 1 {
		t.Errorf("%d tokens were asked for, want 1", n)
	}
	p.ExpireTokens()
	ask()
	if n := tokens(); n > 3 {
		t.Errorf("%d tokens were asked for, want 2 or so", n)
	}
}
