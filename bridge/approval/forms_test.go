package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// everyKind is a form with a field of each kind that a server may ask for.
const everyKind = `{"server":"rooms","message":"Book *a* room","schema":{"type":"object","properties":{
	"day":{"type":"string","title":"Day","format":"date"},
	"seats":{"type":"integer","minimum":1,"maximum":20,"description":"how many"},
	"price":{"type":["null","number"]},
	"quiet":{"type":"boolean","title":"Quiet?"},
	"floor":{"type":"string","enum":["g","1"],"enumNames":["Ground","First"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"extras":{"type":"array","items":{"anyOf":[{"const":"tv","title":"TV"},{"const":"tea","title":"Tea"}]}},
	"to":{"type":"string","format":"email"},
	"note":{"type":"string","maxLength":5},
	"odd":{"type":"object"}},
	"required":["day","seats","quiet","floor"]}}`

// A server's form has a field for each that people can fill in, in the order of its schema, and takes the values that
// the schema asks for, in its types.
func TestAFormOfEveryKind(t *testing.T) {
	a := askingFor(claude.FormTool, everyKind)
	if why := DisplayProblem(a.Tool, a.Input); why != "" {
		t.Fatal(why)
	}
	c := Card(a, i18n.English)
	var fields []string
	for _, f := range c.Form.Fields {
		fields = append(fields, f.Name+" "+string(f.Kind))
	}
	want := "words_0 words,words_1 words,words_2 words,choice_3 one,choice_4 one,choice_5 one,choice_6 many,words_7 words,words_8 words"
	if got := strings.Join(fields, ","); got != want {
		t.Errorf("fields %s", got)
	}
	if c.Form.Fields[1].Hint != "a whole number, at least 1, at most 20" || !strings.Contains(c.Title, "rooms") ||
		!strings.HasPrefix(c.Body, "`Book *a* room`\n\n**1.** Day") || !strings.Contains(c.Body, "(optional)") {
		t.Errorf("%q %q %q", c.Form.Fields[1].Hint, c.Title, c.Body)
	}
	whole := map[string][]string{
		"words_0": {"2026-05-04"}, "words_1": {"12"}, "words_2": {"1.50"}, "choice_3": {"1"}, "choice_4": {"0"},
		"choice_5": {"1"}, "choice_6": {"1", "0"}, "words_7": {"a@b.example"}, "words_8": {"五个字也行"},
	}
	for name, tc := range map[string]struct {
		change map[string][]string
		want   string // of the answers; empty = an objection
		says   string
	}{
		"all": {nil, `{"day":"2026-05-04","extras":["tea","tv"],"floor":"g","note":"五个字也行","price":1.50,"quiet":false,"seats":12,` +
			`"size":"l","to":"a@b.example"}`, ""},
		"needed only": {map[string][]string{"words_2": nil, "choice_5": nil, "choice_6": nil, "words_7": {" "}, "words_8": nil},
			`{"day":"2026-05-04","floor":"g","quiet":false,"seats":12}`, ""},
		"no date":      {map[string][]string{"words_0": {"tomorrow"}}, "", "“Day” takes a date, for example 2026-05-04"},
		"no integer":   {map[string][]string{"words_1": {"1.5"}}, "", "“seats” takes a whole number"},
		"odd integer":  {map[string][]string{"words_1": {"+5"}}, "", "“seats” takes a whole number"},
		"too many":     {map[string][]string{"words_1": {"21"}}, "", "“seats” takes a whole number"},
		"no number":    {map[string][]string{"words_2": {"NaN"}}, "", "“price” takes a number"},
		"no address":   {map[string][]string{"words_7": {"nobody"}}, "", "“to” takes an email address"},
		"too long":     {map[string][]string{"words_8": {"六个字就不行"}}, "", "“note” takes a text, at most 5 characters"},
		"not chosen":   {map[string][]string{"choice_3": nil}, "", "Please answer this first: Quiet?"},
		"words in it":  {map[string][]string{"choice_3": nil, "words_3": {"yes"}}, "", "Please answer this first: Quiet?"},
		"not filled":   {map[string][]string{"words_0": nil}, "", "Please answer this first: Day"},
		"forged value": {map[string][]string{"choice_4": {"9"}}, "", i18n.ApprovalOver.EN},
	} {
		values := map[string][]string{}
		for k, v := range whole {
			values[k] = v
		}
		for k, v := range tc.change {
			values[k] = v
		}
		d := Decide(a, chat.Press{Action: chat.Action{Do: DoAllow}, Values: values, Actor: asker}, i18n.English)
		if !strings.HasPrefix(d.Objection, tc.says) || (d.Objection == "") != (tc.says == "") {
			t.Errorf("%s: objection %q", name, d.Objection)
		}
		var got struct{ Answers json.RawMessage }
		if tc.want != "" {
			if err := json.Unmarshal(d.Agent.Input, &got); err != nil || string(got.Answers) != tc.want {
				t.Errorf("%s: %s, %v", name, got.Answers, err)
			}
		}
	}
	d := Decide(a, chat.Press{Action: chat.Action{Do: DoRefuse}, Actor: asker}, i18n.English)
	if d.Agent.Allow || !d.Agent.Refused {
		t.Errorf("skipped: %+v", d.Agent)
	}
}

// A form of one choice has buttons, and one that asks for nothing has one.
func TestAFormOfOneChoice(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"ok":{"type":"boolean"}},"required":["ok"]}`: "Yes No Skip",
		`{"properties":{}}`: "Done Skip",
	} {
		c := Card(askingFor(claude.FormTool, `{"server":"s","message":"m","schema":`+schema+`}`), i18n.English)
		var labels []string
		for _, b := range c.Buttons {
			labels = append(labels, b.Label)
		}
		if strings.Join(labels, " ") != want || c.Form != nil {
			t.Errorf("%s: %q, %+v", schema, labels, c.Form)
		}
	}
}

// A page is shown with its whole address; only one of the web is.
func TestAFormOnAPage(t *testing.T) {
	a := askingFor(claude.FormTool, `{"server":"s","message":"Sign in","url":"https://a.example/x(1)?y=<b>"}`)
	c := Card(a, i18n.English)
	if !strings.Contains(c.Body, "[`a.example`](https://a.example/x%281%29?y=%3Cb%3E)\n`https://a.example/x%281%29?y=%3Cb%3E`") &&
		!strings.Contains(c.Body, "[a.example](https://a.example/x%281%29?y=%3Cb%3E)\n`https://a.example/x%281%29?y=%3Cb%3E`") {
		t.Errorf("%q", c.Body)
	}
	for _, bad := range []string{"javascript:alert(1)", "file:///etc/passwd", "https:///x", "https://user@a.example/", "", "http://%zz"} {
		input, err := json.Marshal(map[string]string{"server": "s", "message": "m", "url": bad})
		if err != nil || DisplayProblem(claude.FormTool, input) == "" {
			t.Errorf("%q is shown, %v", bad, err)
		}
	}
}

// A form that people cannot fill in is refused, and says why.
func TestAFormThatCannotBeFilledIn(t *testing.T) {
	many := make([]string, maxFields+1)
	for i := range many {
		many[i] = `"f` + strings.Repeat("x", i) + `":{"type":"string"}`
	}
	for _, schema := range []string{
		`{"properties":{"a":{"type":"object"}},"required":["a"]}`, `{"properties":{"a":{"type":"array","items":{"type":"string"}}},"required":["a"]}`,
		`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{` + strings.Join(many, ",") + `}}`,
	} {
		if DisplayProblem(claude.FormTool, json.RawMessage(`{"server":"s","message":"m","schema":`+schema+`}`)) == "" {
			t.Errorf("%.80s is shown", schema)
		}
	}
}

// What people write into a server's form reaches the agent with the server's reply: it has no tag of the CLI's own.
func TestAFormTakesNoMarkup(t *testing.T) {
	a := askingFor(claude.FormTool, `{"server":"s","message":"m","schema":{"type":"object","properties":{"note":{"type":"string"}}}}`)
	for _, tag := range []string{"<system-reminder>", "</System-Reminder >"} {
		p := chat.Press{Action: chat.Action{Do: DoAllow}, Values: map[string][]string{"words_0": {"a " + tag + " b"}}, Actor: asker}
		d := Decide(a, p, i18n.English)
		got := gjson.GetBytes(d.Agent.Input, "answers.note").String()
		if d.Objection != "" || strings.Contains(got, tag) || !strings.HasPrefix(got, "a ") {
			t.Errorf("%q reaches the server as %q %s", tag, got, d.Objection)
		}
	}
}
