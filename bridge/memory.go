package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/contextmgr/memdoc"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// Clean is a text as it may be kept for good: without private data and secrets.
func Clean(s string) string { return strings.TrimSpace(redact.Text(s, redact.All())) }

// clean is Clean that knows the program's own secrets too.
func (cfg Config) clean(s string) string { return Clean(cfg.Secrets.Text(s)) }

// splitWord cuts the first word off.
func splitWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, isSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n\u00a0\u3000", r) }

// rememberThis is the command /remember.
func rememberThis(_ context.Context, o ordered) (order, error) {
	b, m, l, text := o.b, o.m, o.lang, o.args
	kept := o.b.cfg.clean(text)
	if kept == "" {
		return o.say(i18n.RememberWhat)
	}
	x := db.Memory{Key: m.Key, Text: kept, Scope: usualScope(m.Kind), Sources: []string{m.ID}}
	if x.Scope == db.UserScope {
		x.Of = m.Actor.ID
	}
	if b.cfg.Context.Memory.Approval && !b.access.Load().InCharge(m) {
		x.State = db.ProposedMemory
	}
	return order{memory: &db.MemoryOrder{
		Memory: x, By: db.Change{Who: m.Actor.ID, Why: "/remember"},
		Reply: func(x db.Memory, err error) string {
			if err != nil {
				return memoryProblem(err).In(l)
			}
			done := i18n.RememberedForChat
			switch {
			case x.State == db.ProposedMemory:
				done = i18n.RememberProposed
			case x.Scope == db.UserScope:
				done = i18n.RememberedForUser
			}
			return fmt.Sprintf(done.In(l), x.Number, x.Title) + leftOut(text, kept, l)
		},
	}}, nil
}

// leftOut says that a text was not kept as it was given, and where it still stands.
func leftOut(text, kept string, l i18n.Lang) string {
	if kept == strings.TrimSpace(text) {
		return ""
	}
	return "\n" + i18n.Redacted.In(l)
}

// cleanCommands takes out of the History what earlier versions have kept of commands.
func (b *Bridge) cleanCommands(ctx context.Context) {
	if n, err := b.db.Messages().CleanCommands(ctx, b.cfg.kept); err != nil && ctx.Err() == nil {
		b.log.Error().Err(err).Msg("commands of earlier versions may still hold private data; the next start tries again")
	} else if n > 0 {
		b.log.Info().Int("commands", n).Msg("private data taken out of commands of earlier versions")
	}
}

// memoryProblem is what users are told of a change that was not made.
func memoryProblem(err error) i18n.Phrase {
	switch {
	case errors.Is(err, db.ErrChanged):
		return i18n.MemoryChanged
	case errors.Is(err, db.ErrTooManyMemories):
		return i18n.MemoryTooMany
	case errors.Is(err, db.ErrBadMemory):
		return i18n.MemoryTooLong
	}
	return i18n.MemoryUnknown
}

// memoryTalk is one /memory command and who gives it.
type memoryTalk struct {
	b    *Bridge
	said chat.Incoming
	l    i18n.Lang
	all  []db.Memory // that he may see
	free bool        // he may change what he sees
}

// aboutMemory is the command /memory.
func aboutMemory(ctx context.Context, o ordered) (order, error) {
	b, m := o.b, o.m
	all, err := b.db.Memories().Of(ctx, m.Key)
	if err != nil {
		return order{}, err
	}
	boss := b.access.Load().InCharge(m)
	all = slices.DeleteFunc(all, func(x db.Memory) bool {
		return !boss && x.Scope == db.UserScope && x.Of != m.Actor.ID
	})
	t := &memoryTalk{b: b, said: m, l: o.lang, all: all, free: boss || !b.cfg.Context.Memory.Approval}
	verb, rest := splitWord(o.args)
	name, text := splitWord(rest)
	switch strings.ToLower(verb) {
	case "", "list":
		return t.list(name), nil
	case "show":
		return t.about(name, t.show)
	case "why":
		return t.about(name, func(x db.Memory) (order, error) { return t.why(ctx, x) })
	case "edit":
		return t.about(name, func(x db.Memory) (order, error) { return t.edit(x, text), nil })
	case "forget":
		return t.about(name, t.forget)
	case "approve":
		return t.about(name, t.approve)
	case "reject":
		return t.about(name, t.reject)
	}
	return order{reply: i18n.MemoryUsage.In(t.l)}, nil
}

func (t *memoryTalk) say(p i18n.Phrase, args ...any) (order, error) {
	return order{reply: fmt.Sprintf(p.In(t.l), args...)}, nil
}

// about finds the memory that is meant, by its number or its id. One that belongs to somebody else is as unknown as one
// that does not exist.
func (t *memoryTalk) about(name string, then func(db.Memory) (order, error)) (order, error) {
	name = strings.TrimPrefix(strings.ToLower(name), "#")
	n, err := strconv.ParseInt(name, 10, 64)
	numbered := err == nil
	i := slices.IndexFunc(t.all, func(x db.Memory) bool { return numbered && x.Number == n || x.ID == name })
	switch {
	case name == "":
		return t.say(i18n.MemoryUsage)
	case i < 0:
		return t.say(i18n.MemoryUnknown)
	}
	return then(t.all[i])
}

// memoryPage is how many memories one reply lists.
const memoryPage = 40

func (t *memoryTalk) list(page string) order {
	if len(t.all) == 0 {
		return order{reply: i18n.MemoryNone.In(t.l)}
	}
	pages := (len(t.all) + memoryPage - 1) / memoryPage
	n, err := strconv.Atoi(page)
	if err != nil || n < 1 || n > pages {
		n = 1
	}
	newestFirst := slices.Clone(t.all)
	slices.Reverse(newestFirst)
	newestFirst = newestFirst[(n-1)*memoryPage:]
	var s strings.Builder
	fmt.Fprintf(&s, i18n.MemoryHead.In(t.l), len(t.all))
	for _, x := range newestFirst[:min(memoryPage, len(newestFirst))] {
		fmt.Fprintf(&s, "\n"+i18n.MemoryLine.In(t.l), x.Number, x.Title, t.marks(x))
	}
	if n < pages {
		fmt.Fprintf(&s, "\n"+i18n.MemoryMore.In(t.l), n+1)
	}
	return order{reply: s.String()}
}

// marks says whom a memory is for, and whether it counts.
func (t *memoryTalk) marks(x db.Memory) string {
	scope := map[db.MemoryScope]i18n.Phrase{db.ChatScope: i18n.ScopeChat, db.UserScope: i18n.ScopeUser, db.ProjectScope: i18n.ScopeProject}[x.Scope].In(t.l)
	if x.Scope == db.ProjectScope {
		scope += " " + projectName(x.Of)
	}
	if x.State == db.ProposedMemory {
		scope += i18n.Comma.In(t.l) + i18n.MemoryWaits.In(t.l)
	}
	return scope + i18n.Comma.In(t.l) + t.day(x.Updated)
}

func (t *memoryTalk) day(at time.Time) string {
	return at.In(t.b.context.Zone()).Format(time.DateOnly)
}

func (t *memoryTalk) show(x db.Memory) (order, error) {
	words := strings.Join(x.Keywords, i18n.Listing.In(t.l))
	if words == "" {
		words = "-"
	}
	return t.say(i18n.MemoryShow, x.Number, x.Title, t.marks(x), x.Text, words, x.ID, x.Version)
}

// excerpt is how much of a message a reply quotes, in runes.
const excerpt = 80

func (t *memoryTalk) why(ctx context.Context, x db.Memory) (order, error) {
	versions, err := t.b.db.Memories().Versions(ctx, t.said.Key, x.ID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return order{}, err
	}
	sources, err := t.b.db.Messages().ByID(ctx, t.said.Key, x.Sources)
	if err != nil {
		return order{}, err
	}
	var s strings.Builder
	fmt.Fprintf(&s, i18n.MemoryWhy.In(t.l), x.Number, x.Title)
	for _, v := range versions {
		act := i18n.MemoryWasChanged
		if v.Act == db.MemoryCreated {
			act = i18n.MemoryWasCreated
		}
		fmt.Fprintf(&s, "\n"+i18n.MemoryStep.In(t.l), v.Version, t.day(v.Updated), act.In(t.l), t.name(v.By.Who), t.reason(v.By.Why))
	}
	for _, m := range sources {
		line := text.Shorten(strings.Join(strings.Fields(t.b.cfg.clean(m.Text)), " "), excerpt)
		who := m.Actor.Name
		if m.Role == chat.Assistant {
			who = i18n.TheAgent.In(t.l)
		}
		fmt.Fprintf(&s, "\n> %s %s: %s", t.day(m.Time), who, line)
	}
	return order{reply: s.String()}, nil
}

// name is who made a change, as users know him.
func (t *memoryTalk) name(who string) string {
	switch {
	case who == t.said.Actor.ID:
		return i18n.You.In(t.l)
	case who == byAgent:
		return i18n.TheAgent.In(t.l)
	case who == byItself:
		return "Magpie"
	}
	return who
}

// Who makes a memory unasked, and when: as it is stored.
const (
	byAgent  = "agent"
	byItself = "magpie"

	whyTool   = "tool remember"
	whyAnswer = "after a turn"
	whyStale  = "stale"
)

// reason is why a change was made, as users know it.
func (t *memoryTalk) reason(why string) string {
	known := map[string]i18n.Phrase{
		whyTool: i18n.MemoryByTool, whyAnswer: i18n.MemoryAfterAnswer, whyStale: i18n.MemoryWhenStale,
		memdoc.NewDocument: i18n.MemoryNewDocument, memdoc.EditedDocument: i18n.MemoryEditedDocument,
	}
	if said, ok := known[why]; ok {
		return said.In(t.l)
	}
	return why
}

// change orders a change of x, which must not have been changed meanwhile.
func (t *memoryTalk) change(x db.Memory, forget bool, why string, done i18n.Phrase) order {
	return order{memory: &db.MemoryOrder{
		Memory: x, Forget: forget, By: db.Change{Who: t.said.Actor.ID, Why: why},
		Reply: func(x db.Memory, err error) string {
			if err != nil {
				return memoryProblem(err).In(t.l)
			}
			return fmt.Sprintf(done.In(t.l), x.Number, x.Title)
		},
	}}
}

func (t *memoryTalk) edit(x db.Memory, given string) order {
	text := t.b.cfg.clean(given)
	switch {
	case text == "":
		return order{reply: i18n.MemoryUsage.In(t.l)}
	case !t.free:
		return order{reply: i18n.ForAdmins.In(t.l)}
	}
	if strings.HasPrefix(x.Text, strings.TrimSuffix(x.Title, "…")) { // the title was made from the text
		x.Title = ""
	}
	x.Text, x.Sources = text, append(slices.Clone(x.Sources), t.said.ID)
	o := t.change(x, false, "/memory edit", i18n.MemoryEdited)
	done := o.memory.Reply
	o.memory.Reply = func(x db.Memory, err error) string {
		if err != nil {
			return done(x, err)
		}
		return done(x, nil) + leftOut(given, text, t.l)
	}
	return o
}

// forget is free for everybody's own.
func (t *memoryTalk) forget(x db.Memory) (order, error) {
	if !t.free && (x.Scope != db.UserScope || x.Of != t.said.Actor.ID) {
		return t.say(i18n.ForAdmins)
	}
	return t.change(x, true, "/memory forget", i18n.MemoryForgot), nil
}

func (t *memoryTalk) approve(x db.Memory) (order, error) {
	switch {
	case !t.b.access.Load().InCharge(t.said):
		return t.say(i18n.ForAdmins)
	case x.State != db.ProposedMemory:
		return t.say(i18n.MemoryCounts)
	}
	x.State = db.ActiveMemory
	return t.change(x, false, "/memory approve", i18n.MemoryApproved), nil
}

func (t *memoryTalk) reject(x db.Memory) (order, error) {
	switch {
	case !t.b.access.Load().InCharge(t.said):
		return t.say(i18n.ForAdmins)
	case x.State != db.ProposedMemory:
		return t.say(i18n.MemoryCounts)
	}
	return t.change(x, true, "/memory reject", i18n.MemoryRejected), nil
}
