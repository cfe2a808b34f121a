package feishu

import (
	"sync"

	"github.com/rs/zerolog"

	"magpie/feishu/cardjson"
)

// updateLevel is what can be updated on a card without redrawing all of it.
type updateLevel int

const (
	allUpdates  updateLevel = iota // any elements, several per call
	textUpdates                    // the text of one element, which the client types out
	noUpdates                      // nothing
)

// levelFor is the level that these updates need.
func levelFor(steps []cardjson.Step) updateLevel {
	if len(steps) == 1 && steps[0].Text != "" {
		return textUpdates
	}
	return allUpdates
}

// maxRefusals is how many consecutive cards may have an update refused before new cards stop using it.
const maxRefusals = 3

// partialUpdates learns which updates of cards a tenant's platform accepts. It may refuse them for a certain card, or
// always.
type partialUpdates struct {
	log zerolog.Logger

	mu       sync.Mutex
	level    updateLevel         // of new cards
	refusals map[updateLevel]int // consecutive cards, by the level of the refused update
}

// newPartialUpdates uses all updates, or none if wholeCards.
func newPartialUpdates(wholeCards bool, log zerolog.Logger) *partialUpdates {
	u := &partialUpdates{log: log}
	if wholeCards {
		u.level = noUpdates
	}
	return u
}

// initialLevel is the initial level of a new card.
func (u *partialUpdates) initialLevel() updateLevel {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.level
}

// recordAccepted records a successful update.
func (u *partialUpdates) recordAccepted(level updateLevel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.refusals, level)
}

// recordRefused records an update that the platform refused although it draws the card as a whole.
func (u *partialUpdates) recordRefused(level updateLevel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refusals == nil {
		u.refusals = make(map[updateLevel]int)
	}
	if u.refusals[level]++; u.refusals[level] >= maxRefusals && u.level <= level {
		u.level = level + 1
		u.log.Warn().Msg("feishu: the platform refuses to update parts of cards; drawing whole cards from now on")
	}
}
