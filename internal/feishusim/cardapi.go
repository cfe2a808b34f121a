package feishusim

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxStreamText is the length of streamed content in characters (doc: cardkit-v1/card-element/content).
const maxStreamText = 100000

// cardAPI serves cardkit-v1.
type cardAPI struct {
	world *world
	push  func(*event)
	limit *limiter
	cfg   Config
}

func (a *cardAPI) routes() []route {
	const base = "/open-apis/cardkit/v1/cards"
	return []route{
		api("POST "+base, a.create),
		api("POST "+base+"/id_convert", a.convert),
		a.op("PUT "+base+"/{card_id}", "update", a.update),
		a.op("PATCH "+base+"/{card_id}/settings", "settings", a.settings),
		a.op("POST "+base+"/{card_id}/batch_update", "batch_update", a.batch),
		a.op("POST "+base+"/{card_id}/elements", "add_elements", a.insertElements),
		a.op("PUT "+base+"/{card_id}/elements/{element_id}", "update_element", a.updateElement),
		a.op("PATCH "+base+"/{card_id}/elements/{element_id}", "patch_element", a.patchElement),
		a.op("DELETE "+base+"/{card_id}/elements/{element_id}", "delete_element", a.deleteElement),
		a.op("PUT "+base+"/{card_id}/elements/{element_id}/content", "content", a.content),
	}
}

// cardData is a card in a request: its JSON in a string.
type cardData struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// read parses and checks a whole card.
func (d cardData) read(q *request, w *world) (map[string]any, *refusal) {
	if d.Type != "card_json" && d.Type != "template" {
		return nil, refuse(RuleField, codeField, "field validation failed: type %q", d.Type)
	}
	if d.Type == "template" {
		return nil, refuse(RuleField, codeKitParam, "the double knows no templates")
	}
	root, f := parseCard(d.Data)
	switch {
	case f != nil:
		return nil, f.inKit()
	case root["schema"] != schemaV2:
		return nil, refuse(RuleCard, codeKitSchema, "the card is not of schema 2.0")
	}
	if f := checkCard(root, w.files.ownImage); f != nil {
		return nil, f.inKit()
	}
	q.noteAtAll(root)
	return root, nil
}

// create makes an entity that no message shows yet. Its streaming clock runs from here, not from the message.
func (a *cardAPI) create(q *request) (any, *refusal) {
	var in cardData
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	root, bad := in.read(q, w)
	if bad != nil {
		return nil, bad
	}
	q.noteLinks(root)
	e := &entity{id: newCardID(), root: root, created: time.Now(), uuids: make(map[string][32]byte), stopTTL: func() {}}
	w.cards[e.id] = e
	w.setStreaming(e, streamingMode(root), a.cfg.StreamingTTL)
	return map[string]string{"card_id": e.id}, nil
}

func streamingMode(root map[string]any) bool {
	return member(root, "config", "streaming_mode") == true
}

// convert returns the entity that a message shows.
func (a *cardAPI) convert(q *request) (any, *refusal) {
	var in struct {
		MessageID string `json:"message_id"`
	}
	if bad := q.decode(&in); bad != nil {
		return nil, bad
	}
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.messages.byID[in.MessageID]
	switch {
	case m == nil:
		return nil, refuse(RuleUnknownID, codeKitNone, "message %q does not exist", in.MessageID)
	case m.CardID == "": // which the client cannot know
		return nil, refuse("", codeKitNone, "message %q shows no card entity", in.MessageID)
	}
	return map[string]string{"card_id": m.CardID}, nil
}

// draft is a copy of the card that an operation works on; it becomes the card only if the operation succeeds.
type draft struct {
	q      *request
	entity *entity
	root   map[string]any
	reopen bool // the operation decides streaming mode
}

// op makes the route of an operation: f changes the draft.
func (a *cardAPI) op(pattern, name string, f func(*draft) *refusal) route {
	return api(pattern, func(q *request) (any, *refusal) {
		op, bad := newOperation(q)
		if bad != nil {
			return nil, bad
		}
		return map[string]any{}, a.apply(q, name, op, f)
	})
}

// apply runs an operation on a draft. A refused operation changes nothing and does not use up its sequence; whether
// this is so on the real platform is not documented.
func (a *cardAPI) apply(q *request, name string, op operation, f func(*draft) *refusal) *refusal {
	w := a.world
	var changed *message
	defer func() { w.pushCardUpdate(changed, a.push) }() // without the lock
	defer w.notify.bump()
	w.mu.Lock()
	defer w.mu.Unlock()
	e, bad := a.usable(q.PathValue("card_id"))
	if bad != nil {
		return bad
	}
	if replay, bad := e.order(op); replay || bad != nil {
		return bad
	}
	d := &draft{q: q, entity: e, root: clone(e.root).(map[string]any)}
	if bad := f(d); bad != nil {
		return bad
	}
	if f := checkCard(d.root, w.files.ownImage); f != nil {
		return f.inKit()
	}
	q.noteLinks(d.root)
	e.commit(d.root, op)
	if d.reopen {
		w.setStreaming(e, streamingMode(d.root), a.cfg.StreamingTTL)
	}
	e.recordState(name)
	changed = e.message
	return nil
}

// usable returns an entity that can be changed now.
func (a *cardAPI) usable(id string) (*entity, *refusal) {
	e := a.world.cards[id]
	switch {
	case e == nil:
		return nil, refuse(RuleUnknownID, codeKitNone, "card entity %q does not exist", id)
	case time.Since(e.created) > updatable:
		return nil, refuse("", codeKitExpired, "card entity has expired")
	}
	// The documentation says in one place that streaming content is exempt from this limit; a client should not rely on
	// it.
	if _, ok := a.limit.allow(time.Now(), quota{"card " + id, a.cfg.Limits.CardPerSecond, time.Second}); !ok {
		return nil, refuse(RuleRate, codeChatFrequency, "trigger frequency limit of the card")
	}
	if e.pressed > 0 { // the client cannot know when somebody presses a button
		return nil, refuse("", codeKitInteracting, "the card is in an ongoing interaction")
	}
	return e, nil
}

// content streams text into an element: the full text each time.
func (a *cardAPI) content(d *draft) *refusal {
	var in struct {
		Content string `json:"content"`
	}
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	n := utf8.RuneCountInString(in.Content)
	switch {
	case n == 0:
		return refuse(RuleEmpty, codeField, "field validation failed: content is empty")
	case n > maxStreamText:
		return refuse(RuleSize, codeField, "field validation failed: content is longer than %d", maxStreamText)
	// The platform answers 200850 once after the timeout, and 300309 from then on.
	case d.entity.timedOut:
		d.entity.timedOut = false
		return refuse(RuleStreaming, codeKitTimedOut, "streaming mode has timed out")
	case !d.entity.streaming:
		return refuse(RuleStreaming, codeKitClosed, "streaming mode is closed")
	}
	el := findElement(d.root, d.q.PathValue("element_id"))
	if el == nil {
		return refuse(RuleUnknownID, codeKitUpdate, "element %q does not exist", d.q.PathValue("element_id"))
	}
	if tag := el["tag"]; tag != tagMarkdown && tag != tagPlainText {
		return refuse(RuleCard, codeKitNotText, "element is no text: %v", tag)
	}
	el["content"] = in.Content
	d.q.noteAtAll(in.Content)
	return nil
}

// update replaces the whole card; its config decides about streaming mode again. It works in any mode (doc:
// cardkit-v1/card/update), so it is the way out after a refused element.
func (a *cardAPI) update(d *draft) *refusal {
	var in struct {
		Card cardData `json:"card"`
	}
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	root, bad := in.Card.read(d.q, a.world)
	d.root, d.reopen = root, true
	return bad
}

// settings changes the card's config and link.
func (a *cardAPI) settings(d *draft) *refusal {
	var in struct {
		Settings string `json:"settings"`
	}
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	return d.set(in.Settings)
}

func (d *draft) set(raw string) *refusal {
	var s map[string]any
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return refuse(RuleField, codeKitConfig, "settings: %v", err)
	}
	config, ok := s["config"].(map[string]any)
	if _, link := s["card_link"]; !ok && !link {
		// The real platform's behavior is not documented; some clients send settings without config, which has no
		// effect.
		d.q.violate(RuleSettings, "settings without config have no effect: %s", raw)
		return nil
	}
	if config["update_multi"] == false {
		return refuse(RuleCard, codeKitNotShared, "update_multi must be true")
	}
	for _, k := range []string{"config", "card_link"} {
		if v, ok := s[k].(map[string]any); ok {
			mergeJSON(d.root, map[string]any{k: v})
		}
	}
	if _, ok := config["streaming_mode"].(bool); ok {
		d.reopen = true
	}
	return nil
}
