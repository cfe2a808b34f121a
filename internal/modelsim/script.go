package modelsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Rule answers requests with steps instead of the brain.
type Rule struct {
	Name  string              // for people
	Match func(*Request) bool // which requests; nil = all
	Times int                 // how many requests; 0 = any number
	Steps []Step              // the answer; none = an answer without content
}

// script holds the rules.
type script struct {
	mu    sync.Mutex
	rules []*scriptedRule
}

// scriptedRule counts its uses, since a rule may be limited to a number of them.
type scriptedRule struct {
	Rule
	used int
}

// Script adds rules before the existing ones. The first matching rule with uses left answers a request. Match functions
// run one at a time.
func (s *script) Script(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*scriptedRule, 0, len(rules)+len(s.rules))
	for _, r := range rules {
		list = append(list, &scriptedRule{Rule: r})
	}
	s.rules = append(list, s.rules...)
}

func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// nextSteps returns the steps of the rule for r and counts its use.
func (s *script) nextSteps(r *Request) ([]Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rule := range s.rules {
		left := rule.Times == 0 || rule.used < rule.Times
		if left && (rule.Match == nil || rule.Match(r)) {
			rule.used++
			return slices.Clone(rule.Steps), true
		}
	}
	return nil, false
}

// Step is one part of an answer. Nothing is sent, not even headers, before the first step that has something to send.
type Step interface {
	do(ctx context.Context, a *answer) error
}

type stepFunc func(ctx context.Context, a *answer) error

func (f stepFunc) do(ctx context.Context, a *answer) error { return f(ctx, a) }

// Text sends s as one delta. It opens a text block when none is open; Text("") does only that.
func Text(s string) Step {
	return stepFunc(func(_ context.Context, a *answer) error { return a.text(s) })
}

// Chunks sends s in deltas of that many runes with a pause between two.
func Chunks(s string, runes int, every time.Duration) Step {
	return stepFunc(func(ctx context.Context, a *answer) error {
		first := true
		for part := range slices.Chunk([]rune(s), max(runes, 1)) {
			if !first {
				if err := wait(ctx, every); err != nil {
					return err
				}
			}
			first = false
			if err := a.text(string(part)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Thinking sends s as one delta of a thinking block.
func Thinking(s string) Step {
	return stepFunc(func(_ context.Context, a *answer) error { return a.thinking(s) })
}

// Tool sends a tool call; input is anything that encodes to a JSON object. The stop reason becomes tool_use.
func Tool(name string, input any) Step {
	raw, err := json.Marshal(input)
	return stepFunc(func(_ context.Context, a *answer) error {
		if err != nil {
			return a.fail(&apiError{
				http.StatusInternalServerError, "api_error", fmt.Sprintf("modelsim: input of tool %s: %v", name, err),
			})
		}
		return a.tool(name, string(raw))
	})
}

// Wait pauses.
func Wait(d time.Duration) Step {
	return stepFunc(func(ctx context.Context, _ *answer) error { return wait(ctx, d) })
}

// Hold waits until ch is closed. It ends with the client or the server, too.
func Hold(ch <-chan struct{}) Step {
	return stepFunc(func(ctx context.Context, _ *answer) error {
		select {
		case <-ch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Fail ends the answer with an error: an HTTP error if nothing was sent yet, otherwise an error event in the stream.
func Fail(status int, errType, message string) Step {
	return stepFunc(func(_ context.Context, a *answer) error { return a.fail(&apiError{status, errType, message}) })
}

// Reply sends a whole response that need not have the form of the API, as what stands between a client and the model
// may.
func Reply(status int, header map[string]string, body string) Step {
	return stepFunc(func(_ context.Context, a *answer) error {
		for name, value := range header {
			a.w.Header().Set(name, value)
		}
		a.call.status(status)
		a.w.WriteHeader(status)
		if _, err := a.w.Write([]byte(body)); err != nil {
			return err
		}
		return errEnded
	})
}

// errCut and errEnded end an answer in their own ways.
var (
	errCut   = errors.New("connection cut by the script")
	errEnded = errors.New("answer ended by an error")
)

// Cut closes the connection at this point: in mid-stream, or without any response if nothing was sent. A client may
// drop what came right before it; a [Hold] in between, until that was seen, prevents that.
func Cut() Step {
	return stepFunc(func(context.Context, *answer) error { return errCut })
}

// Hang sends nothing more until the client leaves or the server closes.
func Hang() Step { return Hold(nil) }

// Usage reports this many input tokens for the request instead of counting them. It must come before any output.
func Usage(tokens int) Step {
	return stepFunc(func(_ context.Context, a *answer) error {
		a.usage = newUsage(tokens)
		return nil
	})
}

// Stop sets another stop reason: max_tokens, refusal.
func Stop(reason string) Step {
	return stepFunc(func(_ context.Context, a *answer) error {
		a.stop = reason
		return nil
	})
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
