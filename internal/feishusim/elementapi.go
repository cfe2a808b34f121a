package feishusim

import (
	"bytes"
	"encoding/json"
)

// insertElements inserts elements into a card.
func (a *cardAPI) insertElements(d *draft) *refusal {
	var in elementAction
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	elements, bad := readElements(in.Elements)
	if bad != nil {
		return bad
	}
	return d.insert(in.Type, in.Target, elements)
}

// readElements parses a list of elements from a JSON string.
func readElements(raw string) ([]any, *refusal) {
	var elements []any
	if err := json.Unmarshal([]byte(raw), &elements); err != nil || len(elements) == 0 {
		return nil, refuse(RuleField, codeKitParam, "elements is no list of elements in a JSON string")
	}
	return elements, nil
}

// readElement parses an element from a JSON string.
func readElement(raw string) (map[string]any, *refusal) {
	var el map[string]any
	if err := json.Unmarshal([]byte(raw), &el); err != nil || len(el) == 0 {
		return nil, refuse(RuleField, codeKitParam, "no element in a JSON string")
	}
	return el, nil
}

// insert puts elements beside the target, at its end, or at the end of the body (doc:
// cardkit-v1/card-element/create).
func (d *draft) insert(kind, target string, elements []any) *refusal {
	d.q.noteAtAll(elements)
	switch kind {
	case "append":
		return d.appendTo(target, elements)
	case "insert_before", "insert_after":
		p, ok := locate(d.root, target)
		if !ok {
			return refuse(RuleUnknownID, codeKitAdd, "element %q does not exist", target)
		}
		p.splice(map[string]int{"insert_before": 0, "insert_after": 1}[kind], 0, elements...)
		return nil
	}
	return refuse(RuleField, codeField, "field validation failed: type %q", kind)
}

func (d *draft) appendTo(target string, elements []any) *refusal {
	owner, _ := d.root["body"].(map[string]any)
	if target != "" {
		owner = findElement(d.root, target)
	}
	if owner == nil {
		return refuse(RuleUnknownID, codeKitAdd, "element %q does not exist", target)
	}
	list, ok := owner["elements"].([]any)
	if !ok {
		return refuse(RuleCard, codeKitAdd, "element %q holds no elements", target)
	}
	// The capacity is cut so that append copies: other drafts share the backing array.
	owner["elements"] = append(list[:len(list):len(list)], elements...)
	return nil
}

// updateElement replaces an element.
func (a *cardAPI) updateElement(d *draft) *refusal {
	var in elementAction
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	return d.replace(d.q.PathValue("element_id"), in.Element)
}

// replace replaces an element; the new one may have another tag and ID.
func (d *draft) replace(id, raw string) *refusal {
	el, bad := readElement(raw)
	if bad != nil {
		return bad
	}
	p, ok := locate(d.root, id)
	if !ok {
		return refuse(RuleUnknownID, codeKitUpdate, "element %q does not exist", id)
	}
	d.q.noteAtAll(el)
	p.splice(0, 1, el)
	return nil
}

// patchElement changes members of an element; its tag stays.
func (a *cardAPI) patchElement(d *draft) *refusal {
	var in elementAction
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	return d.merge(d.q.PathValue("element_id"), in.Partial)
}

// merge changes members of an element. Its tag stays (code 300312), because the client would have to build another
// component.
func (d *draft) merge(id, raw string) *refusal {
	patch, bad := readElement(raw)
	if bad != nil {
		return bad
	}
	el := findElement(d.root, id)
	if el == nil {
		return refuse(RuleUnknownID, codeKitUpdate, "element %q does not exist", id)
	}
	if tag, ok := patch["tag"]; ok && tag != el["tag"] {
		return refuse(RuleCard, codeKitTag, "the tag of an element cannot be changed")
	}
	d.q.noteAtAll(patch)
	mergeJSON(el, patch)
	return nil
}

// deleteElement removes an element.
func (a *cardAPI) deleteElement(d *draft) *refusal {
	return d.remove(d.q.PathValue("element_id"))
}

func (d *draft) remove(id string) *refusal {
	p, ok := locate(d.root, id)
	if !ok { // breaks no rule: a killed client cannot know whether its last deletion was carried out
		return refuse("", codeKitDelete, "element %q does not exist", id)
	}
	p.splice(0, 1)
	return nil
}

// elementAction is the parameters of the element APIs and of the steps of a batch (doc: cardkit-v1/card/batch_update).
type elementAction struct {
	Type       string          `json:"type"`
	Target     string          `json:"target_element_id"`
	Elements   string          `json:"elements"`
	Element    string          `json:"element"`
	Partial    string          `json:"partial_element"`
	ElementID  string          `json:"element_id"`
	ElementIDs []string        `json:"element_ids"`
	Settings   json.RawMessage `json:"settings"`
}

// batch applies several steps to the draft. One failing step refuses the whole call, so none is applied.
func (a *cardAPI) batch(d *draft) *refusal {
	var in struct {
		Actions string `json:"actions"`
	}
	if bad := d.q.decode(&in); bad != nil {
		return bad
	}
	var actions []struct {
		Action string                     `json:"action"`
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(in.Actions), &actions); err != nil || len(actions) == 0 {
		return refuse(RuleField, codeKitParam, "actions is no list of actions in a JSON string")
	}
	for _, act := range actions {
		p, bad := readParams(act.Params)
		if bad == nil {
			bad = d.step(act.Action, p)
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

// readParams parses the parameters of a step. In actions, elements are objects, not strings.
func readParams(params map[string]json.RawMessage) (elementAction, *refusal) {
	for _, k := range []string{"elements", "element", "partial_element"} {
		if raw := params[k]; len(raw) > 0 && raw[0] != '"' {
			params[k] = mustJSON(string(raw))
		}
	}
	var p elementAction
	strict := json.NewDecoder(bytes.NewReader(mustJSON(params)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&p); err != nil {
		return p, refuse(RuleField, codeKitParam, "params: %v", err)
	}
	return p, nil
}

func (d *draft) step(action string, p elementAction) *refusal {
	switch action {
	case "add_elements":
		elements, bad := readElements(p.Elements)
		if bad != nil {
			return bad
		}
		return d.insert(p.Type, p.Target, elements)
	case "delete_elements":
		if len(p.ElementIDs) == 0 {
			return refuse(RuleField, codeKitParam, "element_ids is empty")
		}
		for _, id := range p.ElementIDs {
			if bad := d.remove(id); bad != nil {
				return bad
			}
		}
		return nil
	case "update_element":
		return d.replace(p.ElementID, p.Element)
	case "partial_update_element":
		return d.merge(p.ElementID, p.Partial)
	case "partial_update_setting":
		return d.setRaw(p.Settings)
	}
	return refuse(RuleField, codeKitParam, "unknown action %q", action)
}

// setRaw accepts settings as an object or as JSON in a string.
func (d *draft) setRaw(raw json.RawMessage) *refusal {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return d.set(s)
	}
	return d.set(string(raw))
}
