package stream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"magpie/internal/racetest"
)

// A line of brackets must not overflow the stack: no caller could recover from that.
func TestDeepLinesAreNotJSON(t *testing.T) {
	racetest.Skip(t)
	for name, line := range map[string][]byte{
		"lists":   bytes.Repeat([]byte("["), MaxLine-1),
		"objects": bytes.Repeat([]byte(`{"user":`), MaxLine/8-1),
		"a deep list": joined(`{"type":"user","uuid":"x","message":`, strings.Repeat("[", deepest),
			strings.Repeat("]", deepest), "}"),
	} {
		if ValidJSON(line) {
			t.Errorf("%s: valid", name)
		}
		if got := new(Decoder).Decode(line); len(got) > 0 {
			t.Errorf("%s in the output: %+v", name, got)
		}
	}
	long := joined(`{"a":[`, strings.Repeat("[],", 2*deepest), `{}]}`)
	if !ValidJSON(long) {
		t.Error("a long line that is not deep: not valid")
	}
}

func joined(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

// inputRecorder records what is written to a process.
type inputRecorder struct{ bytes.Buffer }

func (*inputRecorder) Close() error { return nil }

// Whatever a request looks like, the answer to it is a line that the CLI can read.
func TestOddPermissionRequests(t *testing.T) {
	const begin = `{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash"`
	for rest, want := range map[string]string{
		`,"input":{"a":1}}}`: `{"a":1}`, `}}`: `{}`, `,"input":null}}`: `null`, `,"input":"x"}}`: `"x"`,
		`,"input":{"a":tru}}}`: "", `,"input":`: "", "": "", ",\"input\":{\"a\":\"\x00\"}}}": "",
		`,"input":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + "}}": "",
	} {
		q, ok := ReadToolAsk([]byte(begin + rest))
		if ok != (want != "") || ok && string(q.Input) != want {
			t.Errorf("%.60q: %v, input %.60q", rest, ok, q.Input)
		}
		if !ok {
			continue
		}
		out := &inputRecorder{}
		in := NewInput(out)
		in.SendDecision(q, Decision{Allow: true, Input: q.Input})
		in.Close()
		<-in.Done()
		if !json.Valid(out.Bytes()) {
			t.Errorf("%.60q: answered with %q", rest, out.String())
		}
	}
}

// Costs count against the budgets of chats and people, whatever the CLI's output says: a command can write to it, too.
func TestOddCosts(t *testing.T) {
	for cost, want := range map[string]float64{
		"0.25": 0.25, "-3": 0, "1e999": maxDollars, "-1e999": 0, `"x"`: 0, "null": 0, "1e300": maxDollars, `"NaN"`: 0,
	} {
		d := Decoder{inputTokens: 1}
		line := strings.ReplaceAll(`{"type":"result","total_cost_usd":COST,"usage":{"input_tokens":COST},
			"modelUsage":{"m":{"costUSD":COST,"outputTokens":COST}},
			"model_usage_since_last_result":{"m":{"costUSD":COST}}}`, "COST", cost)
		list := d.Decode([]byte(line))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", cost, list)
		}
		r := list[0].(Result)
		if got := *r.OfTurn; r.CostUSD != want || got != want {
			t.Errorf("%s: costs %v, of the turn %v, want %v", cost, r.CostUSD, got, want)
		}
		if r.Usage.Input < 0 || r.Usage.Input > maxTokens || r.Total.Output < 0 || r.Total.Output > maxTokens {
			t.Errorf("%s: %+v, %+v", cost, r.Usage, r.Total)
		}
	}
}
