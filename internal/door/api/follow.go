package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// answer is what a program gets for a message.
type answer struct {
	text   string
	turn   int64
	state  string // of the turn; empty = no turn answers it, as for a command
	notice string // why there is no whole answer, for people; empty = there is one
	usage  usage
}

// poll is how often it is looked for what other bridges show.
const poll = 500 * time.Millisecond

// follow waits for the answer to a message, and calls grow with the text so far whenever it has changed. What was shown in
// the chat up to the number after does not count.
func (d *Door) follow(ctx context.Context, key chat.Key, message string, after int64, grow func(text string)) (answer, error) {
	changes, leave := d.hub.watch(key, "")
	defer leave()
	var last string
	var failing time.Time // since when
	for {
		a, over, err := d.look(ctx, key, message, after)
		switch {
		case over:
			return a, err
		case err == nil:
			failing = time.Time{}
		case failing.IsZero():
			failing = time.Now()
			d.log.Warn().Err(err).Stringer("chat", key).Msg("an answer over HTTP is not found; trying again")
		case time.Since(failing) > patience:
			return answer{}, err
		}
		if a.text != last && isOpen(a.state) { // otherwise it may tell why there is no answer
			last = a.text
			grow(last)
		}
		select {
		case <-changes:
		case <-time.After(poll):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// patience is for how long a database may not answer.
const patience = 5 * time.Minute

// past is the answer of a turn of which nothing will be shown any more: so long ago that this was deleted, or it never was.
func (d *Door) past(ctx context.Context, key chat.Key, a answer) (_ answer, over bool, err error) {
	if a.text, err = d.store.Answer(ctx, key, a.turn); err != nil {
		return answer{}, false, err
	} else if a.text == "" {
		return a, true, &problem{http.StatusUnprocessableEntity, "server_error", "turn_" + a.state, "The turn has ended without an answer."}
	}
	return a, true, nil
}

// look is the answer so far, and whether it is over. If it is not, an error may pass.
func (d *Door) look(ctx context.Context, key chat.Key, message string, after int64) (a answer, over bool, err error) {
	r, err := d.store.ReplyTo(ctx, key, message)
	if err != nil {
		return answer{}, false, err
	}
	if r.Turn == 0 { // a command, or a message of which the bridge thinks otherwise
		s, err := d.replyTo(ctx, key, message, after)
		if err != nil || s == nil {
			return answer{}, false, err
		}
		return answer{text: words(*s)}, true, nil
	}
	a.state, a.turn = r.State, r.Turn
	s, err := d.get(ctx, key, r.Card)
	if err != nil && !errors.Is(err, programs.ErrNotShown) {
		return answer{}, false, err
	}
	if err == nil {
		a.text = words(s)
	}
	switch isOver := !isOpen(r.State); {
	case isOver && s.Closed:
	case !isOver, r.Waits: // it was looked for these before what is shown
		return a, false, nil
	default:
		return d.past(ctx, key, a)
	}
	if r.State != convo.Done.String() {
		a.notice = strings.Trim(s.Card.Title+": "+a.text, ": ")
	}
	a.usage = d.usageOf(ctx, key, r.Turn)
	return a, true, nil
}

// isOpen reports whether a turn in this state goes on.
func isOpen(state string) bool {
	return slices.Contains([]string{convo.Queued.String(), convo.Running.String()}, state)
}

// replyTo is the text or card that answers a message without a turn; nil = none does yet.
func (d *Door) replyTo(ctx context.Context, key chat.Key, message string, after int64) (*shown, error) {
	list, err := d.store.Since(ctx, key, after)
	if err != nil {
		return nil, err
	}
	for _, row := range list {
		var s shown
		if err := json.Unmarshal([]byte(row.Content), &s); err != nil {
			return nil, err
		}
		if s.To == message && (s.Card == nil || s.Closed) {
			return &s, nil
		}
	}
	return nil, nil
}

// words are the text of an answer.
func words(s shown) string {
	if s.Card == nil {
		return s.Text
	}
	parts := []string{}
	for _, p := range s.Card.Earlier {
		parts = append(parts, p.Body)
	}
	parts = append(parts, s.Card.Body)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// growing is a text of which only what is new can be passed on.
type growing struct{ sent string }

// more is what comes next of a text. One that was begun anew waits for its end, and then comes once more as a whole.
func (g *growing) more(all string, isWhole bool) (next string) {
	rest, goesOn := strings.CutPrefix(all, g.sent)
	switch {
	case goesOn:
		g.sent = all
		return rest
	case isWhole && strings.TrimSpace(all) != strings.TrimSpace(g.sent):
		g.sent = all
		return "\n\n" + all
	}
	return ""
}
