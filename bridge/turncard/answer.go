package turncard

import (
	"slices"
	"strings"

	"magpie/internal/claude"
)

// answer is the agent's answer as an immutable value. After a decision by people it continues in a new message below
// the card that asked them.
type answer struct {
	blocks []string
	starts []int // blocks that begin a message
	asked  bool  // people were asked something since the last of starts
}

// newAnswer is an answer with each part in a message of its own.
func newAnswer(parts []string) answer {
	a := answer{blocks: parts}
	for i := 1; i < len(parts); i++ {
		a.starts = append(a.starts, i)
	}
	return a
}

// withText returns the answer with a text block added. open means that a decision is pending.
func (a answer) withText(e claude.Text, open bool) answer {
	if e.Block >= len(a.blocks) {
		a = a.startMessage(e.Block, open)
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

// rewindTo returns the answer without this block and all later ones. Posted messages stay, and are filled again.
func (a answer) rewindTo(block int) answer {
	a.starts = slices.Clone(a.starts)
	for i, start := range a.starts {
		a.starts[i] = min(start, block)
	}
	a.blocks = slices.Clip(a.blocks[:min(block, len(a.blocks))])
	return a
}

// startMessage returns the answer with this block at the start of a message, if people have decided something since the
// last one.
func (a answer) startMessage(block int, open bool) answer {
	if a.asked && !open {
		a.starts, a.asked = append(slices.Clone(a.starts), block), false
	}
	return a
}

// emptied returns the answer with its messages emptied, for when the agent starts over.
func (a answer) emptied() answer {
	return answer{starts: make([]int, len(a.starts)), asked: a.asked}
}

// text is the whole answer.
func (a answer) text() string { return joinBlocks(a.blocks) }

// parts are the messages of the answer, at least one. All but the last are complete.
func (a answer) parts() []string {
	parts, from := make([]string, 0, len(a.starts)+1), 0
	for _, to := range append(slices.Clip(a.starts), len(a.blocks)) {
		to = min(to, len(a.blocks))
		parts, from = append(parts, joinBlocks(a.blocks[from:to])), to
	}
	return parts
}

// joinBlocks joins blocks of an answer to one text.
func joinBlocks(blocks []string) string {
	parts := make([]string, 0, len(blocks))
	for _, block := range blocks {
		if strings.TrimSpace(block) != "" {
			parts = append(parts, block)
		}
	}
	return strings.Join(parts, "\n\n")
}
