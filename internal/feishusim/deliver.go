package feishusim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// event is one event on its way to the client.
type event struct {
	id        string
	kind      string // event_type
	messageID string // chat message that it is about, or ""
	payload   []byte
}

// renamed returns the same event with another ID.
func (e *event) renamed(id string) *event {
	out := *e
	out.id = id
	// the header with the ID comes before any user content
	out.payload = bytes.Replace(e.payload, []byte(e.id), []byte(id), 1)
	return &out
}

// ack is a client's answer to a push (oapi-sdk-go ws/model.go, Response).
type ack struct {
	Code int    `json:"code"`
	Data []byte `json:"data"` // base64 of a callback's answer
}

// attempt is one push of an event that waits for its ack.
type attempt struct {
	ev       *event
	conn     *conn // nil: there was none
	delivery *Delivery
	answer   chan ack      // buffered for one, so that acked never blocks
	excused  bool          // the connections were frozen meanwhile; guarded by hub.mu
	excuse   chan struct{} // closed when excused is set
}

// push sends an event and redelivers it. The first attempt has been queued when push
// returns, so events that are pushed sequentially arrive in this order on one connection.
func (h *hub) push(ev *event) {
	if !h.addWork() {
		return
	}
	first := h.attempt(ev, 1)
	go func() {
		defer h.work.Done()
		h.follow(first)
	}()
}

// follow pushes the event again until it is acknowledged with code 200 or given up.
func (h *hub) follow(at *attempt) {
	for i := 0; ; i++ {
		if a, ok := h.wait(nil, at); ok && a.Code == http.StatusOK {
			return
		}
		if i >= len(h.cfg.Redeliver) || !sleep(h.cfg.Redeliver[i], h.done) {
			return
		}
		at = h.attempt(at.ev, i+2)
	}
}

// attempt pushes the event to one connection.
func (h *hub) attempt(ev *event, number int) *attempt {
	at := &attempt{ev: ev, conn: h.pick(), answer: make(chan ack, 1), excuse: make(chan struct{})}
	at.delivery = &Delivery{EventID: ev.id, EventType: ev.kind, MessageID: ev.messageID,
		ID: newUUID(), Attempt: number, SentAt: time.Now()}
	if at.conn == nil {
		at.delivery.Failure = "no_connection"
		h.rec.addDelivery(at.delivery)
		return at
	}
	// Registered before the frames are sent: the ack may be back before send returns.
	h.mu.Lock()
	h.waiting[at.delivery.ID] = at
	frozen := h.frozen
	if frozen {
		at.pardon()
	}
	h.mu.Unlock()
	h.rec.addDelivery(at.delivery)
	if !frozen {
		at.conn.send(at.frames(h.cfg.Fragment)...) // what it cannot send is lost, like a frame on a broken connection
	}
	return at
}

// frames makes the data frames of a push: pieces of size bytes, or one frame if size is 0.
func (at *attempt) frames(size int) []*larkws.Frame {
	if size <= 0 {
		size = len(at.ev.payload)
	}
	sum := (len(at.ev.payload) + size - 1) / size
	out := make([]*larkws.Frame, sum)
	for i := range out {
		out[i] = &larkws.Frame{
			Service: at.conn.service,
			Method:  int32(larkws.FrameTypeData),
			Headers: headers(larkws.HeaderType, string(larkws.MessageTypeEvent),
				larkws.HeaderMessageID, at.delivery.ID,
				larkws.HeaderSum, strconv.Itoa(sum),
				larkws.HeaderSeq, strconv.Itoa(i),
				larkws.HeaderTraceID, at.ev.id,
				larkws.HeaderTimestamp, millis(time.Now())),
			Payload: at.ev.payload[i*size : min((i+1)*size, len(at.ev.payload))],
		}
	}
	return out
}

// ackTick is the granularity of the timeout for an ack. A suspended machine stops the client, too, so a wait counts at
// most one tick for the time in which neither could run.
const ackTick = 100 * time.Millisecond

// usualAck is how long the platform waits for an ack. If the connection is gone or was frozen, an ack is unlikely, so
// the wait is never longer than this even if Config.AckTimeout is long.
const usualAck = 3 * time.Second

// pardon records that no ack can be expected. The caller holds hub.mu.
func (at *attempt) pardon() {
	if !at.excused {
		at.excused = true
		close(at.excuse)
	}
}

// wait returns the ack, or false when there is none within Config.AckTimeout or before stop is closed.
func (h *hub) wait(stop <-chan struct{}, at *attempt) (ack, bool) {
	if at.conn == nil {
		return ack{}, false
	}
	gone, excuse := at.conn.gone, at.excuse
	for left := h.cfg.AckTimeout; left > 0; {
		began, tick := time.Now(), min(left, ackTick)
		t := time.NewTimer(tick)
		select {
		case a := <-at.answer:
			return a, true
		case <-h.done:
			return ack{}, false
		case <-stop:
			return ack{}, false
		case <-gone:
			left, gone = min(left, usualAck), nil
		case <-excuse:
			left, excuse = min(left, usualAck), nil
		case <-t.C:
			left -= min(tick, time.Since(began))
		}
	}
	// The ack may have come while the last tick ended; AckedAt, which acked sets under the records' lock, decides.
	blamed, late := h.blamed(at), true
	h.rec.updateDelivery(at.delivery, func(d *Delivery) {
		if late = d.AckedAt.IsZero(); late {
			d.Failure = "timeout"
		}
	})
	if !late { // the ack came at the last moment and is in the buffer
		return <-at.answer, true
	}
	if blamed {
		rule := RuleAck
		if at.ev.kind == eventCardAction {
			rule = RuleCallbackWait
		}
		h.rec.violate(rule, 0, "%s %s not acknowledged within %v", at.ev.kind, at.ev.id, h.cfg.AckTimeout)
	}
	return ack{}, false
}

// blamed reports whether the missing ack is the client's fault.
func (h *hub) blamed(at *attempt) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return at.conn.alive() && !at.excused
}

// acked handles an ack. It is matched only by the frame's message_id: the SDK writes it to any of its connections.
func (h *hub) acked(f *larkws.Frame) {
	hs := larkws.Headers(f.Headers)
	id := hs.GetString(larkws.HeaderMessageID)
	h.mu.Lock()
	at := h.waiting[id]
	delete(h.waiting, id)
	h.mu.Unlock()
	if at == nil {
		h.rec.violate(RuleAck, 0, "ack of %q, which waits for none", id)
		return
	}
	// An ack that cannot be parsed counts as a failure of the handler, so the event is pushed again.
	var a ack
	if err := json.Unmarshal(f.Payload, &a); err != nil {
		h.rec.violate(RuleAck, 0, "ack of %s: %v", id, err)
		a.Code = http.StatusInternalServerError
	}
	h.rec.updateDelivery(at.delivery, func(d *Delivery) {
		d.AckedAt = time.Now()
		d.AckCode = a.Code
		d.BizRT = time.Duration(hs.GetInt(larkws.HeaderBizRt)) * time.Millisecond
		d.Late = d.Failure != ""
		if a.Code != http.StatusOK && !d.Late {
			d.Failure = "code"
		}
	})
	at.answer <- a
}

// sleep waits for d and reports whether stop is still open.
func sleep(d time.Duration, stop <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}
