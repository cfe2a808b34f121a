package bridge

import (
	"context"
	"errors"
	"slices"

	"magpie/bridge/i18n"
	"magpie/db"
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
	key, recovered := o.Key, cs.turns.isRecovered()
	turns, err := cs.turns.openTurns(ctx, key)
	if err != nil {
		return commandResult{}, err
	}
	unasked, err := cs.db.Turns().FollowUps().Open(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return commandResult{}, err
	}
	// One that is queued has been started by its agent, which nobody reads yet.
	waits := err == nil && (unasked.State == db.Queued || !slices.Contains(turns, unasked.ID))
	if waits && !recovered { // its agent is gone, and it is about to end
		turns, waits = append(turns, unasked.ID), false
	}
	if len(turns) == 0 && !waits {
		return cs.drop(ctx, o)
	}
	done, err := o.do(db.StopTurns{Turns: turns}, i18n.Stopped)
	if waits {
		done.effects = append(done.effects, db.DropFollowUp{Turn: unasked.ID})
	}
	return done, err
}

// drop withdraws the decisions that would resume an interrupted turn. There is nothing else to stop.
func (cs *commandSet) drop(ctx context.Context, o invocation) (commandResult, error) {
	if err := cs.turns.awaitRecovery(ctx); err != nil { // which finds the decisions
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
	return o.do(db.DropTurn{Turn: turn, Over: over}, i18n.Stopped)
}
