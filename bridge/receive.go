package bridge

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/delivery"
	"magpie/bridge/language"
	"magpie/bridge/login"
	"magpie/bridge/overheard"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// receiver takes messages in: it checks access, and tells commands, questions and group talk apart.
type receiver struct {
	cfg         *Config
	access      access.Control
	overheard   *overheard.Fetcher
	logins      *login.Logins
	files       *attachment.Store
	languages   language.Chooser
	commands    *commandSet
	interrupted *cutOffTurns
	history     historyWriter
	reactions   *delivery.Reactions
	outbox      *delivery.Outbox
	turns       *turnQueue
	ahead       *aheadStarts
	db          *db.DB
	busy        *busyChats
	approvals   *approval.Requests
	budget      *budget.Budget
	takesAll    bool // a running turn takes not only messages that are marked as an addition
	log         zerolog.Logger
}

// HandleMessage takes in what a platform delivered. The platform delivers it again until nil comes back.
func (b *Bridge) HandleMessage(ctx context.Context, m chat.Incoming) error {
	defer b.arrivals.arrived()()
	if err := b.checkEvent(ctx, chat.Ref{Key: m.Key, ID: m.ID}, m.Tenant, m.Actor); err != nil {
		return err
	}
	err := b.receiver.handleMessage(ctx, m)
	b.turns.wakeIfUnsure(m.Key, err)
	return err
}

// checkEvent returns an error if an event cannot be about its chat: it names a person of another door, or comes from another
// organization than the chat. For that one there is no such chat.
func (b *Bridge) checkEvent(ctx context.Context, at chat.Ref, tenant string, who chat.Actor) error {
	if err := chat.CheckActor(at, who); err != nil || tenant == "" {
		return err
	}
	for _, key := range []chat.Key{at.Key, at.Key.Parent()} { // a topic belongs to the organization of its chat
		c, err := b.db.Chats().Get(ctx, key)
		switch {
		case err != nil && !errors.Is(err, db.ErrNotFound):
			return err
		case c.Tenant == tenant:
			return nil
		case c.Tenant != "":
			b.log.Warn().Stringer("chat", at.Key).Str("tenant", tenant).
				Msg("an event about a chat came from another organization than the chat's; ignored")
			return chat.ErrNoChat
		}
	}
	return nil
}

// HandleEdit receives a message that its author has edited.
func (b *Bridge) HandleEdit(ctx context.Context, m chat.Incoming) error {
	defer b.arrivals.arrived()()
	if err := b.checkEvent(ctx, chat.Ref{Key: m.Key, ID: m.ID}, m.Tenant, m.Actor); err != nil {
		return err
	}
	err := b.receiver.handleEdit(ctx, m)
	b.turns.wakeIfUnsure(m.Key, err)
	return err
}

// handleMessage receives a message from the platform, which redelivers it until this returns nil. So it returns as
// soon as the message is stored.
func (rc *receiver) handleMessage(ctx context.Context, m chat.Incoming) error {
	if taken, err := rc.access.Claim(ctx, m); taken || err != nil {
		return err
	}
	if err := rc.enterChat(ctx, &m); err != nil {
		return err
	}
	taken, step := rc.logins.StripCode(&m) // before anything else sees it
	rc.overheard.NoteEvent(m)
	if err := rc.access.Admit(ctx, m); err != nil {
		return err
	}
	if taken != nil {
		reply := func(_ context.Context, o invocation) (commandResult, error) {
			return commandResult{reply: taken(o.lang), login: step}, nil
		}
		return rc.commands.execute(ctx, invocation{Incoming: m}, reply)
	}
	if !rc.toBot(ctx, m) {
		m.Files = slices.DeleteFunc(m.Files, func(f chat.File) bool { return f.Kind == chat.Quote })
		got, err := rc.history.accept(ctx, db.Inbound{Incoming: m, Class: chat.Overheard})
		if err == nil && got.Fresh && !rc.cfg.isLate(m) {
			rc.ahead.noteActivity(m.Key)
		}
		return err
	}
	cmd, name, args := parseCommand(m.Text)
	if stopWord.MatchString(m.Text) && !m.HasFiles() {
		begun, err := rc.turns.hasBegun(ctx, m.Key)
		undecided := int64(0)
		if err == nil && !begun {
			undecided, err = rc.approvals.UndecidedTurn(ctx, m.Key)
		}
		if err != nil {
			return err
		} else if begun || undecided != 0 {
			cmd, name, args = parseCommand("/stop")
		}
	}
	var p plan
	switch {
	case m.Unreadable != "":
		p, args = say(i18n.Unreadable), ""
	case strings.TrimSpace(m.Text) == "" && len(m.Files) == 0:
		p, args = say(i18n.AskMe), ""
	case name != "" && rc.cfg.isLate(m):
		p = tooLatePlan(name, rc.cfg.Age(m))
	case cmd != nil:
		p = rc.commands.planOf(cmd, m.Key, m.Actor)
	case name != "":
		p = rc.commands.unknownCommand(name)
	case agentCommand.MatchString(strings.TrimSpace(m.Text)):
		p = rc.commands.forwardCommand
	default:
		return rc.acceptQuestion(ctx, m)
	}
	return rc.commands.execute(ctx, invocation{Incoming: m, args: args}, p)
}

// enterChat fills in what only a chat's own door knows, if a message came through another one: that one must name a chat
// that is there, and only the owner may, or a program to which it was given. An error is [chat.ErrNoChat] if it is not, or to
// anybody else.
func (rc *receiver) enterChat(ctx context.Context, m *chat.Incoming) error {
	if at := (chat.Ref{Key: m.Key, ID: m.ID}); !at.IsElsewhere() {
		return nil
	}
	c, err := rc.db.Chats().Get(ctx, m.Key)
	who, authErr := rc.access.Authorize(ctx, m.Key, m.Actor)
	if err = errors.Join(err, authErr); errors.Is(err, db.ErrNotFound) || err == nil && who != access.Admitted {
		return chat.ErrNoChat
	}
	m.Kind, m.ToBot = c.Kind, true
	return err
}

// maxBotTurns is how many questions of other bots are answered in a row without a person writing: two bots that answer
// each other would never stop.
const maxBotTurns = 10

// toBot reports whether a message is for the bot. Another bot must always mention it, whatever the rule.
func (rc *receiver) toBot(ctx context.Context, m chat.Incoming) bool {
	if m.Kind == chat.Private {
		return m.ToBot
	}
	c := rc.groupOf(ctx, m.Key)
	switch {
	// Two bots that answer each other would never stop.
	case m.Actor.Bot && m.ToBot && c.BotTurns >= maxBotTurns:
		rc.log.Warn().Stringer("chat", m.Key).Str("bot", m.Actor.ID).
			Msg("bots have talked to each other for long; a person must speak first")
		return false
	case m.ToBot || m.ToOthers || m.Actor.Bot:
		return m.ToBot
	}
	switch rc.cfg.mentionRule(c) {
	case chat.MentionNone:
		return true
	case chat.MentionCommands:
		cmd, _, _ := parseCommand(m.Text)
		return cmd != nil
	}
	return false
}

// groupOf is what is known of a group. On an error that is nothing, and the configured rule applies.
func (rc *receiver) groupOf(ctx context.Context, key chat.Key) db.Chat {
	c, err := rc.db.Chats().Get(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		rc.log.Error().Err(err).Stringer("chat", key).Msg("mention rule of the group not available")
	}
	return c
}

// mentionRule is the rule that applies to a group.
func (cfg Config) mentionRule(c db.Chat) chat.MentionRule {
	if own := chat.MentionRule(c.Settings.Mention); own.IsValid() {
		return own
	}
	if cfg.Mention.IsValid() {
		return cfg.Mention
	}
	return chat.MentionOnly
}

// stopWord matches a message that only says to stop. It is a command only while a turn is running, is to be run again
// after a crash, waits for a decision, or goes on in the background; at any other time it may be an answer to the agent.
var stopWord = regexp.MustCompile(`(?i)^\s*(停止|停下|停|stop|cancel)\s*[。.!！~]*\s*$`)

// goOn matches a message that asks to continue an interrupted answer.
var goOn = regexp.MustCompile(`(?i)^\s*(继续|接着说|continue|go on)\s*[。.!！~]*\s*$`)

// acceptQuestion receives a question.
func (rc *receiver) acceptQuestion(ctx context.Context, m chat.Incoming) error {
	to, l := rc.languages.Detect(ctx, m)
	e := db.Inbound{Incoming: m, Class: chat.Talk, Lang: to}
	answer, err := rc.answerTo(ctx, m)
	switch {
	case err != nil:
		return err
	case rc.cfg.isLate(m):
		e.Held = new(heldCard(l, rc.cfg.Age(m)))
	case answer.Interrupted:
		if err := rc.approvals.Continue(ctx, &answer, &e, l); err != nil {
			return err
		}
	case answer.Turn != 0:
		e.Adds, e.Prompt = answer.Turn, uuid.NewString()
	case goOn.MatchString(m.Text):
		if err := rc.interrupted.continueNewest(ctx, &e, l); err != nil {
			return err
		}
	default:
		turn, err := rc.turnFor(ctx, m)
		if spent, ok := errors.AsType[*budget.SpentError](err); ok {
			return rc.commands.execute(ctx, invocation{Incoming: m}, say(spent.Notice))
		} else if err != nil {
			return err
		}
		e.Adds, e.Prompt = turn, uuid.NewString()
	}
	if e.Adds == 0 && len(e.Effects) == 0 { // otherwise it has no files, and quotes what the agent is saying
		if e.Files, err = rc.files.FilesOf(ctx, m); err != nil {
			return err
		}
	}
	failpoint.At("message: received")
	got, run, err := rc.storeQuestion(ctx, e, wordless(m))
	failpoint.At("message: stored")
	defer run()
	if err != nil || !got.Fresh {
		return err
	}
	if e.Held != nil || e.Continues != 0 {
		rc.outbox.Wake(m.Key)
	}
	if e.Held == nil {
		rc.reactions.Set([]chat.Message{{Key: m.Key, ID: m.ID}}, chat.Working)
	}
	switch {
	case got.Decided:
		rc.approvals.Continued(ctx, answer)
	case got.Steered && answer.Turn != 0:
		rc.give(ctx, e, got.Message, answer, l)
	case got.Steered:
		rc.add(got.Turn, e.Prompt, got.Message)
	}
	return nil
}

// handleEdit handles an edited message. A question whose turn has not begun is replaced. After that its author decides
// whether the new version is answered, since the old answer may be good enough. A command is carried out once, in its
// original form.
func (rc *receiver) handleEdit(ctx context.Context, m chat.Incoming) error {
	if taken, err := rc.access.Claim(ctx, m); taken || err != nil {
		return err
	}
	if taken, _ := rc.logins.StripCode(&m); taken != nil {
		return nil // a code is never stored; a new one must come as a message of its own
	}
	if m.Unreadable != "" || strings.TrimSpace(questionIn(m.Text)) == "" {
		return nil
	}
	if who, err := rc.access.Authorize(ctx, m.Key, m.Actor); err != nil || who != access.Admitted {
		return err
	}
	to, l := rc.languages.Detect(ctx, m)
	e := db.Inbound{Incoming: m, Class: chat.Overheard, Lang: to}
	if rc.toBot(ctx, m) {
		e.Class = chat.Talk
	}
	e.Held = new(editedCard(l))
	e.Text = questionIn(e.Text)
	got, err := rc.history.edit(ctx, e)
	if err != nil || !got.Fresh {
		return err
	}
	rc.outbox.Wake(m.Key)
	rc.turns.wake(m.Key)
	return nil
}

// editedCard asks whether to answer an edited message again.
func editedCard(l i18n.Lang) chat.Card {
	text := i18n.Edited.In(l)
	head := i18n.HeaderEdited.In(l)
	return chat.Card{Title: head, State: chat.CardNeedsYou, Body: text, Summary: text, Buttons: []chat.Button{
		{Label: i18n.EditedButton.In(l), Action: chat.Action{Do: turncard.DoContinue, Turn: chat.OwnTurn}},
		{Label: i18n.DropButton.In(l), Action: chat.Action{Do: turncard.DoDrop, Turn: chat.OwnTurn}},
	}}
}
