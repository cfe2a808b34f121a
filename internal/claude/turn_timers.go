package claude

import "time"

// turnTimers end a run that takes too long or is silent for too long. They are paused while people are asked.
type turnTimers struct {
	turn, silence *time.Timer
	ends          time.Time     // end of the turn
	left          time.Duration // of the turn, while paused
	paused        bool
}

func newTurnTimers(turn, silence time.Duration) *turnTimers {
	return &turnTimers{turn: time.NewTimer(turn), silence: time.NewTimer(silence), ends: time.Now().Add(turn)}
}

// restart restarts the silence timeout, and resumes paused timers.
func (b *turnTimers) restart(patience time.Duration) {
	if b.paused {
		b.ends = time.Now().Add(b.left)
		b.turn.Reset(b.left)
		b.paused = false
	}
	b.silence.Reset(patience)
}

// pause stops both timers.
func (b *turnTimers) pause() {
	if b.paused {
		return
	}
	b.paused, b.left = true, time.Until(b.ends)
	b.turn.Stop()
	b.silence.Stop()
}

func (b *turnTimers) stop() {
	b.turn.Stop()
	b.silence.Stop()
}
