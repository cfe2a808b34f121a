package modeldouble

import (
	"encoding/json"
	"time"
)

// Rule answers the requests that it matches.
type Rule struct {
	Match func(*Request) bool // nil = every request
	Times int                 // how often; 0 = always
	Steps []Step
}

// Step is one step of an answer. The functions below make them.
type Step func(p *player) (more bool)

// Text sends a text in one piece.
func Text(s string) Step {
	return func(p *player) bool { return p.text(s) }
}

// Chunks sends a text in pieces of so many runes, with a pause before each but the first.
func Chunks(s string, runes int, every time.Duration) Step {
	return func(p *player) bool {
		all := []rune(s)
		for i := 0; i < len(all); i += runes {
			if i > 0 && !p.wait(every) {
				return false
			}
			if !p.text(string(all[i:min(i+runes, len(all))])) {
				return false
			}
		}
		return true
	}
}

// Thinking sends a piece of reasoning.
func Thinking(s string) Step {
	return func(p *player) bool {
		return p.open("thinking", object{"type": "thinking", "thinking": "", "signature": ""}) &&
			p.delta(object{"type": "thinking_delta", "thinking": s}) && p.delta(object{"type": "signature_delta", "signature": "c2ln"})
	}
}

// Tool makes the model use a tool.
func Tool(name string, input any) Step {
	return func(p *player) bool {
		data, err := json.Marshal(input)
		if err != nil {
			panic(err) // a mistake in a test
		}
		return p.tool(name, data)
	}
}

// Wait pauses.
func Wait(d time.Duration) Step { return func(p *player) bool { return p.wait(d) } }

// Hold pauses until ch is closed.
func Hold(ch <-chan struct{}) Step {
	return func(p *player) bool {
		select {
		case <-ch:
			return true
		case <-p.ctx.Done():
		case <-p.s.quit:
		}
		return false
	}
}

// Fail is an error of the API: an HTTP status as the first step, an error in the stream later.
func Fail(status int, kind, message string) Step {
	return func(p *player) bool { p.fail(status, kind, message); return false }
}

// Cut breaks the connection.
func Cut() Step { return func(p *player) bool { p.cut(); return false } }

// Hang says nothing more until the client goes.
func Hang() Step { return Hold(nil) }

// Stop ends the answer with another reason than "end_turn", such as "max_tokens" or "refusal".
func Stop(reason string) Step {
	return func(p *player) bool { p.reason = reason; return true }
}
