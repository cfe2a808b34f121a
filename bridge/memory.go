package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/contextmgr/memdoc"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// Clean removes private data and secrets from a text that will be kept for good.
func Clean(s string) string { return strings.TrimSpace(redact.Text(s, redact.All())) }

// clean is Clean that also removes the program's own secrets.
func (cfg Config) clean(s string) string { return Clean(cfg.Secrets.Text(s)) }

// splitWord splits off the first word.
func splitWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, isSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n\u00a0\u3000", r) }

// memoryCommands are the commands about memories.
type memoryCommands struct {
	cfg    *Config
	db     *db.DB
	access *access.Authorizer
	zone   *time.Location
}

// rememberThis is the command /remember.
func (cs memoryCommands) rememberThis(_ context.Context, o invocation) (commandResult, error) {
	m, l, text := o.m, o.lang, o.args
	kept := cs.cfg.clean(text)
	if kept == "" {
		return o.say(i18n.RememberWhat)
	}
	x := db.Memory{Key: m.Key, Text: kept, Scope: usualScope(m.Kind), Sources: []string{m.ID}}
	if x.Scope == db.UserScope {
		x.Of = m.Actor.ID
	}
	if cs.cfg.Context.Memory.Approval && !cs.access.Load().InCharge(m) {
		x.State = db.ProposedMemory
	}
	done := i18n.RememberedForChat
	switch {
	case x.State == db.ProposedMemory:
		done = i18n.RememberProposed
	case x.Scope == db.UserScope:
		done = i18n.RememberedForUser
	}
	by, reply := db.Change{Who: m.Actor.ID, Why: "/remember"}, memoryReply(l, done)
	reply.Done += redactionNote(text, kept, l)
	return commandResult{effects: []db.Effect{db.SaveMemory{Memory: x, By: by, Reply: reply}}}, nil
}

// redactionNote is a note that private data was removed from a text; empty = none was.
func redactionNote(text, kept string, l i18n.Lang) string {
	if kept == strings.TrimSpace(text) {
		return ""
	}
	return "\n" + i18n.Redacted.In(l)
}

// memoryReply tells users how a change of a memory went. done takes its number and title.
func memoryReply(l i18n.Lang, done i18n.Phrase) db.MemoryReply {
	return db.MemoryReply{
		Done: done.In(l), Unknown: i18n.MemoryUnknown.In(l), Changed: i18n.MemoryChanged.In(l),
		TooMany: i18n.MemoryTooMany.In(l), Bad: i18n.MemoryTooLong.In(l),
	}
}

// memoryRequest is one /memory command and its sender.
type memoryRequest struct {
	db       *db.DB
	clean    func(string) string // redacts a text that will be kept for good
	zone     *time.Location
	said     chat.Incoming
	l        i18n.Lang
	all      []db.Memory // the memories that the sender may see
	inCharge bool        // the sender manages the memories here
	free     bool        // the sender may change what he sees
}

// manageMemories is the command /memory.
func (cs memoryCommands) manageMemories(ctx context.Context, o invocation) (commandResult, error) {
	m := o.m
	all, err := cs.db.Memories().List(ctx, m.Key)
	if err != nil {
		return commandResult{}, err
	}
	boss := cs.access.Load().InCharge(m)
	// Memories about a person are visible to that person and to whoever manages the memories.
	all = slices.DeleteFunc(all, func(x db.Memory) bool {
		return !boss && x.Scope == db.UserScope && x.Of != m.Actor.ID
	})
	t := &memoryRequest{
		db: cs.db, clean: cs.cfg.clean, zone: cs.zone, said: m, l: o.lang,
		all: all, inCharge: boss, free: boss || !cs.cfg.Context.Memory.Approval,
	}
	verb, rest := splitWord(o.args)
	name, text := splitWord(rest)
	switch strings.ToLower(verb) {
	case "", "list", "列表":
		return t.list(name), nil
	case "show", "查看":
		return t.withMemory(name, t.show)
	case "why", "来源":
		return t.withMemory(name, func(x db.Memory) (commandResult, error) { return t.showOrigin(ctx, x) })
	case "edit", "修改":
		return t.withMemory(name, func(x db.Memory) (commandResult, error) { return t.edit(x, text), nil })
	case "forget", "忘记":
		return t.withMemory(name, t.forget)
	case "approve", "批准":
		return t.withMemory(name, t.approve)
	case "reject", "拒绝":
		return t.withMemory(name, t.reject)
	}
	return commandResult{reply: i18n.MemoryUsage.In(t.l)}, nil
}

func (t *memoryRequest) say(p i18n.Phrase, args ...any) (commandResult, error) {
	return commandResult{reply: fmt.Sprintf(p.In(t.l), args...)}, nil
}

// withMemory finds a memory by its number or ID, and calls then with it. A memory about another user is reported as
// unknown, like one that does not exist.
func (t *memoryRequest) withMemory(name string, then func(db.Memory) (commandResult, error)) (commandResult, error) {
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

// memoryPage is the number of memories in one reply.
const memoryPage = 40

// list shows a page, newest memory first. For a page that does not exist it shows the first one, so that an old link
// still works when the list has become shorter.
func (t *memoryRequest) list(page string) commandResult {
	if len(t.all) == 0 {
		return commandResult{reply: i18n.MemoryNone.In(t.l)}
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
		fmt.Fprintf(&s, "\n"+i18n.MemoryLine.In(t.l), x.Number, x.Title, t.properties(x))
	}
	if n < pages {
		fmt.Fprintf(&s, "\n"+i18n.MemoryMore.In(t.l), n+1)
	}
	return commandResult{reply: s.String()}
}

// properties shows the scope of a memory, whether it waits for approval, and when it was changed.
func (t *memoryRequest) properties(x db.Memory) string {
	scope := map[db.MemoryScope]i18n.Phrase{
		db.ChatScope: i18n.ScopeChat, db.UserScope: i18n.ScopeUser, db.ProjectScope: i18n.ScopeProject,
	}[x.Scope].In(t.l)
	if x.Scope == db.ProjectScope {
		scope += " " + projectName(x.Of)
	}
	if x.State == db.ProposedMemory {
		scope += i18n.Comma.In(t.l) + i18n.MemoryWaits.In(t.l)
	}
	return scope + i18n.Comma.In(t.l) + t.day(x.Updated)
}

func (t *memoryRequest) day(at time.Time) string {
	return at.In(t.zone).Format(time.DateOnly)
}

// show shows a whole memory. Its number is unique only within the chat, so the ID is shown, too.
func (t *memoryRequest) show(x db.Memory) (commandResult, error) {
	words := strings.Join(x.Keywords, i18n.Listing.In(t.l))
	if words == "" {
		words = "-"
	}
	return t.say(i18n.MemoryShow, x.Number, x.Title, t.properties(x), x.Text, words, x.ID, x.Version)
}

// excerpt limits a quoted message in a reply, in runes.
const excerpt = 80

// showOrigin lists who changed a memory, and the messages it came from. A memory without stored versions still shows
// its sources.
func (t *memoryRequest) showOrigin(ctx context.Context, x db.Memory) (commandResult, error) {
	versions, err := t.db.Memories().Versions(ctx, t.said.Key, x.ID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return commandResult{}, err
	}
	sources, err := t.db.History().ByID(ctx, t.said.Key, x.Sources)
	if err != nil {
		return commandResult{}, err
	}
	names := make(map[string]string) // of those who changed it by a message
	for _, m := range sources {
		names[m.Actor.ID] = i18n.SafeName(m.Actor.Name)
	}
	var s strings.Builder
	fmt.Fprintf(&s, i18n.MemoryWhy.In(t.l), x.Number, x.Title)
	for _, v := range versions {
		act := i18n.MemoryWasChanged
		if v.Act == db.MemoryCreated {
			act = i18n.MemoryWasCreated
		}
		who, why := t.authorName(v.By.Who, names), t.reasonText(v.By.Why)
		fmt.Fprintf(&s, "\n"+i18n.MemoryStep.In(t.l), v.Version, t.day(v.Updated), act.In(t.l), who, why)
	}
	for _, m := range sources {
		line := text.Shorten(text.OneLine(t.clean(m.Text)), excerpt)
		who := m.Actor.Name
		if m.Role == chat.Assistant {
			who = i18n.TheAgent.In(t.l)
		}
		fmt.Fprintf(&s, "\n> %s %s: %s", t.day(m.Time), who, line)
	}
	return commandResult{reply: s.String()}, nil
}

// authorName is the author of a change, for users.
func (t *memoryRequest) authorName(who string, names map[string]string) string {
	switch {
	case who == t.said.Actor.ID:
		return i18n.You.In(t.l)
	case who == byAgent:
		return i18n.TheAgent.In(t.l)
	case who == byItself:
		return i18n.TheProgram.In(t.l)
	case who == memdoc.Importer:
		return i18n.AnImport.In(t.l)
	}
	return cmp.Or(names[who], i18n.SomeoneElse.In(t.l))
}

// Authors and reasons of automatic memories, as stored.
const (
	byAgent  = "agent"
	byItself = "magpie"

	whyTool   = "tool remember"
	whyAnswer = "after a turn"
	whyStale  = "stale"
	whyRecall = "recalled" // of a message it came from
)

// reasonText is the reason of a change, for users.
func (t *memoryRequest) reasonText(why string) string {
	known := map[string]i18n.Phrase{
		whyTool: i18n.MemoryByTool, whyAnswer: i18n.MemoryAfterAnswer, whyStale: i18n.MemoryWhenStale,
		whyRecall:          i18n.MemoryAfterRecall,
		memdoc.NewDocument: i18n.MemoryNewDocument, memdoc.EditedDocument: i18n.MemoryEditedDocument,
	}
	if said, ok := known[why]; ok {
		return said.In(t.l)
	}
	return why
}

func (t *memoryRequest) changeBecause(why string) db.Change {
	return db.Change{Who: t.said.Actor.ID, Why: why}
}

// save returns a result that saves x, unless it was changed meanwhile.
func (t *memoryRequest) save(x db.Memory, why string, reply db.MemoryReply) commandResult {
	return commandResult{effects: []db.Effect{db.SaveMemory{Memory: x, By: t.changeBecause(why), Reply: reply}}}
}

// remove returns a result that deletes x, unless it was changed meanwhile.
func (t *memoryRequest) remove(x db.Memory, why string, reply db.MemoryReply) commandResult {
	return commandResult{effects: []db.Effect{db.ForgetMemory{Memory: x, By: t.changeBecause(why), Reply: reply}}}
}

// edit replaces the text. A title derived from the old text is dropped, so that saving derives a new one.
func (t *memoryRequest) edit(x db.Memory, given string) commandResult {
	text := t.clean(given)
	switch {
	case text == "":
		return commandResult{reply: i18n.MemoryUsage.In(t.l)}
	case !t.free:
		return commandResult{reply: i18n.ForAdminsInGroups.In(t.l)}
	}
	if strings.HasPrefix(x.Text, strings.TrimSuffix(x.Title, "…")) { // the title was derived from the text
		x.Title = ""
	}
	x.Text, x.Sources = text, append(slices.Clone(x.Sources), t.said.ID)
	reply := memoryReply(t.l, i18n.MemoryEdited)
	reply.Done += redactionNote(given, text, t.l)
	return t.save(x, "/memory edit", reply)
}

// forget deletes a memory. Everyone may delete their own.
func (t *memoryRequest) forget(x db.Memory) (commandResult, error) {
	if !t.free && (x.Scope != db.UserScope || x.Of != t.said.Actor.ID) {
		return t.say(i18n.ForAdminsInGroups)
	}
	return t.remove(x, "/memory forget", memoryReply(t.l, i18n.MemoryForgot)), nil
}

// approve is only for those who manage the memories: an agent proposes memories from text that anyone in the chat may
// have written.
func (t *memoryRequest) approve(x db.Memory) (commandResult, error) {
	switch {
	case !t.inCharge:
		return t.say(i18n.ForAdminsInGroups)
	case x.State != db.ProposedMemory:
		return t.say(i18n.MemoryCounts)
	}
	x.State = db.ActiveMemory
	return t.save(x, "/memory approve", memoryReply(t.l, i18n.MemoryApproved)), nil
}

func (t *memoryRequest) reject(x db.Memory) (commandResult, error) {
	switch {
	case !t.inCharge:
		return t.say(i18n.ForAdminsInGroups)
	case x.State != db.ProposedMemory:
		return t.say(i18n.MemoryCounts)
	}
	return t.remove(x, "/memory reject", memoryReply(t.l, i18n.MemoryRejected)), nil
}
