package modelsim

import (
	"slices"
	"strings"
)

// view is a request as the brain understands it.
type view struct {
	session  []historyMessage // messages of the session before the question
	history  []historyMessage // of the prefix before the question
	known    []historyMessage // all of both, and earlier prefixes, oldest first
	seen     map[historyMessage]bool
	question string
	draft    string    // the assistant's answer to the question so far
	uses     []toolUse // of tools, for the question, in their order
	pictures []string  // of the question: type and size
	demo     bool      // list what can be shown instead of an echo
	results  []block   // of the tools that were called last
	ran      bool      // a tool was called for the question
	task     origin    // byPerson: answer the question; goOn, compact: do what the CLI wants
}

// look reads a request.
func look(r *Request) *view {
	v := &view{task: byPerson, seen: make(map[historyMessage]bool)}
	prompt, asked := "", false
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			v.assistant(m.blocks)
			continue
		}
		for _, b := range m.blocks {
			if b.kind == "tool_result" {
				v.results, v.ran = append(v.results, b), true
				v.returned(b)
			}
			if b.kind != "text" {
				continue
			}
			text, from := attribute(m.Role, b.text)
			switch from {
			case byPerson:
				if asked {
					v.turn(prompt)
				}
				prompt, asked, v.task, v.draft, v.ran = text, true, byPerson, "", false
				v.uses, v.pictures = nil, picturesIn(m.blocks)
			case summary:
				v.know(readDigest(text)...)
			case interrupted:
				v.results = nil
			case goOn, compact:
				v.task = from
			}
		}
	}
	if n := len(v.known); !asked && n > 0 { // the CLI made a summary in the middle of a turn
		prompt, v.known = v.known[n-1].text, v.known[:n-1]
	}
	v.history, v.question = splitPrefix(prompt)
	v.learn(v.history)
	return v
}

// assistant reads what the assistant said and did.
func (v *view) assistant(blocks []block) {
	v.results = nil
	v.task = byPerson // the CLI's request was handled
	for _, b := range blocks {
		switch {
		case b.kind == "text" && b.text != filler:
			v.draft += b.text
		case b.kind == "tool_use":
			name, _, _ := strings.Cut(b.text, " ")
			v.uses = append(v.uses, toolUse{id: b.id, name: name})
		}
	}
}

// toolUse is one call of a tool.
type toolUse struct {
	id     string
	name   string
	failed bool   // also if people have refused it
	result string // empty = there is none yet
}

// returned records the result of a call.
func (v *view) returned(b block) {
	i := slices.IndexFunc(v.uses, func(u toolUse) bool { return u.id == b.id })
	if i < 0 {
		return
	}
	text := strings.TrimSpace(additions[0].ReplaceAllString(b.text, ""))
	v.uses[i].failed, v.uses[i].result = b.failed, text
}

// used is the newest call of a tool for the question.
func (v *view) used(name string) (toolUse, bool) {
	for _, u := range slices.Backward(v.uses) {
		if u.name == name {
			return u, true
		}
	}
	return toolUse{}, false
}

func picturesIn(blocks []block) (list []string) {
	for _, b := range blocks {
		if b.kind == "image" {
			list = append(list, b.source)
		}
	}
	return list
}

// turn moves a question and its answer into the past.
func (v *view) turn(prompt string) {
	history, question := splitPrefix(prompt)
	v.learn(history)
	list := []historyMessage{{user: true, text: question}}
	if v.draft != "" {
		list = append(list, historyMessage{user: false, text: v.draft})
	}
	v.session = append(v.session, list...)
	v.know(list...)
}

func (v *view) know(list ...historyMessage) {
	for _, s := range list {
		v.known = append(v.known, s)
		v.seen[historyMessage{user: s.user, text: plainText(s.text)}] = true
	}
}

// learn adds the messages of a prefix that are not known yet. A repeated message keeps its earlier place.
func (v *view) learn(history []historyMessage) {
	for _, s := range history {
		if !v.seen[historyMessage{user: s.user, text: plainText(s.text)}] {
			v.know(s)
		}
	}
}

// newest finds something that a user said, newest first, starting with the question itself.
func newest[T any](v *view, find func(text string) (T, bool)) (T, bool) {
	if found, ok := find(v.question); ok {
		return found, true
	}
	for _, s := range slices.Backward(v.known) {
		if !s.user {
			continue
		}
		if found, ok := find(s.text); ok {
			return found, true
		}
	}
	var none T
	return none, false
}

// resultText is the tools' output.
func (v *view) resultText() (text string, failed bool) {
	parts := make([]string, 0, len(v.results))
	for _, b := range v.results {
		parts = append(parts, strings.TrimSpace(additions[0].ReplaceAllString(b.text, "")))
		failed = failed || b.failed
	}
	return strings.Join(parts, "\n"), failed
}
