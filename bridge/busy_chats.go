package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// errStopped is the cancellation cause when a user stops a turn.
var errStopped = errors.New("stopped by a user")

// errRecalled is errStopped when the questions of the turn were recalled: what its agent does for others goes on.
var errRecalled = fmt.Errorf("%w: question recalled; %w", errStopped, claude.ErrTurnOnly)

// busyChats are the chats that somebody works for, with all of their turns that no row says and a restart forgets: how
// to stop the one that runs, and what its agent is still to be handed.
type busyChats struct{ workqueue.Lanes[busyChat] }

// busyChat is the turn of a chat that somebody works for.
type busyChat struct {
	turn   int64                   // claimed or running; 0 = none
	stop   context.CancelCauseFunc // ends it; nil = it has not begun
	waits  bool                    // for a free process, or for people: stopping it loses nothing
	halted []int64                 // turns that are to be stopped as soon as they begin

	claim   db.Claim // whom its agent works for, with what that has read since; no turn = nobody yet
	project string   // where
	takes   int64    // the turn whose agent takes messages; 0 = none
	lang    i18n.Lang
	unread  []addition                 // in the order of arrival
	agent   func(id, text string) bool // hands a message to the agent; nil = it does not have the question yet
}

// addition is a message to a running turn that its agent has not read yet.
type addition struct {
	prompt  string // its name in the agent's transcript
	message chat.Message
	handed  bool // the agent's process has it
}

// claimed records the turn that is about to begin in the chat: it counts as running, and if it is stopped now, it is
// stopped as soon as it begins.
func (bc *busyChats) claimed(key chat.Key, turn int64) {
	bc.In(key, func(c *busyChat) { c.turn = turn })
}

// begin records the running turn, and how to stop it.
func (bc *busyChats) begin(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	bc.In(key, func(c *busyChat) {
		*c = busyChat{turn: turn, stop: stop, halted: c.halted}
		if slices.Contains(c.halted, turn) {
			stop(errStopped)
		}
	})
}

// works records for whom the agent of the running turn works, and where: its tools are used on their behalf.
func (bc *busyChats) works(claim db.Claim, project string) {
	bc.In(claim.Turn.Key, func(c *busyChat) { c.claim, c.project = claim, project })
}

// asked adds to a running turn what its agent has read, or gets with its prompt: from now on it works for these people,
// too.
func (bc *busyChats) asked(claim db.Claim) {
	bc.In(claim.Turn.Key, func(c *busyChat) { c.claim.Asked = slices.Clone(claim.Asked) })
}

// worksFor returns for whom the agent of the chat's running turn works, and where, or false.
func (bc *busyChats) worksFor(key chat.Key) (claim db.Claim, project string, ok bool) {
	bc.In(key, func(c *busyChat) {
		claim, project = c.claim, c.project
		ok = c.turn != 0 && c.turn == claim.Turn.ID
	})
	return claim, project, ok
}

// listen lets the chat's running turn take messages. What its agent has not read at its end is queued by that.
func (bc *busyChats) listen(key chat.Key, l i18n.Lang) {
	bc.In(key, func(c *busyChat) { c.takes, c.lang = c.turn, l })
}

// end records that no turn is running.
func (bc *busyChats) end(key chat.Key) {
	bc.In(key, func(c *busyChat) { c.turn, c.stop, c.waits = 0, nil, false })
}

// running is the chat's running turn; 0 = none.
func (bc *busyChats) running(key chat.Key) (turn int64) {
	bc.In(key, func(c *busyChat) { turn = c.turn })
	return turn
}

// chatOf returns the chat of a running turn, or false.
func (bc *busyChats) chatOf(turn int64) (found chat.Key, ok bool) {
	bc.Each(func(key chat.Key, c *busyChat) {
		if c.turn == turn {
			found, ok = key, true
		}
	})
	return found, ok
}

// stop stops a turn, if it is running in the chat.
func (bc *busyChats) stop(key chat.Key, turn int64) (stopped bool) {
	bc.In(key, func(c *busyChat) {
		if stopped = c.stop != nil && turn == c.turn; stopped {
			c.stop(errStopped)
		}
	})
	return stopped
}

// halt stops turns, for that cause, that are running, or waiting for their turn in a chat that somebody works for.
func (bc *busyChats) halt(key chat.Key, why error, turns ...int64) {
	bc.In(key, func(c *busyChat) {
		if c.halted = append(c.halted, turns...); c.stop != nil && slices.Contains(turns, c.turn) {
			c.stop(why)
		}
	})
}

// close prevents new work. Turns that wait for a process or for people are cancelled, since neither would finish in the
// remaining time.
func (bc *busyChats) close() {
	bc.Close()
	bc.Each(func(_ chat.Key, c *busyChat) {
		if c.waits {
			c.stop(context.Canceled)
		}
	})
}

// setWaiting records whether the chat's running turn waits for a free process or for people.
func (bc *busyChats) setWaiting(key chat.Key, waits bool) {
	bc.In(key, func(c *busyChat) { c.waits = waits })
	if waits && bc.Closed() {
		bc.In(key, func(c *busyChat) { c.stop(context.Canceled) })
	}
}

// mayAdd reports whether a running turn takes messages, and one by this author: if not one of its askers, then one who is
// in charge.
func (bc *busyChats) mayAdd(turn int64, m chat.Incoming, inCharge bool) (may bool) {
	bc.In(m.Key, func(c *busyChat) {
		asker := func(q chat.Message) bool { return q.Actor.ID == m.Actor.ID }
		may = c.takes == turn && (inCharge || slices.ContainsFunc(c.claim.Asked, asker))
	})
	return may
}

// hand hands a stored message to the agent of a turn, now or once it has the question. If the turn has ended, its end has
// queued the message.
func (bc *busyChats) hand(turn int64, prompt string, m chat.Message) {
	bc.In(m.Key, func(c *busyChat) {
		if c.takes == turn {
			c.unread = append(c.unread, addition{prompt: prompt, message: m})
			c.sendUnread()
		}
	})
}

// attach lets the agent of the chat's running turn have the messages: it has the question.
func (bc *busyChats) attach(key chat.Key, agent func(id, text string) bool) {
	bc.In(key, func(c *busyChat) {
		c.agent = agent
		c.sendUnread()
	})
}

// sendUnread sends the agent all messages that it does not have yet.
func (c *busyChat) sendUnread() {
	of := c.claim.Chat
	for i := range c.unread {
		if u := &c.unread[i]; c.agent != nil && !u.handed {
			u.handed = c.agent(u.prompt, contextmgr.QuestionText([]chat.Message{u.message}, of.Kind, string(c.lang)))
		}
	}
}

// detach takes the unread messages back from an agent that has ended, or does not have the question yet.
func (bc *busyChats) detach(key chat.Key) (unread []addition) {
	bc.In(key, func(c *busyChat) {
		unread = c.unread
		c.unread, c.agent = nil, nil
	})
	return unread
}

// unread lists the messages of the chat's last turn that its agent has not read.
func (bc *busyChats) unread(key chat.Key) (list []chat.Message) {
	bc.In(key, func(c *busyChat) {
		for _, u := range c.unread {
			list = append(list, u.message)
		}
	})
	return list
}

// read returns the message that the agent has read under a prompt ID.
func (bc *busyChats) read(key chat.Key, prompt string) (m chat.Message, ok bool) {
	bc.In(key, func(c *busyChat) {
		i := slices.IndexFunc(c.unread, func(u addition) bool { return u.prompt == prompt })
		if ok = i >= 0; ok {
			m = c.unread[i].message
			c.unread = slices.Delete(c.unread, i, i+1)
		}
	})
	return m, ok
}
