package bridge

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// privateMessage is a private message of somebody in a chat of his own.
func privateMessage(user, id string) chat.Incoming {
	m := incoming(id, "你好")
	m.Key, m.Actor = chat.FeishuChat("oc_of_"+user), chat.Actor{ID: user, Name: "小红"}
	return m
}

// A bot without an owner tells each stranger once a day how to become it, also after a restart.
func TestABotWithoutAnOwnerAnswersStrangersOnceADay(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	told := func(id, user string) (n int) {
		t.Helper()
		l.receive(privateMessage(user, id))
		return l.count(`SELECT COUNT(*) FROM outbox WHERE chat_key LIKE '%oc_of_` + user + `'`)
	}
	delivered := func() { l.start(); l.sent(); l.stop() }
	l.bridge.SetAccess(access.Config{})
	for i := range 5 {
		if n := told(fmt.Sprint("om_", i), "ou_a"); n != 1 {
			t.Fatalf("message %d: %d answers wait", i, n)
		}
	}
	if n := told("om_b", "ou_b"); n != 1 {
		t.Errorf("somebody else gets %d answers", n)
	}
	delivered()
	if said, _, _ := l.rec.SoFar(); len(said) != 2 || !strings.Contains(strings.Join(said, ""), "ou_a") ||
		!strings.Contains(strings.Join(said, ""), "ou_b") {
		t.Errorf("said %q", said)
	}
	l.remake(func(c *Config) { c.Access = access.Config{} })
	if n := told("om_after_restart", "ou_a"); n != 0 {
		t.Errorf("after a restart: %d answers", n)
	}
	l.sql(fmt.Sprintf(`UPDATE grants SET asked_at = asked_at - %d`, 25*time.Hour.Milliseconds()))
	if n := told("om_next_day", "ou_a"); n != 1 {
		t.Errorf("the next day: %d answers", n)
	}
	delivered()
}

// A stranger who wrote while the bot had no owner is reported to the owner when he writes again.
func TestAnOwnerHearsOfWhoWroteBeforeHim(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.bridge.SetAccess(access.Config{})
	for _, user := range []string{"ou_a", "ou_boss"} {
		l.receive(privateMessage(user, "om_1"+user))
	}
	l.start()
	l.sent()
	l.stop()
	l.bridge.SetAccess(access.Config{Owner: "ou_boss", UnauthorizedReply: "not yet"})
	l.receive(privateMessage("ou_a", "om_2"))
	if n := l.count(`SELECT COUNT(*) FROM outbox WHERE subject = 'ou_a' AND chat_key LIKE '%ou_boss'`); n != 1 {
		t.Errorf("%d requests", n)
	}
	if n := l.unsent(); n != 1 {
		t.Errorf("%d messages wait: who asked is answered twice a day", n)
	}
	users := incoming("om_3", "/admin users")
	users.Key, users.Actor.ID = chat.FeishuChat("oc_boss"), "ou_boss"
	got, err := l.commandSet().adminUsers(t.Context(),
		invocation{Incoming: users, lang: i18n.English, chat: db.Chat{Key: users.Key}})
	if l.must(err); !strings.Contains(got.reply, "ou_a` pending") || strings.Contains(got.reply, "ou_boss` pending") {
		t.Errorf("listed:\n%s", got.reply)
	}
}

// A mistyped code that is corrected by an edit makes its sender the owner, too.
func TestTheCodeInAnEditedMessage(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.App, c.AppChannel, c.Access = "cli_1", room.Channel, access.Config{} })
	l.ownership().Run(t.Context()) // the platform cannot be asked
	code := regexp.MustCompile(`MAGPIE-\w+`).FindString(l.logs.String())
	if len(code) < 30 {
		t.Fatalf("code %q", code)
	}
	l.receive(incoming("om_1", code[:20]))
	l.must(l.bridge.HandleEdit(t.Context(), incoming("om_1", code)))
	if got := l.authorizer().At(room).Owner; got != "ou_1" {
		t.Errorf("the bot belongs to %q", got)
	}
}
