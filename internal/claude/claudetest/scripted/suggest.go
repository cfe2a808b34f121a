//go:build unix

package main

import (
	"context"
	"slices"
)

// suggest writes the model's suggestion of the next question, from the second answer on.
func (a *agent) suggest() {
	if a.answers++; !a.suggests || a.answers < 2 {
		return
	}
	guess := turnMessage{"user", encode("[SUGGESTION MODE: Suggest what the user might naturally type next.]")}
	body := object{"messages": append(slices.Clone(a.conv.messages), guess), "system": a.systemPrompt()}
	go func() {
		r, err := a.api.call(context.Background(), body, func(...object) error { return nil })
		a.mu.Lock()
		a.spent.add(r.usage)
		a.mu.Unlock()
		if err == nil && len(r.blocks) > 0 {
			// if that fails, the next line does, too
			_ = a.say(object{"type": "prompt_suggestion", "suggestion": r.blocks[0].text.String()})
		}
	}()
}
