package feishu

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// cardCalls are the calls that make an answer visible. own holds the errors that only this call can get.
var cardCalls = []struct {
	name string
	call feishusim.Fault
	own  map[string]feishusim.Fault
}{
	{"to make the card", feishusim.Fault{Method: "POST", Path: cardAPI}, map[string]feishusim.Fault{
		"a permission is missing": {Code: 99991672},
		"the card is not allowed": {Code: 10002},
		"the card is too big":     {Code: 200860},
		"too many elements":       {Code: 300305},
	}},
	{"to show the card", feishusim.Fault{Method: "POST", Path: replyAPI}, map[string]feishusim.Fault{
		"words are not allowed":           {Code: 230028},
		"the card cannot be shown":        {Code: 230099},
		"too many messages of the chat":   {Code: 230020},
		"the message is still being sent": {Code: 230049},
	}},
	{"to go on with the text", feishusim.Fault{Method: "PUT", Path: cardAPI + "/*/elements/*/content"},
		map[string]feishusim.Fault{
			"the text has ended already": {Code: 300309},
			"the text took too long":     {Code: 200850},
			"the sequence was used":      {Code: 300317},
			"the card has expired":       {Code: 200750},
		}},
	{"to say the last word", feishusim.Fault{Method: "PUT", Path: cardAPI + "/*"}, map[string]feishusim.Fault{
		"the sequence was used": {Code: 300317},
		"somebody presses":      {Code: 200810},
		"too many elements":     {Code: 300305},
		"the card has expired":  {Code: 200750},
	}},
}

// cardFaults are the faults that any call can meet.
var cardFaults = map[string]feishusim.Fault{
	"too many calls, by the status":         {Status: 429},
	"too many calls, by the code":           {Code: 99991400},
	"the server fails":                      {Status: 500},
	"a page of a gateway":                   {Status: 502, Body: "<html>bad gateway</html>"},
	"a page of a gateway, but it is done":   {Status: 502, Body: "<html>bad gateway</html>", Apply: true},
	"a page of another server":              {Status: 404, Body: "<html>not found</html>"},
	"a page that says that all is well":     {Status: 200, Body: "<html>welcome</html>"},
	"the connection is cut":                 {Reset: true},
	"the connection is cut, but it is done": {Reset: true, Apply: true},
	"no answer in time":                     {Reset: true, Delay: time.Hour},
	"no answer in time, but it is done":     {Reset: true, Delay: time.Hour, Apply: true},
	"the token is revoked":                  {Code: 99991663, Revoke: true},
}

// TestAttackCardFaults fails each call once in each way while a streaming card shows an answer. The answer must arrive
// once and complete, and no card may stay in streaming mode, except one that the platform lost: that one times out.
func TestAttackCardFaults(t *testing.T) {
	rows := 0
	for _, c := range cardCalls {
		for _, faults := range []map[string]feishusim.Fault{cardFaults, c.own} {
			for name, f := range faults {
				rows++
				f.Method, f.Path, f.Times = c.call.Method, c.call.Path, 1
				t.Run(c.name+": "+name, func(t *testing.T) { cardFault(t, f) })
			}
		}
	}
	if rows != 64 {
		t.Errorf("%d faults, want 64", rows)
	}
}

func cardFault(t *testing.T, f feishusim.Fault) {
	p, ask := newQuestion(t, feishusim.Config{})
	if f.Delay > 0 {
		p.api.HTTP.Timeout = time.Second
	}
	p.Inject(f)
	var id string
	p.must(deliver(p.ctx(), func() (err error) {
		id, err = p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, "seed")
		return err
	}))
	if p.Edit(p.ctx(), id, chat.Card{Live: true, Status: "on it", Body: "the an"}) != nil {
		p.must( // the painter goes on with the next view
			p.Edit(p.ctx(), id, chat.Card{Live: true, Status: "on it", Body: "the answer,"}),
		)
	}
	const whole = "the answer, whole"
	p.must(deliver(p.ctx(), func() error { return p.Client.Close(p.ctx(), id, chat.Card{Body: whole}) }))
	times, all := 0, p.answers(ask.Key.ID)
	var said []string
	for _, m := range all {
		said = append(said, fmt.Sprintf("%s %q", m.Type, m.Text()))
		times += strings.Count(m.Text(), whole)
		if m.Last().Streaming && f.Code != 200750 {
			t.Errorf("a card is still live: %q", m.Text())
		}
	}
	if n := len(all); times != 1 || squash(all[n-1].Text()) != whole {
		t.Errorf("the answer is there %d times: %v\n%s", times, said, p.log)
	}
	if len(all) > 1 && f.Code != 200750 {
		t.Errorf("%d messages: %v", len(all), said)
	}
}
