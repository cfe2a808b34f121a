package bridge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"magpie/bridge/i18n"
	"magpie/internal/chat"
)

// retry is the command /retry: it asks the last question of the conversation again. The previous answer stays in the
// History, where the agent sees it; a note in the prompt asks for a different one.
func (cs *commandSet) retry(ctx context.Context, o invocation) (commandResult, error) {
	if busy, err := cs.turns.isBusy(ctx, o.Key); err != nil || busy {
		return commandResult{reply: i18n.Busy.In(o.lang)}, err
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
	for m, err := range cs.db.History().Range(ctx, o.Key, o.chat.Epoch, 0, math.MaxInt64) {
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
		with, err := cs.db.Files().QuotedMessage(ctx, m.Key, m.ID)
		if err != nil {
			return "", nil, err
		}
		files = append(repeatedFiles(with), files...)
	}
	slices.Reverse(asked)
	return strings.Join(asked, "\n"), files, nil
}
