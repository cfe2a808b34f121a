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

	"magpie/bridge/toolset"
	"magpie/bridge/upkeep"
	"magpie/bridge/workplace"
	"magpie/contextmgr/memdoc"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
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

// rememberThis is the command /remember.
func (cs *commandSet) rememberThis(_ context.Context, o invocation) (commandResult, error) {
	kept := cs.cfg.clean(o.args)
	if kept == "" {
		return o.say(i18n.RememberWhat)
	}
	x := db.Memory{Key: o.Key, Text: kept, Scope: toolset.UsualScope(o.Kind), Sources: []string{o.ID}}
	done := i18n.RememberedForChat
	if x.Scope == db.UserScope {
		x.Of, done = o.Actor.ID, i18n.RememberedForUser
	}
	if !cs.mayChange(o) {
		x.Proposed, done = true, i18n.RememberProposed
	}
	reply := memoryReply(o.lang, done)
	reply.Done += redactionNote(o.args, kept, o.lang)
	return saveMemory(o, x, reply, "/remember")
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

// memoryVerbs are the subcommands of /memory that are about one memory, with all their names. Their arguments are what
// follows its name.
var memoryVerbs = map[string]func(*commandSet, context.Context, invocation, db.Memory) (commandResult, error){
	"show": (*commandSet).showMemory, "查看": (*commandSet).showMemory,
	"why": (*commandSet).showOrigin, "来源": (*commandSet).showOrigin,
	"edit": (*commandSet).editMemory, "修改": (*commandSet).editMemory,
	"forget": (*commandSet).forgetMemory, "忘记": (*commandSet).forgetMemory,
	"approve": (*commandSet).approveMemory, "批准": (*commandSet).approveMemory,
	"reject": (*commandSet).rejectMemory, "拒绝": (*commandSet).rejectMemory,
}

// manageMemories is the command /memory. A memory is named by its number or ID; one about another user is reported as
// unknown, like one that does not exist.
func (cs *commandSet) manageMemories(ctx context.Context, o invocation) (commandResult, error) {
	all, err := cs.db.Memories().List(ctx, o.Key)
	if err != nil {
		return commandResult{}, err
	}
	// Memories about a person are visible to that person and to whoever manages the memories.
	boss := cs.access.At(o.Key).InCharge(o.Incoming)
	all = slices.DeleteFunc(all, func(x db.Memory) bool {
		return !boss && x.Scope == db.UserScope && x.Of != o.Actor.ID
	})
	verb, rest := splitWord(o.args)
	name, text := splitWord(rest)
	verb, name, o.args = strings.ToLower(verb), strings.ToLower(name), text
	if verb == "" || verb == "list" || verb == "列表" {
		return cs.listMemories(o, all, name)
	}
	do, known := memoryVerbs[verb]
	if !known || name == "" {
		return o.say(i18n.MemoryUsage)
	}
	name = strings.TrimPrefix(name, "#")
	n, err := strconv.ParseInt(name, 10, 64)
	i := slices.IndexFunc(all, func(x db.Memory) bool { return err == nil && x.Number == n || x.ID == name })
	if i < 0 {
		return o.say(i18n.MemoryUnknown)
	}
	return do(cs, ctx, o, all[i])
}

// memoryPage is the number of memories in one reply.
const memoryPage = 40

// listMemories shows a page, newest memory first. For a page that does not exist it shows the first one, so that an old
// link still works when the list has become shorter.
func (cs *commandSet) listMemories(o invocation, all []db.Memory, page string) (commandResult, error) {
	if len(all) == 0 {
		return o.say(i18n.MemoryNone)
	}
	pages := (len(all) + memoryPage - 1) / memoryPage
	n, err := strconv.Atoi(page)
	if err != nil || n < 1 || n > pages {
		n = 1
	}
	newestFirst := slices.Clone(all)
	slices.Reverse(newestFirst)
	newestFirst = newestFirst[(n-1)*memoryPage:]
	var s strings.Builder
	fmt.Fprintf(&s, i18n.MemoryHead.In(o.lang), len(all))
	for _, x := range newestFirst[:min(memoryPage, len(newestFirst))] {
		fmt.Fprintf(&s, "\n"+i18n.MemoryLine.In(o.lang), x.Number, x.Title, cs.memoryProperties(x, o.lang))
	}
	if n < pages {
		fmt.Fprintf(&s, "\n"+i18n.MemoryMore.In(o.lang), n+1)
	}
	return commandResult{reply: s.String()}, nil
}

// memoryProperties shows the scope of a memory, whether it waits for approval, and when it was changed.
func (cs *commandSet) memoryProperties(x db.Memory, l i18n.Lang) string {
	scope := map[db.MemoryScope]i18n.Phrase{
		db.ChatScope: i18n.ScopeChat, db.UserScope: i18n.ScopeUser, db.ProjectScope: i18n.ScopeProject,
	}[x.Scope].In(l)
	if x.Scope == db.ProjectScope {
		scope += " " + workplace.FolderName(x.Of)
	}
	if x.Proposed {
		scope += i18n.Comma.In(l) + i18n.MemoryWaits.In(l)
	}
	return scope + i18n.Comma.In(l) + cs.day(x.Updated)
}

func (cs *commandSet) day(at time.Time) string {
	return at.In(cs.zone).Format(time.DateOnly)
}

// showMemory shows a whole memory. Its number is unique only within the chat, so the ID is shown, too.
func (cs *commandSet) showMemory(_ context.Context, o invocation, x db.Memory) (commandResult, error) {
	words := strings.Join(x.Keywords, i18n.Enumeration.In(o.lang))
	if words == "" {
		words = "-"
	}
	return o.say(i18n.MemoryShow, x.Number, x.Title, cs.memoryProperties(x, o.lang), x.Text, words, x.ID, x.Version)
}

// excerpt limits a quoted message in a reply, in runes.
const excerpt = 80

// showOrigin lists who changed a memory, and the messages it came from. A memory without stored versions still shows
// its sources.
func (cs *commandSet) showOrigin(ctx context.Context, o invocation, x db.Memory) (commandResult, error) {
	versions, err := cs.db.Memories().Versions(ctx, o.Key, x.ID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return commandResult{}, err
	}
	sources, err := cs.db.Messages().ByID(ctx, o.Key, x.Sources)
	if err != nil {
		return commandResult{}, err
	}
	names := make(map[string]string) // of those who changed it by a message
	for _, m := range sources {
		names[m.Actor.ID] = i18n.SafeName(m.Actor.Name)
	}
	var s strings.Builder
	fmt.Fprintf(&s, i18n.MemoryWhy.In(o.lang), x.Number, x.Title)
	for i, v := range versions {
		act := i18n.MemoryWasChanged
		if i == 0 {
			act = i18n.MemoryWasCreated
		}
		who, why := changedBy(o, v.By.Who, names), reasonText(v.By.Why, o.lang)
		fmt.Fprintf(&s, "\n"+i18n.MemoryStep.In(o.lang), v.Version, cs.day(v.Updated), act.In(o.lang), who, why)
	}
	for _, m := range sources {
		line := text.Shorten(text.OneLine(cs.cfg.clean(m.Text)), excerpt)
		who := m.Actor.Name
		if m.Role == chat.Assistant {
			who = i18n.TheAgent.In(o.lang)
		}
		fmt.Fprintf(&s, "\n> %s %s: %s", cs.day(m.Time), who, line)
	}
	return commandResult{reply: s.String()}, nil
}

// changedBy is the author of a change, for users.
func changedBy(o invocation, who string, names map[string]string) string {
	switch {
	case who == o.Actor.ID:
		return i18n.You.In(o.lang)
	case who == toolset.ByAgent:
		return i18n.TheAgent.In(o.lang)
	case who == upkeep.ByItself:
		return i18n.TheProgram.In(o.lang)
	case who == memdoc.Importer:
		return i18n.AnImport.In(o.lang)
	}
	return cmp.Or(names[who], i18n.SomeoneElse.In(o.lang))
}

// whyRecall is why a memory was forgotten, as stored: a message that it came from was recalled.
const whyRecall = "recalled"

// reasonText is the reason of a change, for users.
func reasonText(why string, l i18n.Lang) string {
	known := map[string]i18n.Phrase{
		toolset.WhyTool: i18n.MemoryByTool, upkeep.WhyAnswer: i18n.MemoryAfterAnswer,
		upkeep.WhyStale: i18n.MemoryWhenStale, whyRecall: i18n.MemoryAfterRecall,
		memdoc.NewDocument: i18n.MemoryNewDocument, memdoc.EditedDocument: i18n.MemoryEditedDocument,
	}
	if said, ok := known[why]; ok {
		return said.In(l)
	}
	return why
}

// saveMemory returns a result that saves x, unless it was changed meanwhile.
func saveMemory(o invocation, x db.Memory, reply db.MemoryReply, why string) (commandResult, error) {
	by := db.Change{Who: o.Actor.ID, Why: why}
	return commandResult{effects: []db.Effect{db.ChangeMemory{Memory: x, By: by, Reply: reply}}}, nil
}

// dropMemory returns a result that deletes x, unless it was changed meanwhile.
func dropMemory(o invocation, x db.Memory, done i18n.Phrase, why string) (commandResult, error) {
	by := db.Change{Who: o.Actor.ID, Why: why}
	reply := memoryReply(o.lang, done)
	return commandResult{effects: []db.Effect{db.ChangeMemory{Memory: x, Forget: true, By: by, Reply: reply}}}, nil
}

// mayChange reports whether the sender may change the memories that he sees.
func (cs *commandSet) mayChange(o invocation) bool {
	rules := cs.cfg.Context
	return !rules.Memory.Approval || cs.access.At(o.Key).InCharge(o.Incoming)
}

// editMemory replaces the text. A title derived from the old text is dropped, so that saving derives a new one.
func (cs *commandSet) editMemory(_ context.Context, o invocation, x db.Memory) (commandResult, error) {
	text := cs.cfg.clean(o.args)
	switch {
	case text == "":
		return o.say(i18n.MemoryUsage)
	case !cs.mayChange(o):
		return o.say(i18n.ForAdminsInGroups)
	}
	if strings.HasPrefix(x.Text, strings.TrimSuffix(x.Title, "…")) { // the title was derived from the text
		x.Title = ""
	}
	x.Text, x.Sources = text, append(slices.Clone(x.Sources), o.ID)
	reply := memoryReply(o.lang, i18n.MemoryEdited)
	reply.Done += redactionNote(o.args, text, o.lang)
	return saveMemory(o, x, reply, "/memory edit")
}

// forgetMemory deletes a memory. Everyone may delete their own.
func (cs *commandSet) forgetMemory(_ context.Context, o invocation, x db.Memory) (commandResult, error) {
	if !cs.mayChange(o) && (x.Scope != db.UserScope || x.Of != o.Actor.ID) {
		return o.say(i18n.ForAdminsInGroups)
	}
	return dropMemory(o, x, i18n.MemoryForgot, "/memory forget")
}

// approveMemory is only for those who manage the memories: an agent proposes memories from text that anyone in the chat
// may have written.
func (cs *commandSet) approveMemory(_ context.Context, o invocation, x db.Memory) (commandResult, error) {
	switch {
	case !cs.access.At(o.Key).InCharge(o.Incoming):
		return o.say(i18n.ForAdminsInGroups)
	case !x.Proposed:
		return o.say(i18n.MemoryCounts)
	}
	x.Proposed = false
	return saveMemory(o, x, memoryReply(o.lang, i18n.MemoryApproved), "/memory approve")
}

func (cs *commandSet) rejectMemory(_ context.Context, o invocation, x db.Memory) (commandResult, error) {
	switch {
	case !cs.access.At(o.Key).InCharge(o.Incoming):
		return o.say(i18n.ForAdminsInGroups)
	case !x.Proposed:
		return o.say(i18n.MemoryCounts)
	}
	return dropMemory(o, x, i18n.MemoryRejected, "/memory reject")
}
