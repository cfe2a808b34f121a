package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// maxSuggested is the maximum length of a suggested question in characters, that of a button's label. Users must see
// all of what they ask.
const maxSuggested = 60

// allowedSuggestion is a suggested question that may be asked; empty = it must not. A text from a model must not give
// commands or mention anyone, nor show what is redacted in the History.
func (cfg Config) allowedSuggestion(question string) string {
	question = text.Visible(question)
	if _, command, _ := parseCommand(question); command != "" || strings.HasPrefix(question, "//") {
		return ""
	}
	long, mentions := utf8.RuneCountInString(question) > maxSuggested, strings.Contains(question, "<")
	if long || mentions || cfg.redactForHistory(question) != question {
		return ""
	}
	return question
}

// awaitedSuggestion is the suggestion of a turn. It may arrive before or after the turn's end is stored.
type awaitedSuggestion struct {
	mu    sync.Mutex
	said  *claude.Suggestion
	offer func(claude.Suggestion) // nil = the end is not stored yet
}

func (a *awaitedSuggestion) arrive(s claude.Suggestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said = &s; a.offer != nil {
		a.offer(s)
	}
}

// offerWhenReady offers the suggestion, now or when it arrives.
func (a *awaitedSuggestion) offerWhenReady(offer func(claude.Suggestion)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offer = offer; a.said != nil {
		offer(*a.said)
	}
}

// suggestAfter offers the suggestion of a turn whose end is stored as a button below its answer. Nothing waits for it.
func (r *turnRunner) suggestAfter(ctx context.Context, t *turn, end turncard.Outcome) {
	if end.State != convo.Done || t.Chat.Kind != chat.Private {
		return
	}
	log, view := zerolog.Ctx(ctx).With().Logger(), t.view
	t.suggestion.offerWhenReady(func(s claude.Suggestion) {
		r.outbox.EnqueueJob(func(ctx context.Context) {
			r.suggest(log.WithContext(ctx), t.Claim, view.Finish(end), s)
		})
	})
}

// costTimeout limits how long the CLI may take to report the cost of a suggestion.
const costTimeout = 10 * time.Second

func (r *turnRunner) suggest(ctx context.Context, c db.Claim, v turncard.State, s claude.Suggestion) {
	log := zerolog.Ctx(ctx)
	if question := r.cfg.allowedSuggestion(s.Text); question != "" {
		card := delivery.RedactCard(v.WithSuggestion(question).Card(time.Now()), r.cfg.Secrets)
		err := r.db.Turns().Suggest(ctx, c.Turn, card)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			log.Error().Err(err).Msg("suggestion not stored")
		}
		r.outbox.Wake(c.Turn.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, costTimeout)
	defer cancel()
	cost, err := s.Cost(ctx)
	if err != nil {
		log.Warn().Err(err).Msg("cost of a suggestion not known")
		return
	}
	if cost.Usage == (claude.Usage{}) {
		return
	}
	e := db.Expense{Key: c.Turn.Key, Purpose: db.ForSuggestion}
	if len(c.Asked) > 0 { // the questions of a follow-up may have been deleted meanwhile
		e.User = c.Asked[0].Actor.ID
	}
	r.budget.Book(ctx, e, cost)
}

// askSuggested asks a suggested question on behalf of whoever pressed its button: once, and only as long as nothing
// else was asked.
func (cs *commandSet) askSuggested(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	question := cs.cfg.allowedSuggestion(p.Action.ID) // it comes from the platform, and may be forged
	if question == "" {
		return i18n.SuggestionOver.In(l), nil
	}
	ask := func(context.Context, invocation) (commandResult, error) {
		return commandResult{ask: question, effects: []db.Effect{db.IfLast{Turn: p.Action.Turn}}}, nil
	}
	switch err := cs.executePress(ctx, p, db.PressID(fmt.Sprintf("suggestion:%d", p.Action.Turn)), "", ask); {
	case errors.Is(err, db.ErrNotFound):
		return i18n.SuggestionOver.In(l), nil
	case err != nil:
		return "", err
	}
	return i18n.SuggestionAsked.In(l), nil
}
