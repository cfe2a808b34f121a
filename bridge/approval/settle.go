package approval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// resolve stores the outcome of an approval, and then tells the agent or the turn that continues.
func (rs *Requests) resolve(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	ctx = context.WithoutCancel(ctx)
	a, s = rs.complete(ctx, a, s)
	if err := rs.store.Access().Settle(ctx, a, s); err != nil {
		return err
	}
	return rs.settled(ctx, a, s, v)
}

// complete prepares an outcome for the store: without secrets, with the card that shows it, and for the History.
func (rs *Requests) complete(ctx context.Context, a db.Approval, s db.Settling) (db.Approval, db.Settling) {
	a.Words = rs.secrets.Text(a.Words) // the agent reads the text as it was written
	if s.AgentWaiting = rs.open.hasAgent(a.ID); s.AgentWaiting {
		s.GoOn, a.Answers = nil, nil
	} else if a.Answers != nil {
		a.Answers = json.RawMessage(rs.secrets.Text(string(a.Answers)))
	}
	if s.Card.Status == "" {
		s.Card = Card(a, rs.language(ctx, a.Key))
	}
	// until the agent writes, only the turn's card above this one changes
	if s.AgentWaiting && a.State != convo.Withdrawn {
		s.Card.Footer = i18n.ApprovalGoesOnBelow.In(rs.language(ctx, a.Key))
	}
	s.Action = db.Action{
		Use: a.ID, Tool: a.Tool, Input: ShortInput(a.Input, rs.redact),
		Decision: outcomes[a.State], Reason: rs.redact(a.Words),
	}
	if s.Always {
		s.Action.Decision, s.Action.Reason = AllowedAlways, ""
	}
	return a, s
}

// The decisions about tool calls in the History: see [db.Action].
const (
	AllowedOnce   = "allowed"
	AllowedAlways = "always" // in this chat from then on
	AllowedByRule = "rule"
	Denied        = "denied" // by a user, or without asking
	Unanswered    = "expired"
	NotNeeded     = "withdrawn"
)

// outcomes map approval states to outcomes in the History.
var outcomes = map[convo.Verdict]string{
	convo.Allowed: AllowedOnce, convo.Denied: Denied, convo.Expired: Unanswered, convo.Withdrawn: NotNeeded,
}

// settled tells the agent, or the turn that continues, an outcome that is stored.
func (rs *Requests) settled(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	crashAfter(a.State)
	rs.outbox.Wake(a.Key)
	if s.GoOn != nil {
		rs.interrupted.Wake(a.Key)
	}
	p, _ := rs.open.remove(a.ID)
	// An agent may have repeated the request while this was being stored.
	if decided := a.State == convo.Allowed || a.State == convo.Denied; decided && !s.AgentWaiting && p.answer != nil {
		if err := rs.useDecision(ctx, a); err != nil { // a decision must not be used twice
			p.tellAgent(claude.Decision{Why: notAsked})
			return err
		}
	}
	if p.tellAgent(v) || !s.AgentWaiting || a.State != convo.Allowed {
		return nil
	}
	// The turn ended while this was stored, so nothing was run.
	return rs.end(ctx, a, convo.Withdrawn, db.Settling{}, "")
}

// crashAfter marks the step after the end of an approval.
func crashAfter(end convo.Verdict) {
	switch end {
	case convo.Expired:
		failpoint.At("approval: expired")
	case convo.Withdrawn:
		failpoint.At("approval: withdrawn")
	default:
		failpoint.At("decision: stored")
	}
}

// end ends an approval without a decision, or although its decision could not be used. Its agent is told why even if
// that is not stored: then the next start closes the card. It returns [db.ErrNotFound] if there is nothing to end, since
// somebody decided just now.
func (rs *Requests) end(ctx context.Context, a db.Approval, as convo.Verdict, s db.Settling, why string) error {
	s.From, a.Settlement = a.State, db.Settlement{State: as}
	v := claude.Decision{Why: why}
	err := rs.resolve(ctx, a, s, v)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		rs.release(a.ID, v, err)
	}
	return err
}

// release tells an agent why it need not wait any longer, although that is not stored.
func (rs *Requests) release(id string, v claude.Decision, err error) {
	rs.log.Error().Err(err).Str("approval", id).Msg("end of an approval not stored")
	p, _ := rs.open.remove(id)
	p.tellAgent(v)
}

// waiting returns what people are still asked, or [db.ErrNotFound].
func (rs *Requests) waiting(ctx context.Context, id string) (db.Approval, error) {
	a, err := rs.store.Access().Approval(context.WithoutCancel(ctx), id)
	if err == nil && a.State != convo.Waiting {
		err = db.ErrNotFound
	}
	return a, err
}

// expire ends an approval that nobody has decided in time.
func (rs *Requests) expire(ctx context.Context, a db.Approval) {
	failpoint.At("approval: expiring")
	log := rs.log.With().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Logger()
	log.Info().Msg("approval expired")
	hadAgent := rs.open.hasAgent(a.ID)
	if err := rs.end(ctx, a, convo.Expired, db.Settling{}, undecidedText(a.Tool)); err != nil || hadAgent {
		return
	}
	ctx = context.WithoutCancel(ctx)
	a, err := rs.store.Access().Approval(ctx, a.ID) // another turn may have taken it over
	if err == nil {
		err = rs.interrupted.AskNoMore(ctx, a, rs.language(ctx, a.Key))
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		log.Error().Err(err).Msg("end of an approval not stored")
	}
}

// withdrawUnseen ends an approval whose card cannot be shown and is replaced by a notice: nobody can decide, so the
// agent need not wait. It returns false if the approval was no longer open.
func (rs *Requests) withdrawUnseen(ctx context.Context, id, notice string) bool {
	if _, ok := rs.open.get(id); !ok {
		return false
	}
	a, err := rs.waiting(ctx, id)
	if err == nil {
		done := a
		done.State = convo.Withdrawn
		line := OutcomeLine(done, rs.language(ctx, a.Key))
		card := chat.Card{Status: line, Body: notice, Summary: line}
		err = rs.end(ctx, a, convo.Withdrawn, db.Settling{Card: card}, notAsked)
	} else if !errors.Is(err, db.ErrNotFound) {
		rs.release(id, claude.Decision{Why: notAsked}, err)
	}
	if errors.Is(err, db.ErrNotFound) { // somebody decided just now
		return false
	}
	rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", id).
		Msg("nobody can be asked: the card cannot be shown; tool refused")
	return err == nil
}

// Reconsider withdraws approvals of a chat that no turn needs any more: an interrupted turn was dropped, or a new
// conversation has begun.
func (rs *Requests) Reconsider(key chat.Key) {
	rs.jobs.Enqueue(func(ctx context.Context) {
		if err := rs.reconsider(ctx, key); err != nil { // they expire
			rs.log.Error().Err(err).Stringer("chat", key).Msg("unneeded approval not withdrawn")
		}
	})
}

func (rs *Requests) reconsider(ctx context.Context, key chat.Key) error {
	if !rs.open.isIn(key) {
		return nil
	}
	c, err := rs.store.Turns().Of(ctx, key)
	if err != nil {
		return err
	}
	for _, r := range c.Requests {
		if p, open := rs.open.get(r.ID); !open || p.answer != nil || c.MayGoOn(r.NeededBy) {
			continue
		}
		a, failed := rs.waiting(ctx, r.ID)
		if failed == nil {
			a.State = convo.Withdrawn
			failed = rs.resolve(ctx, a, db.Settling{From: convo.Waiting}, claude.Decision{Why: notAsked})
		}
		if failed != nil && !errors.Is(failed, db.ErrNotFound) {
			err = failed
		}
	}
	return err
}

const (
	leastHalf = time.Minute // no reminder if half of an approval's time is less
	maxCalled = 10          // users in one message
)

// startTimers starts the timers of an approval: a reminder after half of its time, and its end. What is asked does not
// change, but another turn may need it by then.
func (rs *Requests) startTimers(a db.Approval) []*time.Timer {
	at := func(t time.Time, do func(context.Context, db.Approval)) *time.Timer {
		return time.AfterFunc(time.Until(t), func() { rs.jobs.Enqueue(func(ctx context.Context) { do(ctx, a) }) })
	}
	timers := []*time.Timer{at(a.Expires, rs.expire)}
	half := a.Expires.Sub(a.Created) / 2
	if half < leastHalf || time.Until(a.Expires) < leastHalf {
		return timers
	}
	return append(timers, at(a.Created.Add(half), rs.remind))
}

// remind reminds those who may decide about an approval, once.
func (rs *Requests) remind(ctx context.Context, a db.Approval) {
	p, ok := rs.open.get(a.ID)
	if !ok {
		return
	}
	users := a.Askers
	if p.admins {
		users = rs.access.At(a.Key).AdminUsers()
	}
	users = slices.DeleteFunc(slices.Clone(users), func(id string) bool { return !a.Key.Owns(id) }) // called elsewhere
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	l, says := rs.language(ctx, a.Key), i18n.ApprovalAgain
	if stream.AsksPeople(a.Tool) {
		says = i18n.QuestionAgain
	}
	left := strings.TrimSpace(i18n.RoughDuration(time.Until(a.Expires).Round(time.Minute), l))
	text := says.Sprintf(l, left)
	err := rs.store.Access().Remind(ctx, a, text, users[:min(len(users), maxCalled)])
	log := rs.log.With().Stringer("chat", a.Key).Str("approval", a.ID).Logger()
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		log.Error().Err(err).Msg("reminder about an approval not stored")
	default:
		log.Info().Msg("reminder about an approval sent")
		rs.outbox.Wake(a.Key)
	}
}

// nobodyMayAllow tells the agent that no admin can be asked.
const nobodyMayAllow = "Only an admin may allow this, and none can be asked in this chat. Do not try it again or by " +
	"other means. Tell the user what you wanted to do and why, and that an admin has to ask for it."

// showClosedRequest shows a request that nobody here may allow, and why.
func (rs *Requests) showClosedRequest(ctx context.Context, a db.Approval, touched TouchedPaths, replyTo string) {
	ctx, log := context.WithoutCancel(ctx), zerolog.Ctx(ctx)
	l := rs.language(ctx, a.Key)
	why := i18n.AdminsAway
	if !rs.access.At(a.Key).HasAdmin() {
		why = i18n.NoAdmins
	}
	done := a
	done.State = convo.Withdrawn
	card := Card(done, l)
	card.Status = why.In(l)
	card.Summary = card.Status
	card.Footer = touched.AdminsOnlyText(l)
	if err := rs.store.Access().Ask(ctx, a, card, replyTo); err == nil {
		_ = rs.end(ctx, a, convo.Withdrawn, db.Settling{Card: card}, "") // if that is not stored, the next start does it
	} else {
		log.Error().Err(err).Str("tool", a.Tool).Msg("card about a refused tool not stored")
	}
	log.Warn().Str("tool", a.Tool).Msg("tool refused: only an admin may allow it, and none can be asked here")
}
