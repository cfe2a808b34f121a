package feishusim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Action is what a user does with a component of a card (doc: feishu-cards/card-callback-communication).
type Action struct {
	Value      any            `json:"value,omitempty"` // of the component's callback behavior
	Tag        string         `json:"tag"`             // default button
	Timezone   string         `json:"timezone,omitempty"`
	Name       string         `json:"name,omitempty"`
	FormValue  map[string]any `json:"form_value,omitempty"`
	InputValue string         `json:"input_value,omitempty"`
	Option     string         `json:"option,omitempty"`
	Options    []string       `json:"options,omitempty"`
	Checked    bool           `json:"checked,omitempty"`

	Forged bool `json:"-"` // skip the check that a component of the card has this value
}

// PressError is the error that a user sees if the callback failed: 200340 no connection, 200341 no answer in time,
// 200671 ack not 200, 200672 answer malformed, 200673 card refused, 108002 empty answer.
type PressError struct {
	Code int
	Msg  string
}

func (e *PressError) Error() string { return fmt.Sprintf("card callback: %d %s", e.Code, e.Msg) }

// ErrNoComponent means that the message has never shown a component with that value.
var ErrNoComponent = errors.New("the card has no such component")

// Act makes a user do something with a component of a card; see Press.
func (p *people) Act(ctx context.Context, messageID string, by User, action Action) (json.RawMessage, error) {
	if action.Tag == "" {
		action.Tag = "button"
	}
	action.Timezone = "Asia/Shanghai"
	pr, err := newPress(p.world, messageID, by, action)
	if err != nil {
		return nil, err
	}
	answer, err := p.hub.call(ctx, pr.event)
	return answer, pr.finish(p.world, answer, err)
}

// press is one press of a button, from the user's action to the answer.
type press struct {
	token   string
	event   *event
	message *message

	answered bool
	ends     time.Time // when the token ends
	updates  int       // delayed updates so far
}

// newPress begins an interaction: until finish the card answers CardKit with 200810.
func newPress(w *world, messageID string, by User, action Action) (*press, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages.must(messageID)
	switch {
	case m.Deleted || m.Type != "interactive":
		return nil, ErrNoComponent
	case !action.Forged && !m.everShowed(action):
		return nil, ErrNoComponent
	}
	pr := &press{token: "c-" + randomHex(20), message: m, ends: time.Now().Add(callbackTTL)}
	pr.event = w.newEvent(eventCardAction, messageID, map[string]any{
		"operator": map[string]any{
			"tenant_key": w.tenant, "open_id": by.OpenID, "user_id": by.UserID, "union_id": by.UnionID,
		},
		"token": pr.token, "action": action, "host": "im_message",
		"context": map[string]string{"open_message_id": m.ID, "open_chat_id": m.ChatID},
	})
	// Expired tokens are dropped here, so the map stays small without a timer.
	maps.DeleteFunc(w.presses, func(_ string, old *press) bool { return time.Now().After(old.ends) })
	w.presses[pr.token] = pr
	if m.entity != nil {
		m.entity.pressed++
	}
	return pr, nil
}

// everShowed reports whether a component with the action's value is or was on the card.
func (m *message) everShowed(action Action) bool {
	for _, st := range slices.Backward(m.States) {
		var card any
		if json.Unmarshal(st.Card, &card) == nil && hasComponent(card, action) {
			return true
		}
	}
	return false
}

// hasComponent finds the component of an action: by its value if there is one, otherwise by tag and name.
func hasComponent(card any, action Action) bool {
	found := false
	eachTag(card, func(tag string, el map[string]any) {
		switch {
		// A disabled component cannot be pressed.
		case el["disabled"] == true:
		case action.Value == nil:
			found = found || tag == action.Tag && text(el["name"]) == action.Name
		default:
			found = found || calls(el, mustJSON(action.Value))
		}
	})
	return found
}

// calls reports whether the component calls back with this value: by a callback behavior, or in old cards by a value
// beside the tag.
func calls(el map[string]any, value []byte) bool {
	if v, ok := el["value"]; ok && sameJSON(mustJSON(v), value) {
		return true
	}
	behaviors, _ := el["behaviors"].([]any)
	return slices.ContainsFunc(behaviors, func(b any) bool {
		return member(b, "type") == "callback" && sameJSON(mustJSON(member(b, "value")), value)
	})
}

// sameJSON compares by meaning: the value on the card and the value in a test may differ in the order of their members.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && bytes.Equal(mustJSON(x), mustJSON(y))
}

// call pushes a callback once and returns the data of its ack.
func (h *hub) call(ctx context.Context, ev *event) (json.RawMessage, error) {
	at := h.attempt(ev, 1)
	if at.conn == nil {
		return nil, &PressError{codeToastUnwired, "the callback cannot be delivered"}
	}
	a, ok := h.wait(ctx.Done(), at)
	switch {
	case ctx.Err() != nil && !ok:
		return nil, context.Cause(ctx)
	case !ok:
		return nil, &PressError{codeToastTimeout, "the callback was not answered in time"}
	case a.Code != http.StatusOK:
		return nil, &PressError{codeToastStatus, fmt.Sprintf("the callback was answered with %d", a.Code)}
	case a.Data == nil || bytes.Equal(a.Data, []byte("null")):
		return nil, &PressError{codeToastNil, "the callback's answer is empty"}
	}
	return a.Data, nil
}

// finish ends the interaction and applies the answer. It also ends if the callback failed; otherwise CardKit would
// answer 200810 for this card forever.
func (pr *press) finish(w *world, answer json.RawMessage, failed error) error {
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := pr.message.entity; e != nil {
		e.pressed--
	}
	pr.answered = true
	if failed != nil {
		return failed
	}
	err := pr.apply(answer, w.files)
	if err != nil {
		w.rec.violate(RuleCallback, 0, "%v: %.200s", err, answer)
	}
	return err
}

// apply checks the answer and shows its card, except on a card in streaming mode, which ignores it.
func (pr *press) apply(answer json.RawMessage, fs *files) error {
	var in struct {
		Toast *struct {
			Type string `json:"type"`
		} `json:"toast"`
		Card *struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"card"`
	}
	if err := json.Unmarshal(answer, &in); err != nil {
		return &PressError{codeToastBody, "the callback's answer is malformed: " + err.Error()}
	}
	if t := in.Toast; t != nil && !slices.Contains([]string{"", "info", "success", "error", "warning"}, t.Type) {
		return &PressError{codeToastBody, "unknown type of toast " + t.Type}
	}
	switch {
	case in.Card == nil || in.Card.Type == "template":
		return nil
	case in.Card.Type != "raw":
		return &PressError{codeToastCard, "unknown type of card " + in.Card.Type}
	}
	root, f := parseCard(string(in.Card.Data))
	if f == nil {
		f = checkCard(root, fs.ownImage)
	}
	if f != nil {
		return &PressError{codeToastCard, f.msg}
	}
	if e := pr.message.entity; e == nil || !e.streaming {
		pr.message.showCard(root, "callback")
	}
	return nil
}
