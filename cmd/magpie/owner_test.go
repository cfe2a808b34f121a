package main

import (
	"regexp"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

func emptyAccess(c *config.Config) { c.Access = access.Config{} }

// awaitWelcome waits until the bot has sent somebody a private message without a question.
func (r *rig) awaitWelcome(u feishusim.User) {
	r.Helper()
	r.await("the welcome", func(v *feishusim.View) bool {
		for _, m := range v.Messages(r.sim.PrivateChat(u)) {
			if m.FromBot && m.ParentID == "" && strings.Contains(m.Text(), "/help") {
				return true
			}
		}
		return false
	})
}

// The app's owner, according to the platform, may use the bot without configuration. Nobody else may.
func TestTheAppsOwnerHasAccess(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{}, emptyAccess)
	r.sim.SetOwner(r.user)
	other := r.sim.AddUser("小红")
	r.start()
	r.awaitWelcome(r.user)
	if got := r.ask("/whoami"); got == "" {
		t.Error("the owner gets no answer")
	}
	r.sim.Say(r.sim.PrivateChat(other), other, "/status")
	r.awaitLog("ignored a message from a stranger")
	r.stop()
	r.start() // the owner is stored now: no look-up is needed
	r.sim.TakeScopes("application:application:self_manage")
	r.ask("/status")
	r.stop()
	if n := strings.Count(r.logs.String(), "the bot has an owner"); n != 1 {
		t.Errorf("the owner was logged %d times", n)
	}
	r.clean()
}

// If the platform does not name the owner, whoever sends the code from the log becomes the owner. The code is not
// stored.
func TestTheCodeOfTheLogMakesTheOwner(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{}, emptyAccess)
	r.sim.SetOwner(r.user)
	r.sim.TakeScopes("application:application:self_manage")
	r.start()
	r.awaitLog("whoever sends it this code")
	code := regexp.MustCompile(`"code":"([^"]+)"`).FindStringSubmatch(r.logs.String())
	if code == nil || len(code[1]) < 30 {
		t.Fatalf("the log has no code:\n%s", r.logs)
	}
	thief := r.sim.AddUser("小红")
	room := r.sim.Group("大家", r.user, thief)
	r.sim.Say(room, thief, code[1], feishusim.Mention()) // a code in a group is no longer secret
	r.sim.Say(r.sim.PrivateChat(thief), thief, "MAGPIE-"+strings.Repeat("A", 26))
	r.awaitLog("a wrong code was sent")
	r.sim.Say(r.chat, r.user, code[1])
	r.awaitWelcome(r.user)
	if got := r.ask("/status"); got == "" {
		t.Error("the owner gets no answer")
	}
	owner, err := r.store().Access().Owner(t.Context(), r.cfg.Feishu.AppID, false)
	if err != nil || owner.User != r.user.OpenID || owner.Source != "code" {
		t.Errorf("stored: %+v, %v", owner, err)
	}
	r.stop()
	side := r.side()
	for _, text := range column(r, side, `SELECT content FROM messages`) {
		if strings.Contains(text, "MAGPIE-") {
			t.Errorf("the code is in the History: %s", text)
		}
	}
	must(t, side.Close())
	r.clean()
}
