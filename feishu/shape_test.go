package feishu

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/internal/feishusim"
)

// When a message yields no text, the log shows its structure once, and never its content.
func TestTheShapeOfAnEmptyMessageIsLogged(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	ann, rec := p.AddUser("Ann"), newRecorder()
	room := p.PrivateChat(ann)
	p.run(rec)
	content := json.RawMessage(`{"title":"","content":[[{"tag":"hologram","data":{"words":"a secret",` +
		`"our secret":1}},{"tag":"my own words"}]]}`)
	for range 2 {
		p.Send(room, ann, "post", content)
		if m := next(t, rec.messages); m.Text != "" {
			t.Errorf("it says %q", m.Text)
		}
	}
	const want = `"shape":"{title:String content:[[{tag:hologram data:{words:String ?:Number}} {tag:?}]]}"`
	if log := p.log.String(); strings.Count(log, want) != 1 || strings.Contains(log, "secret") ||
		strings.Contains(log, "own words") {
		t.Errorf("log: %s", log)
	}
	p.Say(room, ann, "hello")
	next(t, rec.messages)
	if n := strings.Count(p.log.String(), "without readable content"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}
