// Package approval asks people what an agent may do with its tools. [Requests] shows a request, keeps it open until
// somebody decides or it expires, and tells the agent the decision. The package also decides what a rule of a chat
// covers, and which files are for admins only.
//
// It does not decide what a chat's mode allows without asking, nor who may talk to the bot.
package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/workqueue"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// Requests asks people about tool calls, each on a card of its own. The agent waits until somebody decides or the
// request expires.
type Requests struct {
	store       *db.DB
	jobs        *workqueue.Queue // that store decisions
	outbox      *delivery.Outbox
	access      *access.Authorizer
	reserved    ReservedPaths // files that only admins decide about
	secrets     redact.Known
	language    func(context.Context, chat.Key) i18n.Lang
	interrupted InterruptedTurns
	redact      func(string) string // redacts a text for the History
	open        pendings
	log         zerolog.Logger
}

// decisions is how many approvals are settled at the same time.
const decisions = 8

// Config configures approvals.
type Config struct {
	Protected ProtectedPaths // files that only admins decide about
	Secrets   redact.Known   // a tool call that contains one is refused
	// the language of a chat
	Language         func(context.Context, chat.Key) i18n.Lang
	Interrupted      InterruptedTurns
	RedactForHistory func(string) string // redacts tool input for the History; nil = unchanged
}

// NewRequests makes a Requests that delivers its cards through an outbox. The authorizer knows the admins.
func NewRequests(
	cfg Config, store *db.DB, o *delivery.Outbox, access *access.Authorizer, log zerolog.Logger,
) *Requests {
	rs := &Requests{
		store: store, jobs: workqueue.New(decisions), outbox: o, access: access,
		reserved: NewReservedPaths(cfg.Protected, store), secrets: cfg.Secrets, language: cfg.Language,
		interrupted: cfg.Interrupted, redact: cfg.RedactForHistory,
		open: pendings{byID: map[string]pending{}}, log: log,
	}
	if rs.redact == nil {
		rs.redact = func(text string) string { return text }
	}
	o.OnUnseen(rs.withdrawUnseen)
	return rs
}

// Run stores decisions, with ctx. Once stop is closed it returns as soon as nothing is left to store.
func (rs *Requests) Run(ctx context.Context, stop <-chan struct{}) { rs.jobs.Run(ctx, stop) }

// pending is what a restart forgets about an approval that people may decide about. What they are asked, and which turn
// needs it, are rows.
type pending struct {
	key      chat.Key                   // of its chat, so that nothing is read where nothing is asked
	admins   bool                       // its card says that only admins may allow it
	explains bool                       // its card has the field for the reason of a refusal
	askID    string                     // the agent's ID of the request
	answer   func(claude.Decision) bool // passes the decision to the agent; nil = the agent is gone
	timers   []*time.Timer
}

// tellAgent passes a decision to the agent, and reports whether the agent can use it.
func (p pending) tellAgent(v claude.Decision) bool { return p.answer != nil && p.answer(v) }

// pendings are the open approvals, by ID.
type pendings struct {
	mu   sync.Mutex
	byID map[string]pending
}

// register adds an approval unless it is already open. start starts its timers.
func (ps *pendings) register(id string, p pending, start func() []*time.Timer) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if _, ok := ps.byID[id]; ok {
		return false
	}
	p.timers = start()
	ps.byID[id] = p
	return true
}

func (ps *pendings) get(id string) (p pending, ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok = ps.byID[id]
	return p, ok
}

// remove removes an approval, after which nobody can answer it.
func (ps *pendings) remove(id string) (p pending, ok bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok = ps.byID[id]
	for _, t := range p.timers {
		t.Stop()
	}
	delete(ps.byID, id)
	return p, ok
}

// change applies change to an approval if it is open, and returns what that returns.
func (ps *pendings) change(id string, change func(*pending) bool) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, ok := ps.byID[id]
	if !ok || !change(&p) {
		return false
	}
	ps.byID[id] = p
	return true
}

// find returns the IDs of the matching approvals.
func (ps *pendings) find(which func(pending) bool) (ids []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for id, p := range ps.byID {
		if which(p) {
			ids = append(ids, id)
		}
	}
	return ids
}

// isIn reports whether anything is open in a chat.
func (ps *pendings) isIn(key chat.Key) bool {
	return len(ps.find(func(p pending) bool { return p.key == key })) > 0
}

// hasAgent reports whether an agent is waiting for the decision.
func (ps *pendings) hasAgent(id string) bool {
	p, _ := ps.get(id)
	return p.answer != nil
}

// Workspace is where an agent works.
type Workspace struct {
	Dir      string
	ReadOnly bool // only reads in it can be allowed, by anyone
	AskAll   bool // people are asked about each tool call
}

// RequestDecision asks people about a tool call, unless a rule of the chat allows it. It does not wait for them, and
// reports whether the agent has to; answer is called with the decision.
func (rs *Requests) RequestDecision(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, answer func(claude.Decision) bool,
) (waits bool) {
	log := zerolog.Ctx(ctx)
	about := rs.reserved.PathsOf(ctx, c.Turn.Key, q, w.Dir)
	p := pending{
		key: c.Turn.Key, admins: adminsOnly(rs.access.At(c.Turn.Key), q.Name, about), askID: q.ID, answer: answer,
	}
	s := rs.decideUnasked(ctx, c, w, q, about)
	if s.why == "" || s.rule != 0 {
		if waits, done := rs.answerRepeated(ctx, c.Turn, w, q, p); done {
			return waits
		}
	}
	if s.why != "" {
		log.Info().Str("tool", q.Name).Bool("allowed", s.Allow).Msg(s.why)
		rs.record(c.Turn, q, s)
		answer(s.Decision)
		return false
	}
	patience := rs.access.At(c.Turn.Key).EffectiveApprovalTimeout()
	now := time.Now().Truncate(time.Millisecond)
	a := db.Approval{
		ID: uuid.NewString(), Key: c.Turn.Key, Turn: c.Turn.ID, NeededBy: c.Turn.ID, Tool: q.Name, Input: q.Input,
		Project: w.Dir, Created: now, Expires: now.Add(patience), Settlement: db.Settlement{State: convo.Waiting},
	}
	if !about.Any() {
		a.Always = PermitFor(q, w.Dir)
	}
	a.Askers = rs.askers(ctx, c)
	card := rs.openCard(ctx, a, p, about)
	if p.admins && nobodyDecides(rs.access.At(c.Turn.Key), c) {
		rs.showClosedRequest(ctx, a, about, c.Turn.ReplyTo)
		answer(claude.Decision{Why: nobodyMayAllow})
		return false
	}
	// Before the card is visible, since somebody may press at once.
	rs.open.register(a.ID, p, func() []*time.Timer { return rs.startTimers(a) })
	failpoint.At("approval: asking")
	if err := rs.store.Access().Ask(context.WithoutCancel(ctx), a, card, c.Turn.ReplyTo); err != nil {
		log.Error().Err(err).Str("tool", q.Name).Msg("request not stored; tool refused")
		rs.open.remove(a.ID)
		answer(claude.Decision{Why: notAsked})
		return false
	}
	log.Info().Str("tool", q.Name).Str("approval", a.ID).Dur("patience", patience).Bool("admins", p.admins).
		Msg("people are asked for approval")
	failpoint.At("approval: stored")
	rs.outbox.Wake(a.Key)
	return true
}

// askers are the users on whose behalf the agent works. An interrupted turn may have been continued by another user.
func (rs *Requests) askers(ctx context.Context, c db.Claim) (list []string) {
	for _, m := range c.Asked {
		list = append(list, m.Actor.ID)
	}
	if c.Turn.Continues == 0 {
		return list
	}
	earlier, err := rs.store.Access().EarlierAskers(ctx, c.Turn.Key, c.Turn.ID)
	if err != nil { // only the user who continued the turn may decide then
		zerolog.Ctx(ctx).Error().Err(err).Msg("earlier askers of a continued turn not found")
	}
	return append(list, earlier...)
}

// Pending reports whether a turn has an open request that its agent waits for. Whatever else the agent does meanwhile,
// the turn cannot end before the decision.
func (rs *Requests) Pending(ctx context.Context, t db.Turn) bool {
	if len(rs.open.find(func(p pending) bool { return p.key == t.Key && p.answer != nil })) == 0 {
		return false
	}
	list, err := rs.store.Access().OpenApprovals(context.WithoutCancel(ctx), t.Key, t.ID)
	if err != nil { // it is probably the agent of this turn
		zerolog.Ctx(ctx).Error().Err(err).Msg("what people are asked not read")
		return true
	}
	return slices.ContainsFunc(list, func(a db.Approval) bool { return rs.open.hasAgent(a.ID) })
}

// Withdraw withdraws a request that the agent no longer makes.
func (rs *Requests) Withdraw(ctx context.Context, askID string) {
	for _, id := range rs.open.find(func(p pending) bool { return p.answer != nil && p.askID == askID }) {
		rs.open.remove(id)
		if a, err := rs.waiting(ctx, id); err == nil {
			rs.withdraw(ctx, a)
		} else if !errors.Is(err, db.ErrNotFound) {
			rs.release(id, claude.Decision{}, err)
		}
	}
}

// withdraw ends an approval that its turn does not need any more, without an answer to its agent. If that is not stored,
// the next start does it.
func (rs *Requests) withdraw(ctx context.Context, a db.Approval) {
	rs.open.remove(a.ID)
	failpoint.At("approval: withdrawing")
	_ = rs.end(ctx, a, convo.Withdrawn, db.Settling{}, "")
}

// EndTurn ends the open requests of a turn that ends, and takes decisions back that its agent has not used. If the turn
// may continue, people may still decide, and what they decide waits for the agent that goes on.
func (rs *Requests) EndTurn(ctx context.Context, t db.Turn, end convo.Phase) {
	goesOn := end == convo.Interrupted || end == convo.Queued
	if !rs.open.isIn(t.Key) && (goesOn || t.Continues == 0) { // as most turns
		return
	}
	list, err := rs.store.Access().OpenApprovals(context.WithoutCancel(ctx), t.Key, t.ID)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Int64("turn", t.ID).Msg("what people are asked not read")
	}
	for _, a := range list {
		switch {
		case goesOn:
			rs.open.change(a.ID, func(p *pending) bool { p.askID, p.answer = "", nil; return true })
		case a.State != convo.Denied:
			rs.withdraw(ctx, a)
		}
	}
}

// EndTurnSoon is [Requests.EndTurn] that does not wait for the store.
func (rs *Requests) EndTurnSoon(t db.Turn, end convo.Phase) {
	rs.jobs.Enqueue(func(ctx context.Context) { rs.EndTurn(rs.log.WithContext(ctx), t, end) })
}

// The replies to the agent when there is no decision.
const (
	notAsked = "This needs a permission, and nobody could be asked for it right now. Do not try it again or by " +
		"other means. Tell the user what you wanted to do and why."
	lookOnly = "This project is for looking only: nothing can be changed or run in it, and a plan for it cannot be " +
		"approved. Do not try it by other means. Answer with what you have found, and with your plan if there is " +
		"one."
	notWithSecrets = "This holds a password or key of the program that you run in, so it can neither be shown to " +
		"the user, who would have to allow it, nor be done. Do it without that, and do not try it by other means."
	notDecided = "This needs a permission, and nobody has given it in time. Do not try it again or by other means. " +
		"Tell the user what you wanted to do and why, so that they can ask for it again."
)

// openCard is the card of an open approval.
func (rs *Requests) openCard(ctx context.Context, a db.Approval, p pending, about TouchedPaths) chat.Card {
	l := rs.language(ctx, a.Key)
	card := Card(a, l)
	if p.explains {
		card = ExplainCard(a, l)
	}
	if p.admins {
		card.Footer = strings.TrimSpace(about.AdminsOnlyText(l) + " " + card.Footer)
	}
	return card
}

// redraw draws the card of an open approval again. It returns [db.ErrNotFound] if the approval is not open any more.
func (rs *Requests) redraw(ctx context.Context, a db.Approval) error {
	p, ok := rs.open.get(a.ID)
	if !ok {
		return db.ErrNotFound
	}
	about := rs.reserved.PathsOf(ctx, a.Key, claude.ToolAsk{Name: a.Tool, Input: a.Input}, a.Project)
	if err := rs.store.Access().Redraw(ctx, a, rs.openCard(ctx, a, p, about)); err != nil {
		return err
	}
	rs.outbox.Wake(a.Key)
	return nil
}

// openIn lists the approvals of a chat that people may decide about.
func (rs *Requests) openIn(ctx context.Context, key chat.Key) ([]db.Approval, error) {
	if !rs.open.isIn(key) {
		return nil, nil
	}
	list, err := rs.store.Access().OpenApprovals(ctx, key)
	return slices.DeleteFunc(list, func(a db.Approval) bool {
		_, open := rs.open.get(a.ID)
		return !open || a.State != convo.Waiting
	}), err
}
