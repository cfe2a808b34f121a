package approval

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// A press counts in the chat that was asked, and in its topics, but in no other that is called the same.
func TestAPressIsFromTheChatThatWasAsked(t *testing.T) {
	t.Parallel()
	rs := &Requests{access: access.NewAuthorizer(access.Config{}, db.Access{}, nil, 0, zerolog.Nop())}
	asked := chat.Key{Channel: "cli", Kind: "room", ID: "oc_team"}
	topic := asked
	topic.Thread = "1"
	a := db.Approval{ID: "1", Key: asked}
	for key, same := range map[chat.Key]bool{
		asked: true, topic: true, chat.FeishuChat("oc_team"): false,
		{Channel: "cli", Kind: "chat", ID: "oc_team"}: false, {Channel: "http", Kind: "room", ID: "oc_team"}: false,
	} {
		var log bytes.Buffer
		p := chat.Press{Key: key, Action: chat.Action{ID: ActionID(a), Do: DoRefuse}}
		rs.objection(a, p, i18n.English, zerolog.New(&log))
		if got := !strings.Contains(log.String(), "does not match"); got != same {
			t.Errorf("a press in %v: %s", key, &log)
		}
	}
}
