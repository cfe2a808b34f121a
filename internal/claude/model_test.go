package claude_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
)

// A chat's model and effort replace the configured ones, and a process with the former replaces one with the latter.
func TestAChatHasItsOwnModel(t *testing.T) {
	r := newRig(t, func(c *claude.Config) { c.Model, c.Effort = "claude-opus-4-8", "low" })
	asked := func() (model, effort string) {
		reqs := r.model.Requests()
		body := reqs[len(reqs)-1].Body
		return gjson.GetBytes(body, "model").String(), gjson.GetBytes(body, "output_config.effort").String()
	}
	spec := fresh()
	r.turn(t.Context(), "a", spec, "我叫小明")
	if m, e := asked(); m != "claude-opus-4-8" || e != "low" {
		t.Errorf("configured: %q %q", m, e)
	}
	spec.Model, spec.Effort = "claude-sonnet-5", "high"
	if a := r.turn(t.Context(), "a", resumed(spec), "我叫什么名字？"); a.text() != "你叫小明。" ||
		a.result.Model != "claude-sonnet-5" {
		t.Errorf("with another model: %q %q %v", a.text(), a.result.Model, a.err)
	}
	if m, e := asked(); m != "claude-sonnet-5" || e != "high" {
		t.Errorf("of the chat: %q %q", m, e)
	}
	if n := r.pool.Stats().Started; n != 2 {
		t.Errorf("%d processes", n)
	}
}
