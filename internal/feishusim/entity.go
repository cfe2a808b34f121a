package feishusim

import (
	"crypto/sha256"
	"time"
)

// entity is a CardKit card, which exists separately from the message that shows it.
type entity struct {
	id      string
	root    map[string]any
	created time.Time
	message *message // that shows it, once sent

	seq     int64               // of the newest operation; all kinds of operations share it
	applied [32]byte            // hash of that operation's request
	uuids   map[string][32]byte // hashes of operations by their uuid

	streaming bool
	timedOut  bool   // the platform has closed streaming mode, and no call has failed because of it yet
	stopTTL   func() // stops the clock of streaming mode
	pressed   int    // callbacks that wait for their answer
}

// recordState records the current look of the card in the message that shows it.
func (e *entity) recordState(op string) {
	if e.message != nil && !e.message.Deleted {
		e.message.recordState(op, visibleCard(e.root), mustJSON(e.root), e.streaming)
	}
}

// setStreaming applies the card's config after an operation that can change it. Opening streaming mode restarts its
// clock.
func (w *world) setStreaming(e *entity, on bool, ttl time.Duration) {
	e.stopTTL()
	e.streaming, e.timedOut = on, false
	e.stopTTL = func() {}
	if on {
		e.stopTTL = w.alarms.after(ttl, func() { w.streamingTimeout(e) })
	}
}

// streamingTimeout closes streaming mode by itself (doc: cardkit-v1/streaming-updates-openapi-overview).
func (w *world) streamingTimeout(e *entity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.streaming {
		return
	}
	e.streaming, e.timedOut = false, true
	mergeJSON(e.root, map[string]any{"config": map[string]any{"streaming_mode": false}})
	e.recordState("streaming_timeout")
	if e.message != nil { // otherwise the answer to its creation may have been lost
		w.rec.violate(RuleStreamingOn, 0, "card %s was left in streaming mode", e.id)
	}
}

// operation is what all operations on a card entity have in common.
type operation struct {
	UUID     string `json:"uuid"`
	Sequence *int64 `json:"sequence"`
	request  [32]byte
}

// maxCardUUID is the length of an operation's idempotency key (doc: cardkit-v1/card-element/content).
const maxCardUUID = 64

// maxSequence is the largest sequence: a positive int32 (doc: cardkit-v1/card-element/content).
const maxSequence = 1<<31 - 1

func newOperation(q *request) (operation, *refusal) {
	var op operation
	if bad := q.decode(&op); bad != nil {
		return op, bad
	}
	// The hash distinguishes a retry from another operation with the same uuid or sequence.
	op.request = sha256.Sum256([]byte(q.Method + " " + q.URL.Path + "\x00" + string(q.body)))
	switch {
	case op.Sequence == nil:
		return op, refuse(RuleField, codeField, "field validation failed: sequence is required")
	case len(op.UUID) > maxCardUUID:
		return op, refuse(RuleField, codeField, "field validation failed: uuid is longer than %d", maxCardUUID)
	}
	return op, nil
}

// order checks the idempotency key and the sequence. replay means that the operation was applied before and must be
// answered with success. The key is checked first: the retry of an old operation must not fail because its sequence is
// old.
func (e *entity) order(op operation) (replay bool, bad *refusal) {
	if op.UUID != "" {
		if was, ok := e.uuids[op.UUID]; ok {
			if was != op.request {
				return false, refuse(RuleUUIDReused, codeKitUUID, "uuid conflict")
			}
			return true, nil
		}
	}
	if *op.Sequence >= 1 && *op.Sequence <= maxSequence && *op.Sequence > e.seq {
		return false, nil
	}
	rule := RuleSequence
	if *op.Sequence == e.seq && op.request == e.applied {
		rule = "" // a retry after a lost answer is not the client's mistake
	}
	return false, refuse(rule, codeKitSequence, "sequence number compare failed: %d after %d", *op.Sequence, e.seq)
}

// commit makes root the card, after the operation op.
func (e *entity) commit(root map[string]any, op operation) {
	e.root = root
	e.seq, e.applied = *op.Sequence, op.request
	if op.UUID != "" {
		e.uuids[op.UUID] = op.request
	}
}
