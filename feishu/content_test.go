package feishu

import (
	"testing"

	"github.com/tidwall/gjson"
)

func TestReadable(t *testing.T) {
	people := []mention{
		{key: "@_user_1", id: "ou_bot", name: "Magpie"},
		{key: "@_user_2", id: "ou_ann", name: "Ann"},
		{key: "@_user_10", id: "ou_ten", name: "Ten"},
		{}, // half an entry
	}
	tests := []struct{ name, kind, content, want string }{
		{"text", "text", `{"text":"hello"}`, "hello"},
		{"the bot's name is taken out", "text", `{"text":"@_user_1 /stop"}`, "/stop"},
		{"in the middle as well", "text", `{"text":"hey @_user_1 do it"}`, "hey do it"},
		{"only the bot", "text", `{"text":"@_user_1"}`, ""},
		{"others have names", "text", `{"text":"ask @_user_2 and @_user_10"}`, "ask @Ann and @Ten"},
		{"everybody", "text", `{"text":"@_all look"}`, "@all look"},
		{"not JSON", "text", `oops`, ""},
		{"post", "post", `{"title":"","content":[[{"tag":"text","text":"a"},{"tag":"at","user_id":"@_user_2","user_name":"Ann"}],[{"tag":"text","text":"b"}]]}`, "a@Ann\nb"},
		{"title", "post", `{"title":"T","content":[[{"tag":"text","text":"a"}]]}`, "# T\n\na"},
		{"styles", "post", `{"content":[[{"tag":"text","text":"a","style":["bold","italic"]},{"tag":"text","text":"b","style":["lineThrough"]},{"tag":"text","text":" ","style":["bold"]}]]}`, "***a***~~b~~"},
		{"links", "post", `{"content":[[{"tag":"a","text":"x","href":"https://y"},{"tag":"a","text":"https://y","href":"https://y"},{"tag":"a","text":"z"}]]}`, "[x](https://y)https://yz"},
		{"code", "post", `{"content":[[{"tag":"code_block","language":"GO","text":"x := 1\n"}],[{"tag":"hr"}]]}`,
			"```go\nx := 1\n```\n---"},
		{"pictures and files", "post",
			`{"content":[[{"tag":"img","image_key":"i"},{"tag":"media","file_key":"f"},{"tag":"emotion","emoji_type":"SMILE"}]]}`, "[图片 1][视频][SMILE]"},
		{"with a language", "post", `{"zh_cn":{"title":"T","content":[[{"tag":"md","text":"**a**"}]]}}`,
			"# T\n\n**a**"},
		{"Markdown with people", "post", `{"content_v2":[[{"tag":"md","text":"<at user_id=\"ou_bot\">Magpie</at>ask <at user_id=\"all\"></at>"}]]}`,
			"ask @all"},
		{"Markdown with keys of people", "post", `{"content_v2":[[{"tag":"md","text":"<at user_id=\"@_user_1\">Magpie</at> ask <at user_id = \"@_user_10\"></at> and <at user_id='ou_x' >Xi</at> <at user_id=\"@_all\"/><at user_id=all_members>"}]]}`,
			"ask @Ten and @Xi @all@all"},
		{"a card with keys of people", "interactive", `{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"<at id=on_1 mention_key=@_user_1></at> ask <at id=\"on_10\" mention_key=\"@_user_10\"></at> and <at id=on_x mention_key=@_user_3></at>"}]}}`,
			"[卡片]\nask @Ten and @on_x"},
		{"everybody in a post", "post", `{"content":[[{"tag":"at","user_id":"all"},{"tag":"text","text":" "},{"tag":"at","user_id":"@_all","user_name":"所有人"}]]}`,
			"@all @all"},
		{"code that holds a fence", "post", `{"content":[[{"tag":"code_block","language":"GO","text":"func main() {\n\tpanic(\"` + "```" + `\")\n}"}]]}`,
			"````go\nfunc main() {\n\tpanic(\"```\")\n}\n````"},
		{"inline code that holds backquotes", "post", `{"content":[[{"tag":"text","text":"a` + "``" + `b","style":["codeInline"]},{"tag":"text","text":"` + "`" + `","style":["codeInline"]}]]}`,
			"```a``b````` ` ``"},
		{"an element called markdown", "post", `{"content":[[{"tag":"markdown","content":"**b** and [l](https://a.example/c_(d)) <at user_id=\"@_user_2\"></at>"}]]}`,
			"**b** and [l](https://a.example/c_(d)) @Ann"},
		{"parentheses in an address", "post", `{"content":[[{"tag":"a","text":"l","href":"https://a.example/c_(d"}]]}`,
			"[l](<https://a.example/c_(d>)"},
		{"an unknown element", "post", `{"content":[[{"tag":"mention_doc","text":"Plan","url":"https://x.example/docx/abc"},{"tag":"text","text":" "},{"tag":"card_link","title":"T","link":{"url":"lark://x"}},{"tag":"w","href":"https://y"},{"tag":"v","content":"https://z"}]]}`,
			"[Plan](https://x.example/docx/abc) [T](lark://x)https://yhttps://z"},
		{"unknown elements in each other", "post", `{"content":[[{"tag":"box","title":{"content":"T"},"elements":[{"tag":"text","text":"a"},{"tag":"p","content":[{"tag":"at","user_id":"@_user_2"}]}]}]]}`,
			"Ta@Ann"},
		{"code in Markdown", "post", `{"content_v2":[[{"tag":"md","text":"` + "````\\n```\\n<at user_id=all></at>\\n````\\n`` ` <at user_id=all></at>`` <at user_id=all></at> ` <at user_id=all></at>" + `"}]]}`,
			"````\n```\n<at user_id=all></at>\n````\n`` ` <at user_id=all></at>`` @all ` @all"},
		{"underlined", "post", `{"content":[[{"tag":"text","text":"a","style":["underline"]}]]}`, "a"},
		{"empty", "post", `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := contentReader{id: "om_1", mentions: people, bot: "ou_bot"}
			got, ok := r.read(tt.kind, gjson.Parse(tt.content))
			if !ok || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestMentionsOfEverybody(t *testing.T) {
	for content, want := range map[string]bool{
		`{"text":"@_all look"}`: true, `{"content":[[{"tag":"at","user_id":"all"}]]}`: true,
		`{"content_v2":[[{"tag":"md","text":"<at user_id=\"all\"></at>"}]]}`:     true,
		`{"content_v2":[[{"tag":"md","text":"<at user_id=\"ou_1\">all</at>"}]]}`: false, `{"text":"all"}`: false,
		`{"content_v2": [[{"tag": "md", "text": "\u003cat user_id = \"all_members\">x</at>"}]]}`: true,
		`{"content": [[{"tag": "at", "user_id": "all"}]]}`:                                       true,
		`{"content":[[{"tag":"at","user_id":"@_user_1","user_name":"all"}]]}`:                    false,
		`{"user_id":"ou_all","n":1}`:                                                             false, `"`: false, ``: false,
	} {
		if got := mentionsAll(gjson.Parse(content)); got != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}
