package feishusim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrIncomplete means that a form cannot be submitted with these values: the client shows the user why, and the bot
// gets no event.
var ErrIncomplete = errors.New("the form cannot be sent like this")

// Press makes a user press the button with this value and returns the bot's answer to the callback, once the answer's
// card is shown. The button must be on the card or have been on it: people press what they still see.
func (p *people) Press(ctx context.Context, messageID string, by User, value any) (json.RawMessage, error) {
	return p.Submit(ctx, messageID, by, value, nil)
}

// Submit makes a user fill in the form that contains the button with this value, and press it; see Press. filled holds
// the chosen or written values, by the names of the form's components.
func (p *people) Submit(ctx context.Context, messageID string, by User, value any,
	filled map[string][]string) (json.RawMessage, error) {
	action := Action{Value: value}
	form, name := p.formWith(messageID, value)
	switch {
	case form != nil:
		values, err := fillIn(form, filled)
		if err != nil {
			return nil, err
		}
		action.Name, action.FormValue = name, values
	case len(filled) > 0:
		return nil, ErrNoComponent
	}
	return p.Act(ctx, messageID, by, action)
}

// formWith finds the newest form of a message that contains the button with this value; nil if there is none.
func (p *people) formWith(messageID string, value any) (form map[string]any, name string) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	// The newest state comes first: a card may have had several forms with the same button.
	for _, st := range slices.Backward(w.messages.must(messageID).States) {
		var card any
		if json.Unmarshal(st.Card, &card) != nil {
			continue
		}
		eachTag(card, func(tag string, el map[string]any) {
			if tag != "form" {
				return
			}
			eachTag(el["elements"], func(tag string, button map[string]any) {
				if tag == "button" && submits(button) && calls(button, mustJSON(value)) {
					form, name = el, text(button["name"])
				}
			})
		})
		if form != nil || hasComponent(card, Action{Value: value, Tag: "button"}) {
			return form, name
		}
	}
	return nil, ""
}

// fillIn returns the form values in a callback (doc: feishu-cards/card-callback-communication).
func fillIn(form map[string]any, filled map[string][]string) (map[string]any, error) {
	values, err := make(map[string]any), error(nil)
	eachTag(form["elements"], func(tag string, el map[string]any) {
		if name := text(el["name"]); err == nil && tag != "button" && strings.Contains(interactiveTags, " "+tag+" ") {
			values[name], err = fillOne(tag, el, filled[name])
		}
	})
	for name := range filled {
		if _, ok := values[name]; err == nil && !ok {
			err = fmt.Errorf("%w: it has no %q", ErrNoComponent, name)
		}
	}
	return values, err
}

// fillOne returns the value of one component, from the user's choice or text.
func fillOne(tag string, el map[string]any, filled []string) (any, error) {
	if el["required"] == true && len(filled) == 0 {
		return nil, fmt.Errorf("%w: %q is required", ErrIncomplete, text(el["name"]))
	}
	if tag == "multi_select_static" {
		return append([]string{}, filled...), chosen(el, filled)
	}
	if len(filled) > 1 {
		return nil, fmt.Errorf("%w: %q takes one value", ErrIncomplete, text(el["name"]))
	}
	value := strings.Join(filled, "")
	switch most, limited := el["max_length"].(float64); {
	case tag == "select_static":
		return value, chosen(el, filled)
	case limited && utf8.RuneCountInString(value) > int(most):
		return nil, fmt.Errorf("%w: %q is too long", ErrIncomplete, text(el["name"]))
	}
	return value, nil
}

func chosen(el map[string]any, filled []string) error {
	options, _ := el["options"].([]any)
	for _, v := range filled {
		if !slices.ContainsFunc(options, func(o any) bool { return member(o, "value") == v }) {
			return fmt.Errorf("%w: %q has no option %q", ErrNoComponent, text(el["name"]), v)
		}
	}
	return nil
}
