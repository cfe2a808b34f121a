package bridge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// Codes that must not be found anywhere afterwards. The scripted CLI takes the first.
const (
	goodCode  = "good#scripted"
	wrongCode = "canary-not-this-one-please#canary-nor-this-part"
)

// newLogin is a line in which ou_1 is an admin, with a CLI that logs in as told.
func newLogin(t *testing.T, how string) *bridgeRig {
	l := newRig(t, func(c *claude.Config) { c.Env["MAGPIE_SCRIPTED_LOGIN"] = how })
	l.bridge.SetAccess(access.Config{Owner: "ou_1", Allow: []string{"ou_2"}})
	l.start()
	return l
}

// hears waits until the bot has said all of list, in whatever order: what is stored and what is not come each by a way
// of its own. It returns all that the bot has said since the last call.
func (l *bridgeRig) hears(list ...i18n.Phrase) (all []string) {
	l.Helper()
	for _, p := range list {
		l.until(p.EN, func() bool {
			all = append(all, l.rec.TakeSaid()...)
			return slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, head(p, i18n.Chinese)) })
		})
	}
	return all
}

// nowhere checks that a code was kept by nobody: not in the database, its log, or what was logged.
func (l *bridgeRig) nowhere(codes ...string) {
	l.Helper()
	all := l.logs.String() + dbtest.Content(l, l.store.Path)
	for _, code := range codes {
		for part := range strings.SplitSeq(code, "#") {
			if strings.Contains(all, code) || strings.HasPrefix(part, "canary") && strings.Contains(all, part) {
				l.Errorf("%q was kept", part)
			}
		}
	}
}

func TestLoginFromAChat(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.say("om_1", "/login")
	said := l.hears(i18n.LoginBegun, i18n.LoginLink)
	if !strings.Contains(strings.Join(said, " "), "https://claude.example/oauth/authorize?code=true&state=scripted") {
		t.Errorf("%q", said)
	}
	l.say("om_2", "/login") // a second one has to wait
	l.hears(i18n.LoginBusy)
	l.say("om_3", "canary-half-a-code")
	l.hears(i18n.LoginTaken, i18n.LoginAgain)
	l.say("om_4", " "+goodCode+"\n")
	l.say("om_4", goodCode) // told again
	l.hears(i18n.LoginTaken, i18n.LoginDone)
	if _, err := os.Stat(filepath.Join(home(l.config), "logged-in")); err != nil {
		t.Error(err)
	}
	l.say("om_5", "你好")
	l.settled(1)
	l.say("om_3", "canary-half-a-code") // told again, when nobody waits for it any more
	l.say("om_4", goodCode)
	l.sent()
	if n := l.count(`SELECT COUNT(*) FROM turns`); n != 1 {
		t.Errorf("%d turns", n)
	}
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE content = '[login code]'`); n != 2 {
		t.Errorf("%d codes are noted", n)
	}
	l.stop()
	l.nowhere(goodCode, "canary-half-a-code")
}

func TestALoginThatFails(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]i18n.Phrase{"": i18n.LoginRefused, "offline": i18n.LoginOffline} {
		l := newLogin(t, how)
		l.say("om_1", "/登录")
		l.hears(i18n.LoginLink)
		l.say("om_2", wrongCode)
		l.hears(want)
		l.say("om_3", "/login cancel")
		l.hears(i18n.LoginNone)
		l.stop()
		l.nowhere(wrongCode)
	}
}

func TestALoginIsCancelled(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.say("om_1", "/login")
	l.hears(i18n.LoginLink)
	l.say("om_2", "／登录 取消") // as Chinese keyboards write it
	l.hears(i18n.LoginCancelled)
	l.until("the end of the login", func() bool { return !l.logins().IsRunning() })
	l.say("om_3", "你好") // is talk again
	l.settled(1)
	l.say("om_4", "/login")
	l.hears(i18n.LoginLink)
}

// The code belongs to who asked for it, in the chat in which he did; and what looks like one is never kept.
func TestWhoseCodeItIs(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.say("om_1", "/login")
	l.hears(i18n.LoginLink)
	other := incoming("om_2", "what do you think?")
	other.Actor.ID = "ou_2"
	l.receive(other)
	elsewhere := incoming("om_3", "and here?")
	elsewhere.Key = chat.FeishuChat("oc_2")
	l.receive(elsewhere)
	l.settled(2)
	for i, m := range []chat.Incoming{other, elsewhere} {
		m.ID, m.Text = []string{"om_4", "om_5"}[i], wrongCode
		l.receive(m)
		l.until("a reply", func() bool {
			return slices.ContainsFunc(l.rec.TakeSaid(), func(s string) bool { return s == i18n.LoginUnexpected.EN })
		})
	}
	if !l.logins().IsRunning() {
		t.Error("somebody else's code ended the login")
	}
	stranger := incoming("om_6", wrongCode)
	stranger.Actor.ID, stranger.Key = "ou_stranger", chat.FeishuChat("oc_3")
	l.receive(stranger)
	group := incoming("om_7", "/login")
	group.Kind, group.Key = chat.Group, chat.FeishuChat("oc_4")
	l.receive(group)
	l.hears(i18n.LoginPrivate)
	l.stop()
	l.nowhere(wrongCode)
}

// A code is not stored if it comes as a quote in the reply to the link, or again after an edit.
func TestACodeThatIsQuotedOrEdited(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.say("om_0", "您好")
	l.settled(1)
	l.say("om_1", "/login")
	l.hears(i18n.LoginLink)
	l.must(l.bridge.HandleEdit(t.Context(), incoming("om_0", "canary-in-a-question")))
	half := incoming("om_2", "canary-half-a-code")
	half.Files = []chat.File{{Number: 1, Kind: chat.Quote, Of: "om_link", State: chat.Wanted}}
	l.receive(half)
	l.hears(i18n.LoginAgain)
	half.Text = wrongCode
	l.must(l.bridge.HandleEdit(t.Context(), half))
	half.Text = "canary-another-half"
	l.must(l.bridge.HandleEdit(t.Context(), half))
	l.say("om_3", "/login cancel")
	l.hears(i18n.LoginCancelled)
	l.say("om_4", "你好")
	l.settled(2)
	talk := incoming("om_4", wrongCode)
	l.must(l.bridge.HandleEdit(t.Context(), talk))
	if n := l.count(`SELECT (SELECT COUNT(*) FROM files) +
		(SELECT COUNT(*) FROM turns WHERE state <> 'done')`); n != 0 {
		t.Errorf("%d files and turns", n)
	}
	l.stop()
	l.nowhere(wrongCode, "canary-half-a-code", "canary-another-half", "canary-in-a-question")
}

// A shutdown ends a login without a reply.
func TestALoginEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.say("om_1", "/login")
	l.hears(i18n.LoginBegun, i18n.LoginLink)
	began := time.Now()
	l.stop()
	if took := time.Since(began); took > 2*time.Minute { // nobody waits for the five minutes of the code
		t.Errorf("it took %v", took)
	}
	if got := l.rec.TakeSaid(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// A login does not wait for a code forever.
func TestALoginTakesFiveMinutes(t *testing.T) {
	t.Parallel()
	l := newLogin(t, "")
	l.logins().Patience = 100 * time.Millisecond
	l.say("om_1", "/login")
	l.hears(i18n.LoginLate)
	if l.logins().IsRunning() {
		t.Error("it goes on")
	}
}
