package claude

import (
	"context"
	"sync"

	"github.com/tidwall/gjson"
)

// suggestOption makes the CLI suggest behind each answer what its user may ask next. Those that do not know it refuse
// to start.
const suggestOption = "--prompt-suggestions"

// suggestArguments have suggestions made, if that is wanted and the CLI can.
func (a agent) suggestArguments(spec Spec) []string {
	if !spec.Suggest || !a.cfg.Suggestions {
		return nil
	}
	if knows, _ := knownPrograms.knows(a.cfg.Command, suggestOption); !knows {
		return nil
	}
	return []string{suggestOption}
}

// Suggestion is what the user may ask next, as a model guesses: a text that nobody has checked.
type Suggestion struct {
	Text  string
	p     *Process
	turns int // that the process had begun when it came
}

// OnSuggestion sets what gets the suggestion behind the process's next turn. That comes, if at all, some time after the
// turn's [Result] and before the process begins another turn. f is called once at most and must not block.
func (p *Process) OnSuggestion(f func(Suggestion)) {
	p.out.suggestions.next(func(text string) { f(Suggestion{text, p, p.meter.turns()}) })
}

// Cost is what the model took for the suggestion, without a text. It is zero if the process has begun another turn:
// then it is part of what that turn costs.
func (s Suggestion) Cost(ctx context.Context) (Reply, error) { return spent(ctx, s.p, s.turns) }

// suggestions passes on what a process suggests.
type suggestions struct {
	mu    sync.Mutex
	after func(text string) // gets that behind the turn that runs or comes; nil = nobody
	want  func(text string) // gets the one that may come now; nil = none may
	over  bool              // the result of the turn that runs has come
	early string            // came behind it; empty = nothing has
}

func (s *suggestions) next(f func(text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
}

// turnStarted says that a turn begins: what comes now belongs to an earlier one.
func (s *suggestions) turnStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want, s.early, s.over = nil, "", false
}

// turnEnded says that the turn has ended: what comes now belongs to it, and what has come behind its result.
func (s *suggestions) turnEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want, s.after = s.after, nil
	if s.want != nil && s.early != "" {
		s.want(s.early)
		s.want, s.early = nil, ""
	}
}

// handleLine passes on a line if it is a suggestion that may come now. One that comes before the turn has read its own
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
