package turncard

import (
	"slices"
	"strings"

	"magpie/internal/claude"
)

// answer is what the agent says: a value. It goes on on another message, below the card that asked people, once they
// have decided.
type answer struct {
	blocks []string
	starts []int // blocks with which a message begins
	asked  bool  // people were asked something since the last of them
}

// saying is an answer with each part on a message of its own.
func saying(parts []string) answer {
	a := answer{blocks: parts}
	for i := 1; i < len(parts); i++ {
		a.starts = append(a.starts, i)
	}
	return a
}

// with is the answer after a piece of it. open is whether people have yet to decide something.
func (a answer) with(e claude.Text, open bool) answer {
	if e.Block >= len(a.blocks) {
		a = a.below(e.Block, open)
	}
	a.blocks = slices.Clone(a.blocks)
	for len(a.blocks) <= e.Block {
		a.blocks = append(a.blocks, "")
	}
	if e.Whole {
		a.blocks[e.Block] = ""
	}
	a.blocks[e.Block] += e.Text
	return a
}

// back is the answer without this block and what follows it. What was posted stays there, and is filled again.
func (a answer) back(block int) answer {
	a.starts = slices.Clone(a.starts)
	for i, start := range a.starts {
		a.starts[i] = min(start, block)
	}
	a.blocks = slices.Clip(a.blocks[:min(block, len(a.blocks))])
	return a
}

// below is the answer in which this block begins a message, if people have decided something since the last one.
func (a answer) below(block int, open bool) answer {
	if a.asked && !open {
		a.starts, a.asked = append(slices.Clone(a.starts), block), false
	}
	return a
}

// void is what stays when the agent begins again: the messages, with nothing on them.
func (a answer) void() answer {
	return answer{starts: make([]int, len(a.starts)), asked: a.asked}
}

// text is the answer as a whole.
func (a answer) text() string { return written(a.blocks) }

// parts are the answer as it is divided, at least one: each of them but the last is complete.
func (a answer) parts() []string {
	parts, from := make([]string, 0, len(a.starts)+1), 0
	for _, to := range append(slices.Clip(a.starts), len(a.blocks)) {
		to = min(to, len(a.blocks))
		parts, from = append(parts, written(a.blocks[from:to])), to
	}
	return parts
}

// written are blocks of an answer as one text.
func written(blocks []string) string {
	parts := make([]string, 0, len(blocks))
	for _, block := range blocks {
		if strings.TrimSpace(block) != "" {
			parts = append(parts, block)
		}
	}
	return strings.Join(parts, "\n\n")
}
