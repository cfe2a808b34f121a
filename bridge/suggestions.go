package bridge

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// mostSuggested is how many characters a suggested question may have: those of a button's label. People must see the
// whole of what they ask.
const mostSuggested = 60

// suggested is a suggested question as it may be asked; empty if it may not. What a model has written gives no commands
// and mentions nobody, and what would be kept out of the History is not shown either.
func (cfg Config) suggested(question string) string {
	question = text.Visible(question)
	if _, command, _ := parseCommand(question); command != "" || strings.HasPrefix(question, "//") {
		return ""
	}
	long, mentions := utf8.RuneCountInString(question) > mostSuggested, strings.Contains(question, "<")
	if long || mentions || cfg.kept(question) != question {
		return ""
	}
	return question
}

// awaitedSuggestion is what is suggested behind a turn. It may come before or after the end of the turn is stored.
type awaitedSuggestion struct {
	mu    sync.Mutex
	said  *claude.Suggestion
	offer func(claude.Suggestion) // nil = the end is not stored
}

func (a *awaitedSuggestion) came(s claude.Suggestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said = &s; a.offer != nil {
		a.offer(s)
	}
}

// stored has the suggestion offered, now or when it comes.
func (a *awaitedSuggestion) stored(offer func(claude.Suggestion)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offer = offer; a.said != nil {
		offer(*a.said)
	}
}

// suggestions offers what the agent suggests to ask next, by a button below its answer.
type suggestions struct {
	cfg    *Config
	turns  db.Turns
	budget *budget
	outbox *delivery.Outbox
}

// after offers what is suggested behind a turn that has ended and is stored. Nobody waits for it.
func (sg suggestions) after(ctx context.Context, t *turn, end turncard.Outcome) {
	if end.State != db.Done || t.claim.Chat.Kind != chat.Private {
		return
	}
	log, view := zerolog.Ctx(ctx).With().Logger(), t.view
	t.suggestion.stored(func(s claude.Suggestion) {
		sg.outbox.EnqueueJob(func(ctx context.Context) {
			sg.offer(log.WithContext(ctx), t.claim, view.Finish(end), s)
		})
	})
}

// costTimeout is how long the CLI may take to tell what a suggestion has cost.
const costTimeout = 10 * time.Second

func (sg suggestions) offer(ctx context.Context, c db.Claim, v turncard.State, s claude.Suggestion) {
	log := zerolog.Ctx(ctx)
	if question := sg.cfg.suggested(s.Text); question != "" {
		card := delivery.RedactCard(v.Suggesting(question).Card(time.Now()), sg.cfg.Secrets)
		err := sg.turns.Suggest(ctx, c.Turn, card)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			log.Error().Err(err).Msg("suggestion not stored")
		}
		sg.outbox.Wake(c.Turn.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, costTimeout)
	defer cancel()
	cost, err := s.Cost(ctx)
	if err != nil {
		log.Warn().Err(err).Msg("cost of a suggestion not known")
		return
	}
	if cost.Usage != (claude.Usage{}) {
		sg.budget.book(ctx, db.Expense{Key: c.Turn.Key, User: c.Asked[0].Actor.ID, Purpose: "suggestion"}, cost)
	}
}

// askSuggested asks what a button suggests, as whoever presses it: once, and only while nothing else was asked.
func (r commandRunner) askSuggested(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	question := r.cfg.suggested(p.Action.ID) // it comes from the platform, and may be made up
	if question == "" {
		return i18n.SuggestionOver.In(l), nil
	}
	ask := func(context.Context, ordered) (order, error) {
		return order{ask: question, effects: []db.Effect{db.AskSuggested{Turn: p.Action.Turn}}}, nil
	}
	switch err := r.pressed(ctx, p, db.SuggestionID(p.Action.Turn), "", ask); {
	case errors.Is(err, db.ErrNotFound):
		return i18n.SuggestionOver.In(l), nil
	case err != nil:
		return "", err
	}
	return i18n.SuggestionAsked.In(l), nil
}
