package convo

import "time"

// together is how long after a late question another one belongs to the same turn. Later the notice may be out of sight.
const together = 10 * time.Minute

// Asks is a message to the bot that has joined the History.
type Asks struct {
	Message Message
	ReplyTo string    // the platform's message that the answer replies to
	With    []Message // files that its author sent just before
	Held    bool      // nobody knows whether an answer is still wanted
	GoesOn  int64     // the undecided turn that it asks to go on; 0 = none
	Adds    int64     // the turn to whose agent it is to be handed, if that still works; 0 = it is a question of its own
	Prompt  string    // its name in the agent's transcript, if it is handed over
	Press   bool      // a button has written it: the answer replies to what the earlier turn has replied to
}

// Claims claims the next turn of a chat in which none runs.
type Claims struct{}

// PutBack puts a claimed turn back, as nothing came of it. It is claimed again in its old order.
type PutBack struct {
	Turn  int64
	Until time.Time // it waits until then, without having been tried; zero = it need not wait
}

// AskedAgain queues a turn once more that had failed before it did anything.
type AskedAgain struct {
	Turn  Turn
	Until time.Time // zero = at once
}

// Due ends the wait of all turns.
type Due struct{}

// Stops stops turns for a person. They end soon, or do not begin.
type Stops struct{ Turns []int64 }

// Reads says what the agent of a turn has read of what it was handed, by its names in the transcript.
type Reads struct {
	Turn    int64
	Prompts []string
}

// Joins makes messages that were handed to a turn part of its prompt, before that is made.
type Joins struct {
	Turn    int64
	Prompts []string
}

// Acts says whether a tool of a turn may have changed something.
type Acts struct {
	Turn  int64
	Acted bool
}

// Ends is the end of a claimed turn.
type Ends struct {
	Turn  int64
	Phase Phase
	Read  []string // as for [Reads]
	// the end of a turn that nobody has stopped: if somebody has, it is not the end
	Unstopped bool
}

// Recalls takes a question of a turn back.
type Recalls struct{ Turn, Seq int64 }

// Loses takes a question back of the turn that another one goes on with, or the last one of that which it follows.
type Loses struct {
	Turn int64 // the one that goes on, or follows
	Seq  int64 // of the question; 0 = the last one that a follow-up belongs to
}

// Begins begins another conversation. Nobody can make anything of the old one go on: it is to be dropped by [Decides].
type Begins struct{}

// Decides is a decision of people about an undecided turn, without a message. A turn that is to go on is asked by
// [Asks], unless it has never begun.
type Decides struct {
	Turn   int64
	GoesOn bool
}

// The effects.
type (
	// Given says which turn answers the message of [Asks], and whether its agent is to be handed it.
	Given struct {
		Turn   int64
		Handed bool
	}
	// Claimed says which turn [Claims] has claimed, and how many questions that answers.
	Claimed struct {
		Turn  int64
		Asked int
	}
	// Ended says that a turn has ended, or was put back, as the event says.
	Ended struct{ Turn int64 }
	// Refused says that the event is not true any more: somebody has stopped the turn.
	Refused struct{ Turn int64 }
	// Halt is to make the agent of a turn stop.
	Halt struct{ Turn int64 }
	// Offer is to ask people whether a held turn is wanted.
	Offer struct{ Turn int64 }
	// Settled is to show what people have decided about a turn, or that its questions were recalled.
	Settled struct {
		Turn    Turn
		Was, As Phase
	}
	// Unshow drops what was to be shown of a turn.
	Unshow struct{ Turn int64 }
)
