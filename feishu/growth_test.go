package feishu

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	read := func(form string, content func(s string) any) func(string) {
		return func(s string) {
			data, err := json.Marshal(content(s))
			if err != nil {
				t.Fatal(err)
			}
			for _, readBack := range []bool{false, true} {
				r := contentReader{readBack: readBack, bot: "ou_bot", mentions: []mention{{key: "@_user_1", id: "ou_1", name: s}}}
				r.read(form, gjson.ParseBytes(data))
			}
			mentionsAll(gjson.ParseBytes(data))
		}
	}
	type object = map[string]any
	paragraph := func(elements ...any) any { return object{"title": "a", "content": []any{elements}} }
	growthtest.Linear(t, map[string]func(string){
		"text":   read("text", func(s string) any { return object{"text": s} }),
		"edited": read("text", func(s string) any { return object{"text": "<p>" + s + "</p>"} }),
		"post": read("post", func(s string) any {
			return paragraph(object{"tag": "text", "text": s, "style": []string{"bold"}}, object{"tag": "md", "text": s},
				object{"tag": "a", "text": s, "href": s}, object{"tag": "at", "user_id": s, "user_name": s},
				object{"tag": "code_block", "text": s, "language": s}, object{"tag": s, "text": s})
		}),
		"card": read("interactive", func(s string) any {
			return object{"title": s, "elements": []any{
				object{"tag": "markdown", "content": s}, []any{object{"tag": "text", "text": s}},
			}}
		}),
		"file":      read("file", func(s string) any { return object{"file_name": s, "file_key": s} }),
		"todo":      read("todo", func(s string) any { return object{"summary": object{"title": s}} }),
		"vote":      read("vote", func(s string) any { return object{"topic": s, "options": []string{s, s}} }),
		"share":     read("share_user", func(s string) any { return object{"user_id": s} }),
		"without":   func(s string) { chat.WithoutMarks(s) },
		"IsBaseURL": func(s string) { IsBaseURL(s) },
	})
}
