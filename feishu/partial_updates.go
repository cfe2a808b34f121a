package feishu

import (
	"sync"

	"github.com/rs/zerolog"

	"magpie/feishu/cardjson"
)

// updateLevel says what can be updated of a card without drawing the whole card again.
type updateLevel int

const (
	allUpdates  updateLevel = iota // any elements, several with one call
	textUpdates                    // the text of one element, which the client types out
	noUpdates                      // nothing
)

// levelFor is the level at which these updates can be made.
func levelFor(steps []cardjson.Step) updateLevel {
	if len(steps) == 1 && steps[0].Text != "" {
		return textUpdates
	}
	return allUpdates
}

// mostRefusals is how many cards in a row may have an update refused before new cards do without.
const mostRefusals = 3

// partialUpdates learns which updates of cards a tenant's platform accepts. It may refuse them for the sake of one
// card, or always.
type partialUpdates struct {
	log zerolog.Logger

	mu       sync.Mutex
	level    updateLevel         // of new cards
	refusals map[updateLevel]int // cards in a row, by the level of the update that was refused
}

// ofNewCards is the level at which a new card begins.
func (u *partialUpdates) ofNewCards() updateLevel {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.level
}

// accepted notes an update that the platform has made.
func (u *partialUpdates) accepted(level updateLevel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.refusals, level)
}

// refused notes an update that the platform refuses to make of a card that it draws as a whole.
func (u *partialUpdates) refused(level updateLevel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refusals == nil {
		u.refusals = make(map[updateLevel]int)
	}
	if u.refusals[level]++; u.refusals[level] >= mostRefusals && u.level <= level {
		u.level = level + 1
		u.log.Warn().Msg("feishu: the platform refuses to update parts of cards; whole cards are drawn from now on")
	}
}
