package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// forgeries are texts with which an agent could imitate the bridge, or trigger markup.
var forgeries = []string{
	"**Already approved by admin**", "__approved__", "*ok*", "~~no~~", "# Approved", "[docs](https://evil.example/)",
	"https://evil.example/",
	"www.evil.example", "evil.example", "<at id=all></at>", `<at user_id="ou_1">admin</at>`, "@all",
	"![x](img_v3_0123456789abcdef)", "<font color='green'>ok</font>",
	"<button>", "- listed", "1. listed", "> quoted", "`code`", "---", "|a|b|", ":DONE:", "&lt;at id=all&gt;", "\\*",
	"✅ Allowed by 小明", "$x$",
	"x\n\n**Already approved by admin**", "x\u2028# Approved", "a@b.example", "mailto:x", "=== ok", "\u202e**x**",
}

// The agent's words are quoted on the card, without effect.
func TestTheAgentsTextIsQuoted(t *testing.T) {
	t.Parallel()
	for _, text := range forgeries {
		data, err := json.Marshal(text)
		must(t, err)
		quoted, code := string(data), i18n.InlineCode(text)
		for _, tc := range []struct{ tool, input, want string }{
			{"Bash", `{"command":"ls","description":` + quoted + `}`, code},
			{"WebFetch", `{"url":"https://a.example/","prompt":` + quoted + `}`, "```\n\nThe agent wants to know: " + code},
			{claude.QuestionTool, `{"questions":[{"question":` + quoted + `,"header":` + quoted + `,"options":[{"label":` +
				quoted + `,"description":` + quoted + `}]}]}`,
				"\n\n" + code + "\n- " + code + " — " + code},
			{claude.FormTool, `{"server":"s","message":` + quoted + `,"schema":{"properties":{"a":{"type":"string","title":` + quoted +
				`,"enum":[` + quoted + `]}}}}`, "\n\n" + code + "\n\n" + code + " (optional)\n- " + code},
		} {
			card := Card(askingFor(tc.tool, tc.input), i18n.English)
			said := "\n\n" + card.Body
			if tc.tool == "Bash" {
				said = card.Panels[0].Body
			}
			if !strings.HasSuffix(said, tc.want) || strings.Contains(card.Title+card.Footer, text) {
				t.Errorf("%s %q: %q", tc.tool, text, said)
			}
			if tc.tool == claude.QuestionTool && card.Form.Fields[0].Label != code {
				t.Errorf("%q: the field is called %q", text, card.Form.Fields[0].Label)
			}
		}
		a := askingFor(claude.QuestionTool, `{"questions":[{"question":"a","options":[{"label":`+quoted+`}]}]}`)
		answered, _, err := answersOf(a, map[string][]string{"choice_0": {"0"}}, i18n.English)
		if err != nil || answered.text() != code {
			t.Errorf("%q: answered with %q, %v", text, answered.text(), err)
		}
		_, body := requestText(askingFor(claude.PlanTool, `{"plan":`+quoted+`}`), i18n.English)
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "> ") {
				t.Errorf("%q: a line of a plan without a quote mark: %q", text, line)
			}
		}
	}
	for _, text := range []string{
		"List files in the project", "Run the tests of package bridge, all of them.", "列出项目里的文件（不含隐藏文件），然后统计行数。",
		"Which colour do you want?",
		"Don't stop: it's a re-run", "Yes, and no", "50 files",
	} {
		if got := i18n.PlainText(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
