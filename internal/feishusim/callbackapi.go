package feishusim

import "time"

// The token of a callback can update the card later (doc: feishu-cards/handle-card-callbacks).
const (
	callbackTTL     = 30 * time.Minute
	callbackUpdates = 2
)

// callbackAPI serves the delayed update of a card.
type callbackAPI struct{ world *world }

func (a *callbackAPI) routes() []route {
	return []route{api("POST /open-apis/interactive/v1/card/update", a.update)}
}

func (a *callbackAPI) update(q *request) (any, *refusal) {
	var in struct {
		Token string         `json:"token"`
		Card  map[string]any `json:"card"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	w := a.world
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	pr := w.presses[in.Token]
	switch {
	case pr == nil || time.Now().After(pr.ends):
		return nil, refuse(RuleUnknownID, codeCallbackToken, "token is invalid or has expired")
	case !pr.answered:
		return nil, refuse(RuleCallback, codeCallbackToken, "the callback is not answered yet")
	case pr.updates >= callbackUpdates:
		return nil, refuse(RuleCallback, codeCallbackToken, "token was used %d times", callbackUpdates)
	}
	if f := checkCard(in.Card, w.files.ownImage); f != nil {
		return nil, f.inMessage()
	}
	pr.updates++
	pr.message.showCard(in.Card, "delayed_update")
	return map[string]any{}, nil
}
