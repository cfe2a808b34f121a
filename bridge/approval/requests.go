// Package approval asks people what an agent may do with its tools. [Requests] shows what the agent wants, lets it wait
// until somebody has decided or the time is over, and tells it the decision. The package also says what a rule of a
// chat covers, and which files are for admins only.
//
// What a chat's mode allows unasked does not belong here, nor who may talk to the bot.
package approval

import (
	"context"
	"fmt"
	"strings"
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
	store       *db.DB
	outbox      *delivery.Outbox
	language    func(context.Context, chat.Key) i18n.Lang
	access      *access.Authorizer
	interrupted Interrupted
	recorded    func(string) string // what the History holds of a text
	secrets     redact.Known
	reserved    Reserved // about which only admins decide
	log         zerolog.Logger
	jobs        *workqueue.Queue // stores what was decided
	open        pendings
}

// request is what an agent asks for.
type request struct {
	ask    claude.ToolAsk
	about  Touched
	answer func(claude.Decision) bool
}

// decisions is how many approvals are settled at the same time.
const decisions = 8

// Config is what the configuration says of approvals.
type Config struct {
	Protected Protected    // files about which only admins decide
	Secrets   redact.Known // a tool whose input holds one of these is refused
	// the language in which a chat is spoken to
	Language    func(context.Context, chat.Key) i18n.Lang
	Interrupted Interrupted
	Recorded    func(string) string // what the History holds of a tool's input; nil = all of it
}

// NewRequests makes a Requests whose cards are delivered by an outbox. The authorizer knows who is an admin.
func NewRequests(
	cfg Config, store *db.DB, o *delivery.Outbox, access *access.Authorizer, log zerolog.Logger,
) *Requests {
	rs := &Requests{
		store: store, outbox: o, language: cfg.Language, access: access,
		interrupted: cfg.Interrupted, recorded: cfg.Recorded, secrets: cfg.Secrets, reserved: NewReserved(cfg.Protected, store), log: log,
		jobs: workqueue.New(decisions), open: pendings{byID: map[string]pending{}},
	}
	o.OnUnseen(rs.unseen)
	return rs
}

// Run stores what is decided, with ctx. Once stop is closed it returns as soon as nothing is left to store.
func (rs *Requests) Run(ctx context.Context, stop <-chan struct{}) { rs.jobs.Run(ctx, stop) }

// Workspace is where an agent works.
type Workspace struct {
	Dir      string
	ReadOnly bool // nothing but reading in it can be allowed, by anybody
	AskAll   bool // people are asked about each use of a tool
}

// Ask has people decide about what an agent wants, unless a rule of the chat allows it. It does not wait for them, and
// reports whether the agent has to; answer is called once they have decided.
func (rs *Requests) Ask(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, answer func(claude.Decision) bool,
) (waits bool) {
	log := zerolog.Ctx(ctx)
	about := rs.reserved.Of(ctx, c.Turn.Key, q, w.Dir)
	s := rs.settled(ctx, c, w, q, about)
	if s.why == "" || s.rule != 0 {
		if waits, done := rs.askedBefore(ctx, c, w, request{q, about, answer}); done {
			return waits
		}
	}
	if s.why != "" {
		log.Info().Str("tool", q.Name).Bool("allowed", s.Allow).Msg(s.why)
		rs.record(c.Turn, q, s)
		answer(s.Decision)
		return false
	}
	patience := rs.access.Load().Patience()
	now := time.Now().Truncate(time.Millisecond)
	a := db.Approval{
		ID: uuid.NewString(), Key: c.Turn.Key, Turn: c.Turn.ID, NeededBy: c.Turn.ID, Tool: q.Name, Input: q.Input,
		Project: w.Dir, Created: now, Expires: now.Add(patience), Settlement: db.Settlement{State: db.Waiting},
	}
	if !about.Any() {
		a.Always = PermitFor(q, w.Dir)
	}
	a.Askers = rs.askers(ctx, c)
	p := pending{approval: a, admins: adminsOnly(rs.access.Load(), a, about), ask: q.ID, answer: answer}
	l := rs.language(ctx, a.Key)
	card := Card(a, l)
	if p.admins {
		card.Footer = strings.TrimSpace(about.Notice(l) + " " + card.Footer)
	}
	if p.admins && nobodyDecides(rs.access.Load(), c) {
		rs.closed(ctx, a, about, c.Turn.ReplyTo)
		answer(claude.Decision{Why: nobodyMayAllow})
		return false
	}
	// Before it can be seen: somebody may press at once.
	rs.open.add(p, func() *time.Timer { return rs.expireAfter(a, patience) })
	if err := rs.store.Approvals().Ask(context.WithoutCancel(ctx), a, card, c.Turn.ReplyTo); err != nil {
		log.Error().Err(err).Str("tool", q.Name).Msg("nobody could be asked; tool refused")
		rs.open.take(a.ID)
		answer(claude.Decision{Why: notAsked})
		return false
	}
	log.Info().Str("tool", q.Name).Str("approval", a.ID).Dur("patience", patience).Bool("admins", p.admins).
		Msg("people are asked for approval")
	rs.outbox.Wake(a.Key)
	return true
}

// askers are the users for whom an agent works. Somebody else may have made an interrupted turn go on.
func (rs *Requests) askers(ctx context.Context, c db.Claim) (list []string) {
	for _, m := range c.Asked {
		list = append(list, m.Actor.ID)
	}
	if c.Turn.Continues == 0 {
		return list
	}
	earlier, err := rs.store.Approvals().EarlierAskers(ctx, c.Turn.Key, c.Turn.ID)
	if err != nil { // then only those may decide who made it go on
		zerolog.Ctx(ctx).Error().Err(err).Msg("who asked before is not known")
	}
	return append(list, earlier...)
}

// What the agent reads when nothing was decided.
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

// settledDecision is a decision for which people need not be asked.
type settledDecision struct {
	claude.Decision
	why  string // for operators; empty = people have to be asked
	rule int64  // the rule of the chat that allows it; 0 = none does
}

// settled is the answer to what an agent wants where people need not be asked.
func (rs *Requests) settled(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, about Touched,
) (s settledDecision) {
	refused := func(text, why string) settledDecision {
		return settledDecision{Decision: claude.Decision{Why: text}, why: refusedUnasked + why}
	}
	if w.ReadOnly && q.Name != claude.QuestionTool && !OnlyReads(q, w.Dir) {
		return refused(lookOnly, "the project is for looking only")
	}
	s.Decision = claude.Decision{Allow: true, Input: q.Input}
	if w.AskAll && IsInternal(q.Name) {
		s.why = "tool allowed: it is the program's own, or for the agent's own notes"
		return s
	}
	if HoldsSecret(q.Input, rs.secrets) {
		return refused(notWithSecrets, "what it wants holds a secret")
	}
	if s.rule = rs.ruleFor(ctx, c.Turn.Key, w.Dir, q); s.rule != 0 && !about.Any() {
		s.why = fmt.Sprintf("tool allowed by rule %d of the chat", s.rule)
		return s
	}
	if text := Unshowable(q.Name, q.Input); text != "" {
		return refused(text, fmt.Sprintf("what it wants, of %d bytes, cannot be shown", len(q.Input)))
	}
	return settledDecision{}
}

// ruleFor is the number of the rule that allows what an agent wants; 0 = none does. Plan mode is for looking only, there
// no rule counts.
func (rs *Requests) ruleFor(ctx context.Context, key chat.Key, dir string, q claude.ToolAsk) int64 {
	if q.Mode == claude.PlanMode {
		return 0
	}
	list, err := rs.store.Rules().List(ctx, key)
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

// Pending reports whether people are to decide about something that a turn wants. Whatever else its agent does
// meanwhile, the turn cannot end without them.
func (rs *Requests) Pending(turn int64) bool { return rs.open.attendedIn(turn) }
