package access

import (
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// A stranger's name and message are no markup in what the owner reads.
func TestAStrangersNameIsNoMarkup(t *testing.T) {
	t.Parallel()
	const name = "[点此](https://evil.example)"
	m := chat.Incoming{Text: "**急** " + name + "\n```\n<at id=all></at>", Actor: chat.Actor{ID: "ou_x", Name: name}}
	want := "**`" + name + "`** 想和我对话，是否允许？\n\n````\n**急** " + name + " ``` <at id=all></at>\n````\n"
	if got := RequestCard(m, i18n.Chinese).Body; got != want {
		t.Errorf("the request says %q", got)
	}
	who := db.Grant{Subject: "ou_x", Name: name, Allowed: true}
	if got := DecisionCard(who, i18n.Chinese).Body; got != "已允许 `"+name+"` 和我对话（用户 ID：ou_x）" {
		t.Errorf("the decision says %q", got)
	}
}
