package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/feishu"
	"magpie/internal/feishusim"
)

// fromBot are the bot's messages in a chat.
func fromBot(v *feishusim.View, chatID string) []feishusim.Message {
	var list []feishusim.Message
	for _, m := range v.Messages(chatID) {
		if m.FromBot {
			list = append(list, m)
		}
	}
	return list
}

// buttonNamed finds the value of a card's button.
func buttonNamed(t *testing.T, m feishusim.Message, label string) any {
	t.Helper()
	var value any
	var walk func(gjson.Result)
	walk = func(e gjson.Result) {
		if e.Get("tag").String() == "button" && strings.Contains(e.Get("text.content").String(), label) {
			for _, raw := range []string{e.Get("behaviors.0.value").Raw, e.Get("value").Raw} {
				if raw != "" && json.Unmarshal([]byte(raw), &value) != nil {
					t.Fatalf("value of %s: %s", label, raw)
				}
			}
		}
		e.ForEach(func(_, inner gjson.Result) bool {
			if inner.IsObject() || inner.IsArray() {
				walk(inner)
			}
			return true
		})
	}
	walk(gjson.ParseBytes(m.Last().Card))
	if value == nil {
		t.Fatalf("no button %q in %s", label, m.Last().Card)
	}
	return value
}

// A stranger's first message asks the owner once. The owner gives access with a button, which works for nobody else,
// and the stranger is notified.
func TestTheOwnerGrantsAccessToAStranger(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	r.cfg.Access = access.Config{Owner: r.user.OpenID, UnauthorizedReply: "我只为主人工作。"}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	first := r.sim.Say(other, red, "你好 <at id=all></at> 我是小红")
	var request feishusim.Message
	r.await("the request", func(v *feishusim.View) bool {
		list := fromBot(v, r.chat)
		i := slices.IndexFunc(list, func(m feishusim.Message) bool { return strings.Contains(m.Text(), red.OpenID) })
		if i >= 0 {
			request = list[i]
		}
		return i >= 0
	})
	if got := visibleText(request); strings.Contains(got, red.OpenID) || !strings.Contains(got, "我是小红") {
		t.Errorf("the request says %q", got)
	}
	r.awaitReceived(r.sim.Say(other, red, "在吗")) // before access is granted
	got, err := r.sim.Press(t.Context(), request.ID, red, buttonNamed(t, request, "允许"))
	if err == nil && strings.Contains(string(got), "允许") {
		t.Errorf("the stranger could decide: %s", got)
	}
	got, err = r.sim.Press(t.Context(), request.ID, r.user, buttonNamed(t, request, "允许"))
	if err != nil || !strings.Contains(string(got), "已允许") {
		t.Fatalf("press: %s %v", got, err)
	}
	r.await("the welcome and the new card", func(v *feishusim.View) bool {
		list := fromBot(v, other)
		return len(list) == 2 && strings.Contains(list[1].Text(), "可以和我对话了") &&
			slices.ContainsFunc(fromBot(v, r.chat), func(m feishusim.Message) bool {
				return m.ID == request.ID && strings.Contains(m.Text(), "已允许")
			})
	})
	for _, m := range r.sim.Messages(other) {
		if welcome := strings.Contains(m.Text(), "可以和我对话了"); m.FromBot && !welcome && m.ParentID != first {
			t.Errorf("the answer to another message is %q", m.Text())
		}
	}
	got, err = r.sim.Press(t.Context(), request.ID, r.user, buttonNamed(t, request, "忽略"))
	if err != nil || !strings.Contains(string(got), "处理过") {
		t.Errorf("pressed again: %s %v", got, err)
	}
	if got := visibleText(r.answer(other, r.sim.Say(other, red, "数到 3"))); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Members of a department and of departments below it may use the bot, and nobody else.
func TestADepartmentMayTalk(t *testing.T) {
	r := newRig(t)
	r.stop()
	r.sim.GiveScopes(feishu.ForDepartments...)
	top := r.sim.AddDepartment("公司", "")
	dev := r.sim.AddDepartment("研发", top)
	r.sim.Assign(r.user, r.sim.AddDepartment("平台组", dev))
	red := r.sim.AddUser("小红")
	r.sim.Assign(red, top)
	r.cfg.Access = access.Config{Owner: r.sim.AddUser("老板").OpenID, Allow: []string{dev}}
	r.start()
	other := r.sim.PrivateChat(red)
	r.sim.Say(other, red, "你好")
	r.awaitLog("ignored a message from a stranger")
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
