package claude

import (
	"context"
	"sync"

	"github.com/tidwall/gjson"
)

// Suggestion is a model's guess of the user's next question: an unchecked text.
type Suggestion struct {
	Text  string
	p     *Process
	turns int // started by the process when it came
}

// OnSuggestion sets the function that gets the suggestion after the process's next turn. The suggestion comes, if at
// all, some time after the turn's [stream.Result] and before the process starts another turn. f is called at most once and
// must not block.
func (p *Process) OnSuggestion(f func(Suggestion)) {
	p.out.suggestions.expectNext(func(text string) { f(Suggestion{text, p, p.meter.turns()}) })
}

// Cost is the cost of the suggestion, without a text. It is zero if the process has started another turn, whose cost
// then includes it.
func (s Suggestion) Cost(ctx context.Context) (Reply, error) {
	return unreportedCost(ctx, s.p, s.turns)
}

// suggestions forwards the suggestions of a process.
type suggestions struct {
	mu    sync.Mutex
	after func(text string) // gets the suggestion of the current or next turn; nil = nobody
	want  func(text string) // gets a suggestion that may come now; nil = none may
	over  bool              // the result of the running turn has come
	early string            // a suggestion that came after it; empty = none
}

func (s *suggestions) expectNext(f func(text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
}

// turnStarted records the start of a turn: a suggestion that comes now belongs to an earlier one.
func (s *suggestions) turnStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want, s.early, s.over = nil, "", false
}

// turnEnded records the end of the turn: a suggestion that comes now belongs to it, and so does one that came after its
// result.
func (s *suggestions) turnEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want, s.after = s.after, nil
	if s.want != nil && s.early != "" {
		s.want(s.early)
		s.want, s.early = nil, ""
	}
}

// handleLine forwards a line if it is a suggestion that may come now. One that comes before the turn has read its own
// result is kept until then.
func (s *suggestions) handleLine(line []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.want == nil && s.after == nil {
		return false
	}
	switch gjson.GetBytes(line, "type").String() {
	case "result":
		s.over = true
		return false
	case "prompt_suggestion":
	default:
		return false
	}
	text := gjson.GetBytes(line, "suggestion").String()
	switch {
	case s.want != nil:
		s.want(text)
		s.want = nil
	case s.over:
		s.early = text
	}
	return true
}
