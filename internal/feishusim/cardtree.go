package feishusim

import (
	"maps"
	"slices"
)

// A card is decoded JSON: map[string]any, []any, string, float64, bool, nil. Elements are found by their element_id.

// text returns v if it is a string, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}

// member follows keys through maps; nil if one is missing.
func member(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// clone copies decoded JSON, so that a draft and the states of a message never share a map.
func clone(v any) any {
	switch n := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(n))
		for k, x := range n {
			out[k] = clone(x)
		}
		return out
	case []any:
		out := make([]any, len(n))
		for i, x := range n {
			out[i] = clone(x)
		}
		return out
	}
	return v
}

// eachTag calls f for every element in node, in the order of the lists. The keys of an object are sorted, so that tests
// find elements in the same order every time.
func eachTag(node any, f func(tag string, el map[string]any)) {
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			eachTag(x, f)
		}
	case map[string]any:
		if tag, ok := n["tag"].(string); ok {
			f(tag, n)
		}
		for _, k := range slices.Sorted(maps.Keys(n)) {
			eachTag(n[k], f)
		}
	}
}

// findElement returns the element with this id, or nil.
func findElement(root any, id string) map[string]any {
	var found map[string]any
	eachTag(root, func(_ string, el map[string]any) {
		if found == nil && el["element_id"] == id {
			found = el
		}
	})
	return found
}

// place is the position of an element: owner[key].([]any)[index].
type place struct {
	owner map[string]any
	key   string
	index int
}

// locate finds the list that contains the element.
func locate(node any, id string) (place, bool) {
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			if p, ok := locate(x, id); ok {
				return p, true
			}
		}
	case map[string]any:
		for k, v := range n {
			if list, ok := v.([]any); ok {
				if i := slices.IndexFunc(list, func(x any) bool { return member(x, "element_id") == id }); i >= 0 {
					return place{n, k, i}, true
				}
			}
			if p, ok := locate(v, id); ok {
				return p, true
			}
		}
	}
	return place{}, false
}

func (p place) list() []any { return p.owner[p.key].([]any) }

// splice replaces the count elements at p.index+shift by others.
// The list is cloned because messages and records still refer to the old one.
func (p place) splice(shift, count int, others ...any) {
	i := p.index + shift
	p.owner[p.key] = slices.Replace(slices.Clone(p.list()), i, i+count, others...)
}

// mergeJSON merges patch into node: objects are merged, everything else is replaced.
func mergeJSON(node, patch map[string]any) {
	for k, v := range patch {
		old, isMap := node[k].(map[string]any)
		if sub, ok := v.(map[string]any); ok && isMap {
			mergeJSON(old, sub)
			continue
		}
		node[k] = clone(v)
	}
}
