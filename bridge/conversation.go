package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func (cs *commandSet) startNew(ctx context.Context, o invocation) (commandResult, error) {
	return cs.forget(ctx, o, i18n.NewBegun)
}

func (cs *commandSet) reset(ctx context.Context, o invocation) (commandResult, error) {
	return cs.forget(ctx, o, i18n.ResetDone)
}

// forget starts a new conversation; text after the command is its first question. A running turn continues and belongs
// to the old conversation. The next process is started at once. It is not a spare one, which is for chats without a
// folder: this chat's folder holds the sessions that /resume returns to.
func (cs *commandSet) forget(ctx context.Context, o invocation, answer i18n.Phrase) (commandResult, error) {
	files, err := cs.files.FilesOf(ctx, o.Incoming)
	if err != nil {
		return commandResult{}, err
	}
	done, err := o.do(db.StartConversation{}, answer)
	if err != nil {
		return commandResult{}, err
	}
	done.ask, done.files = o.args, files
	return cs.cutOff.endWith(ctx, o, done)
}

func (cs *commandSet) stop(ctx context.Context, o invocation) (commandResult, error) {
	key, recovered := o.Key, cs.turns.isRecovered(o.Key)
	turns, err := cs.turns.openTurns(ctx, key)
	if err != nil {
		return commandResult{}, err
	}
	followUp, err := cs.db.Turns().OpenFollowUp(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return commandResult{}, err
	}
	// One that is queued has been started by its agent, which nobody reads yet.
	waits := err == nil && (followUp.State == convo.Queued || !slices.Contains(turns, followUp.ID))
	if waits && !recovered { // its agent is gone, and it is about to end
		turns, waits = append(turns, followUp.ID), false
	}
	if len(turns) == 0 && !waits {
		return cs.drop(ctx, o)
	}
	done, err := o.do(db.Happens{Event: convo.Stops{Turns: turns}}, i18n.Stopped)
	if waits {
		done.effects = append(done.effects, db.Happens{
			Event: convo.Vanishes{Turn: followUp.ID, Phase: convo.Cancelled},
		})
	}
	return done, err
}

// drop withdraws the decisions that would resume an interrupted turn. There is nothing else to stop.
func (cs *commandSet) drop(ctx context.Context, o invocation) (commandResult, error) {
	if err := cs.turns.awaitRecovery(ctx, o.Key); err != nil { // which finds the decisions
		return commandResult{}, err
	}
	turn, err := cs.asks.UndecidedTurn(ctx, o.Key)
	if err != nil {
		return commandResult{}, err
	} else if turn == 0 {
		return o.say(i18n.NothingToStop)
	}
	over, err := cs.cutOff.decidedCard(ctx, o.Key, turn, o.lang, i18n.Stopped)
	if err != nil {
		return commandResult{}, err
	}
	return o.do(db.Happens{Event: convo.Decides{Turn: turn}, Over: over}, i18n.Stopped)
}

// retry is the command /retry: it asks the last question of the conversation again. The previous answer stays in the
// History, where the agent sees it; a note in the prompt asks for a different one.
func (cs *commandSet) retry(ctx context.Context, o invocation) (commandResult, error) {
	if why, err := cs.turns.isBusy(ctx, o.Key); err != nil || why != (i18n.Phrase{}) {
		return commandResult{reply: why.In(o.lang)}, err
	}
	question, files, err := cs.lastQuestion(ctx, o)
	if err != nil {
		return commandResult{}, err
	}
	if question == "" {
		return o.say(i18n.RetryNothing)
	}
	if _, own := parseForwarded(cs.pool.Config().SlashCommands(), question); own {
		return commandResult{ask: question}, nil
	}
	for _, l := range []i18n.Lang{i18n.Chinese, i18n.English} { // a repeated /retry must not add the note twice
		question = strings.TrimPrefix(question, retryNote(l))
	}
	return commandResult{ask: retryNote(o.lang) + question, files: files}, nil
}

// retryNote precedes a repeated question in the prompt.
func retryNote(l i18n.Lang) string { return fmt.Sprintf("%s\n", i18n.RetryNote.In(l)) }

// lastQuestion is the question of the conversation's last turn, with its files; empty = no question yet.
func (cs *commandSet) lastQuestion(ctx context.Context, o invocation) (string, []chat.File, error) {
	var asked []string
	var files []chat.File
	var last chat.Message
	for m, err := range cs.db.Messages().Range(ctx, o.Key, o.chat.Epoch, 0, math.MaxInt64) {
		if err != nil {
			return "", nil, err
		}
		if m.Role != chat.User {
			continue
		}
		// The messages come newest first; another turn ends the search.
		if len(asked) > 0 && m.Turn != last.Turn {
			break
		}
		asked, last = append(asked, m.Text), m
		with, err := cs.db.Messages().Quoted(ctx, m.Key, m.ID)
		if err != nil {
			return "", nil, err
		}
		files = append(repeatedFiles(with), files...)
	}
	slices.Reverse(asked)
	return strings.Join(asked, "\n"), files, nil
}

// compactNow orders a summary: at once, or after the running turn.
func (cs *commandSet) compactNow(_ context.Context, o invocation) (commandResult, error) {
	if o.chat.Compacting != "" {
		return o.say(i18n.CompactBegun)
	}
	return commandResult{effects: []db.Effect{db.RequestSummary{}}}, nil // replied to when the summary is made
}

// setTitle is the command /title.
func (cs *commandSet) setTitle(_ context.Context, o invocation) (commandResult, error) {
	if o.args == "" {
		if o.chat.Topic == "" {
			return o.say(i18n.TitleNone)
		}
		return o.say(i18n.TitleIs, o.chat.Topic)
	}
	title := contextmgr.Title(cs.cfg.clean(o.args))
	if title == "" {
		return o.say(i18n.TitleEmpty)
	}
	return o.do(db.SetTitle{Title: title}, i18n.TitleSet, title)
}
