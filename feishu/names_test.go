package feishu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/internal/feishusim"
)

func TestSlowNamesDoNotDelayMessages(t *testing.T) {
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
				if _, _, err := fetchBot(p.ctx(), p.api); err != nil {
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

// memberListCalls counts the calls that list the members of a chat.
func (p *platform) memberListCalls() (n int) {
	for _, c := range p.Calls() {
		if strings.HasSuffix(c.Path, "/members") {
			n++
		}
	}
	return n
}

// Somebody who joins after the members were listed and writes at once has a name: the members are listed once more.
func TestWhoJoinsLaterHasAName(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room := p.Group("team", ann)
	p.run(rec)
	p.Say(room, ann, "hello", feishusim.Mention())
	if m := next(t, rec.messages); m.Actor.Name != "Ann" {
		t.Errorf("name %q", m.Actor.Name)
	}
	p.Join(room, bob)
	for range 3 {
		p.Say(room, bob, "hello", feishusim.Mention())
		if m := next(t, rec.messages); m.Actor.Name != "Bob" {
			t.Errorf("name %q", m.Actor.Name)
		}
	}
	if n := p.memberListCalls(); n != 2 {
		t.Errorf("the members were asked for %d times", n)
	}
}

// Where names are not available, or where many people join, the members are not listed again for each of them.
func TestMembersAreNotAskedForAgainAndAgain(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.Group("team", ann)
	p.run(rec)
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Code: 99991672})
	for range 3 {
		p.Say(room, ann, "hello")
		next(t, rec.messages)
	}
	if n := p.memberListCalls(); n != 1 {
		t.Errorf("for one person the members were asked for %d times", n)
	}
	for i := range 20 {
		stranger := p.AddUser(fmt.Sprint("stranger ", i))
		p.Join(room, stranger)
		p.Say(room, stranger, "hello")
		next(t, rec.messages)
	}
	if n := p.memberListCalls(); n != 1+nameBurst {
		t.Errorf("the members were asked for %d times", n)
	}
}

// A name that arrives too late for a message is reported later, as is the name of somebody who has only joined.
func TestNamesComeLater(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.Client = p.configured(Config{NameWait: time.Nanosecond})
	ann, bob, rec := p.AddUser("Ann"), p.AddUser("Bob"), newRecorder()
	room := p.Group("team", ann)
	p.run(rec)
	p.Say(room, ann, "hello")
	next(t, rec.messages)
	if names := next(t, rec.names); names[ann.OpenID] != "Ann" {
		t.Errorf("names %q", names)
	}
	p.Join(room, bob)
	p.TellJoined(room, bob)
	if names := next(t, rec.names); len(names) != 1 || names[bob.OpenID] != "Bob" {
		t.Errorf("names %q", names)
	}
	p.Say(room, bob, "hello")
	if m := next(t, rec.messages); m.Actor.Name != "Bob" || p.memberListCalls() != 1 {
		t.Errorf("name %q, the members were asked for %d times", m.Actor.Name, p.memberListCalls())
	}
}

// A name that could not be stored is reported again with the next ones.
func TestNamesThatWereNotStoredAreReportedAgain(t *testing.T) {
	n := newNames(nil, 0)
	var told []map[string]string
	n.setListener(func(_ context.Context, names map[string]string) error {
		told = append(told, maps.Clone(names))
		if len(told) == 1 {
			return errors.New("disk full")
		}
		return nil
	})
	n.learn("ou_1", "Ann")
	n.publish(t.Context())
	n.learn("ou_1", "Anna")
	n.learn("ou_2", "Bob")
	n.publish(t.Context())
	n.learn("ou_2", "Bob") // unchanged
	n.publish(t.Context())
	if want := map[string]string{"ou_1": "Anna", "ou_2": "Bob"}; len(told) != 2 || !maps.Equal(told[1], want) {
		t.Errorf("told %q", told)
	}
}

// A full cache evicts the least recently used name, not all names.
func TestAFullCacheKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	n := newNames(nil, 0)
	for i := range maxPeople + 10 {
		n.learn(fmt.Sprint("ou_", i), "Ann")
		n.cached("ou_0") // stays in use
	}
	if n.cached("ou_0") == "" || n.cached("ou_1") != "" {
		t.Error("the cache does not evict the least recently used name")
	}
	if len(n.unpublished) > maxPeople {
		t.Errorf("%d names wait for the handler", len(n.unpublished))
	}
	groups := newTopicCache(messages{}, true, 0)
	for i := range maxGroups + 10 {
		groups.groups.Add(fmt.Sprint("oc_", i), modeTopics)
	}
	if m, err := groups.groupMode(t.Context(), "oc_10"); m != modeTopics || err != nil {
		t.Errorf("the mode of a recent group is %v, %v", m, err)
	}
}

// The author of a backfilled or quoted message has a name even where the app may not list members, and in private
// chats, which have no list of members.
func TestNamesWithoutAListOfMembers(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.Inject(feishusim.Fault{Path: "/open-apis/im/v1/chats/", Code: 99991672})
	ann, bob, h := p.AddUser("Ann"), p.AddUser("Bob"), newStoringHandler()
	group, private := p.Group("team", ann, bob), p.PrivateChat(bob)
	stop := p.start(p.Client, h)
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
	p.Say(group, ann, "one", feishusim.Mention())
	p.Say(private, bob, "two")
	h.await(p, 2)
	stop()
	missed := map[string]string{
		p.Say(group, ann, "three", feishusim.Mention()): "Ann", p.Say(private, bob, "four"): "Bob",
	}
	p.Client = p.another() // has an empty cache of names
	p.start(p.Client, h)
	h.await(p, 4)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.order[2:] {
		if m.Actor.Name != missed[m.ID] {
			t.Errorf("backfilled: %q is from %q", m.Text, m.Actor.Name)
		}
		quoted, err := p.another().FetchQuoted(p.ctx(), m.Key, m.ID)
		if err != nil || quoted.Actor.Name != missed[m.ID] {
			t.Errorf("quoted: %q is from %q, %v", m.Text, quoted.Actor.Name, err)
		}
	}
}
