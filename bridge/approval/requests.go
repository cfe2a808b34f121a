package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Requests asks people what agents may do, each by a card of its own, and lets the agent wait until somebody decides
// or the time is over.
type Requests struct {
	rows     db.Approvals
	rules    db.Rules
	outbox   *delivery.Outbox
	language func(context.Context, chat.Key) i18n.Lang
	access   *access.Authorizer
	secrets  redact.Known
	reserved Reserved // about which only admins decide
	log      zerolog.Logger
	jobs     *workqueue.Queue // stores what was decided

	mu   sync.Mutex
	open map[string]pending // by the id of the approval: those whose agent waits
}

// pending is an approval whose agent waits.
type pending struct {
	approval db.Approval
	admins   bool   // only they may allow it
	ask      string // the agent's id of it
	answer   func(claude.Decision) bool
	timer    *time.Timer
}

// decisions is how many approvals are settled at the same time.
const decisions = 8

// Config is what the configuration says of approvals.
type Config struct {
	Protected Protected    // files about which only admins decide
	Secrets   redact.Known // a tool whose input holds one of these is refused
	// the language in which a chat is spoken to
	Language func(context.Context, chat.Key) i18n.Lang
}

// NewRequests makes what asks people. It shows its cards by way of an outbox, and admins are who the authorizer says.
func NewRequests(
	cfg Config, store *db.DB, o *delivery.Outbox, access *access.Authorizer, log zerolog.Logger,
) *Requests {
	as := &Requests{
		rows: store.Approvals(), rules: store.Rules(), outbox: o, language: cfg.Language, access: access,
		secrets: cfg.Secrets, reserved: NewReserved(cfg.Protected, store), log: log,
		jobs: workqueue.New(decisions), open: map[string]pending{},
	}
	o.OnUnseen(as.unseen)
	return as
}

// Run stores what is decided, with ctx. Once stop is closed it returns as soon as nothing is left to store.
func (as *Requests) Run(ctx context.Context, stop <-chan struct{}) { as.jobs.Run(ctx, stop) }

// Workspace is where an agent works.
type Workspace struct {
	Dir      string
	ReadOnly bool // nothing but reading in it can be allowed, by anybody
	AskAll   bool // people are asked about each use of a tool
}

// Ask has people decide about what an agent wants, unless a rule of the chat allows it. It does not wait for them, and
// reports whether the agent has to; answer is called once they have decided.
func (as *Requests) Ask(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, answer func(claude.Decision) bool,
) (waits bool) {
	log := zerolog.Ctx(ctx)
	about := as.reserved.Of(ctx, c.Turn.Key, q, w.Dir)
	if v, why := as.settled(ctx, c, w, q, about); why != "" {
		log.Info().Str("tool", q.Name).Bool("allowed", v.Allow).Msg(why)
		answer(v)
		return false
	}
	patience := as.access.Load().Patience()
	now := time.Now().Truncate(time.Millisecond)
	a := db.Approval{
		ID: uuid.NewString(), Key: c.Turn.Key, Turn: c.Turn.ID, Tool: q.Name, Input: q.Input, Project: w.Dir,
		Created: now, Expires: now.Add(patience), Settlement: db.Settlement{State: db.Waiting},
	}
	if !about.Any() {
		a.Always = PermitFor(q, w.Dir)
	}
	for _, m := range c.Asked {
		a.Askers = append(a.Askers, m.Actor.ID)
	}
	p := pending{approval: a, admins: adminsOnly(as.access.Load(), a, about), ask: q.ID, answer: answer}
	l := as.language(ctx, a.Key)
	card := Card(a, l)
	if p.admins {
		card.Footer = strings.TrimSpace(about.Notice(l) + " " + card.Footer)
	}
	if p.admins && nobodyDecides(as.access.Load(), c) {
		as.closed(ctx, a, about, c.Turn.ReplyTo)
		answer(claude.Decision{Why: nobodyMayAllow})
		return false
	}
	p.timer = time.AfterFunc(patience, func() { as.jobs.Enqueue(func(ctx context.Context) { as.expire(ctx, a) }) })
	as.mu.Lock()
	as.open[a.ID] = p // before it can be seen: somebody may press at once
	as.mu.Unlock()
	if err := as.rows.Ask(context.WithoutCancel(ctx), a, card, c.Turn.ReplyTo); err != nil {
		log.Error().Err(err).Str("tool", q.Name).Msg("nobody could be asked; tool refused")
		as.take(a.ID)
		answer(claude.Decision{Why: notAsked})
		return false
	}
	log.Info().Str("tool", q.Name).Str("approval", a.ID).Dur("patience", patience).Bool("admins", p.admins).
		Msg("people are asked for approval")
	as.outbox.Wake(a.Key)
	return true
}

// settled is the answer to what an agent wants where people need not be asked, and why that is; without a reason they
// have to be.
func (as *Requests) settled(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, about Touched,
) (v claude.Decision, why string) {
	if w.ReadOnly && q.Name != claude.QuestionTool && !OnlyReads(q, w.Dir) {
		return claude.Decision{Why: lookOnly}, "tool refused: the project is for looking only"
	}
	if w.AskAll && IsInternal(q.Name) {
		return claude.Decision{Allow: true, Input: q.Input}, "tool allowed: it is the program's own, or for the agent's own notes"
	}
	if HoldsSecret(q.Input, as.secrets) {
		return claude.Decision{Why: notWithSecrets}, "tool refused: what it wants holds a secret"
	}
	if n := as.ruled(ctx, c.Turn.Key, w.Dir, q); n != 0 && !about.Any() {
		return claude.Decision{Allow: true, Input: q.Input}, fmt.Sprintf("tool allowed by rule %d of the chat", n)
	}
	if text := Unshowable(q.Name, q.Input); text != "" {
		return claude.Decision{Why: text}, fmt.Sprintf("tool refused: what it wants, of %d bytes, cannot be shown", len(q.Input))
	}
	return claude.Decision{}, ""
}

// ruled is the number of the rule that allows what an agent wants; 0 = none does. Plan mode is for looking only, there
// no rule counts.
func (as *Requests) ruled(ctx context.Context, key chat.Key, dir string, q claude.ToolAsk) int64 {
	if q.Mode == claude.PlanMode {
		return 0
	}
	list, err := as.rules.List(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("rules not read; asking")
		return 0
	}
	for _, r := range list {
		if r.Project == dir && Covers(r.Permit, q.Name, q.Input, dir) {
			return r.Number
		}
	}
	return 0
}

// take removes a pending approval; nobody else can answer it then.
func (as *Requests) take(id string) (pending, bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	p, ok := as.open[id]
	if ok {
		p.timer.Stop()
		delete(as.open, id)
	}
	return p, ok
}

func (as *Requests) waits(id string) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	_, ok := as.open[id]
	return ok
}

// Pending reports whether people are to decide about something that a turn wants. Whatever else its agent does
// meanwhile, the turn cannot end without them.
func (as *Requests) Pending(turn int64) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, p := range as.open {
		if p.approval.Turn == turn {
			return true
		}
	}
	return false
}

// What the agent reads when nothing was decided.
const (
	notAsked = "This needs a permission, and nobody could be asked for it right now. Do not try it again or by other means. Tell the " +
		"user what you wanted to do and why."
	lookOnly = "This project is for looking only: nothing can be changed or run in it, and a plan for it cannot be approved. Do not try it by other " +
		"means. Answer with what you have found, and with your plan if there is one."
	notWithSecrets = "This holds a password or key of the program that you run in, so it can neither be shown to the user, who would have to allow it, " +
		"nor be done. Do it without that, and do not try it by other means."
	notDecided = "This needs a permission, and nobody has given it in time. Do not try it again or by other means. Tell the user what you " +
		"wanted to do and why, so that they can ask for it again."
)

// expire settles what nobody has decided in time.
func (as *Requests) expire(ctx context.Context, a db.Approval) {
	a.State = db.Expired
	as.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Msg("nobody has decided in time")
	err := as.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{Why: notDecided})
	if err != nil && !errors.Is(err, db.ErrNotFound) { // the agent is told anyway; the card is closed at the next start
		as.log.Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		if p, ok := as.take(a.ID); ok {
			p.answer(claude.Decision{Why: notDecided})
		}
	}
}

// unseen ends an approval whose card cannot be shown, as a notice says in place of it: the agent need not wait for what
// nobody can decide. It reports false when nobody waited for it any more.
func (as *Requests) unseen(ctx context.Context, id, notice string) bool {
	as.mu.Lock()
	p, ok := as.open[id]
	as.mu.Unlock()
	if !ok {
		return false
	}
	ctx, a := context.WithoutCancel(ctx), p.approval
	a.State = db.Withdrawn
	line := OutcomeLine(a, as.language(ctx, a.Key))
	err := as.rows.Settle(ctx, a, db.Settling{From: db.Waiting, Card: chat.Card{Status: line, Body: notice, Summary: line}})
	if errors.Is(err, db.ErrNotFound) { // somebody has decided just now
		return false
	} else if err != nil { // the agent is told anyway; the card is closed at the next start
		as.log.Error().Err(err).Str("approval", id).Msg("end of an approval not stored")
	}
	as.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", id).Msg("nobody can be asked: the card cannot be shown; tool refused")
	if p, ok := as.take(id); ok {
		p.answer(claude.Decision{Why: notAsked})
	}
	return err == nil
}

// settle stores what became of an approval, and then tells the agent.
func (as *Requests) resolve(ctx context.Context, a db.Approval, s db.Settling, v claude.Decision) error {
	ctx = context.WithoutCancel(ctx)
	l := as.language(ctx, a.Key)
	a.Words = as.secrets.Text(a.Words) // the agent reads them as they were written
	s.Card = Card(a, l)
	if err := as.rows.Settle(ctx, a, s); err != nil {
		return err
	}
	as.outbox.Wake(a.Key)
	p, ok := as.take(a.ID)
	if ok && p.answer(v) || a.State != db.Approved {
		return nil
	}
	// Its turn has ended while this was stored, so nothing was run.
	a.Settlement = db.Settlement{State: db.Withdrawn}
	err := as.rows.Settle(ctx, a, db.Settling{From: db.Approved, Card: Card(a, l)})
	as.outbox.Wake(a.Key)
	return err
}

// Withdraw settles what an agent does not ask any more.
func (as *Requests) Withdraw(ctx context.Context, ask string) {
	as.drop(ctx, db.Withdrawn, func(p pending) bool { return p.ask == ask })
}

// EndTurn settles what a turn still asks when it ends.
func (as *Requests) EndTurn(ctx context.Context, turn int64, end db.TurnState) {
	state := db.Withdrawn
	if end == db.Interrupted {
		state = db.Lost
	}
	as.drop(ctx, state, func(p pending) bool { return p.approval.Turn == turn })
}

// drop settles pending approvals that nobody waits for any more.
func (as *Requests) drop(ctx context.Context, state db.ApprovalState, which func(pending) bool) {
	as.mu.Lock()
	var list []db.Approval
	for id, p := range as.open {
		if which(p) {
			p.timer.Stop()
			delete(as.open, id)
			list = append(list, p.approval)
		}
	}
	as.mu.Unlock()
	for _, a := range list {
		a.State = state
		err := as.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{})
		if err != nil && !errors.Is(err, db.ErrNotFound) { // the next start closes its card
			zerolog.Ctx(ctx).Error().Err(err).Str("approval", a.ID).Msg("end of an approval not stored")
		}
	}
}

// Recover settles what an earlier process has asked: the agents that waited for it are gone.
func (as *Requests) Recover(ctx context.Context) error {
	list, err := as.rows.Waiting(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		a.State = db.Lost
		as.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).Msg("the program ended before anybody decided")
		err := as.rows.Settle(ctx, a, db.Settling{From: db.Waiting, Card: Card(a, as.language(ctx, a.Key))})
		if err != nil && !db.Permanent(err) {
			return err
		}
		as.outbox.Wake(a.Key)
	}
	return nil
}

// soon is how long who presses a button waits for his decision to be stored.
const soon = 700 * time.Millisecond

// Press takes in a decision. What does not fit to what was asked, or comes from somebody who may not decide, changes
// nothing.
func (as *Requests) Press(ctx context.Context, p chat.Press, l i18n.Lang) (string, error) {
	id, _, _ := strings.Cut(p.Action.ID, ".")
	a, err := as.rows.Get(ctx, id)
	log := as.log.With().Stringer("chat", p.Key).Str("user", p.Actor.ID).Str("approval", id).Str("do", p.Action.Do).Logger()
	switch {
	case errors.Is(err, db.ErrNotFound):
		log.Warn().Msg("press for an approval that there is not")
		return i18n.ApprovalOver.In(l), nil
	case err != nil:
		return "", err
	case a.Key.Channel != p.Key.Channel || a.Key.ID != p.Key.ID || a.Turn != p.Action.Turn || p.Action.ID != ActionID(a):
		log.Warn().Stringer("asked_in", a.Key).Msg("press for an approval does not fit to what was asked")
		return i18n.ApprovalOver.In(l), nil
	case a.State != db.Waiting || !as.waits(a.ID):
		log.Info().Str("state", string(a.State)).Msg("press for an approval that is settled")
		return i18n.ApprovalOver.In(l), nil
	case !mayDecide(as.access.Load(), a, p.Actor):
		log.Warn().Msg("somebody who may not decide has pressed")
		return i18n.ApprovalNotYours.In(l), nil
	case p.Action.Do != DoRefuse && as.forAdmins(a.ID) && !as.access.Load().IsAdmin(p.Actor):
		log.Warn().Msg("somebody who is no admin wants to allow what only admins may")
		return i18n.AdminsAllow.In(l), nil
	}
	d := Decide(a, p, l)
	if d.Objection != "" {
		return d.Objection, nil
	}
	a.Settlement = d.Settlement
	stored := make(chan error, 1)
	as.jobs.Enqueue(func(ctx context.Context) {
		stored <- as.resolve(ctx, a, db.Settling{From: db.Waiting, Event: p.ID, Always: p.Action.Do == DoAlways}, d.Verdict)
	})
	t := time.NewTimer(soon)
	defer t.Stop()
	select {
	case err = <-stored:
	case <-t.C: // the platform waits a second; the card will show what became of it
		return i18n.ApprovalNoted.In(l), nil
	case <-ctx.Done():
		return i18n.ApprovalNoted.In(l), nil
	}
	switch {
	case errors.Is(err, db.ErrRepeated), errors.Is(err, db.ErrNotFound):
		log.Info().Msg("press for an approval that is settled")
		return i18n.ApprovalOver.In(l), nil
	case err != nil:
		return "", err
	}
	log.Info().Str("state", string(a.State)).Str("tool", a.Tool).Msg("approval decided")
	return d.Toast, nil
}
