package stream

import (
	"cmp"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// The tools by which the agent asks people something. They arrive as a [ToolAsk] in every mode except dontAsk, whatever
// the rules allow.
const (
	QuestionTool = "AskUserQuestion"
	PlanTool     = "ExitPlanMode"
)

// PlanMode is the permission mode in which the agent only reads, and proposes a plan.
const PlanMode = "plan"

// Rule is a permission rule in the CLI's own form: "Bash" and "git log:*".
type Rule struct{ Tool, Content string }

// Decision is the answer to a [ToolAsk].
type Decision struct {
	Allow bool
	Input json.RawMessage // the input for an allowed tool
	Why   string          // the reason that tells the agent why the tool was refused
	// a person has refused it; otherwise nobody has decided
	Refused bool
}

// ReadToolAsk parses a permission request, if the line is one.
func ReadToolAsk(line []byte) (ToolAsk, bool) {
	v := gjson.ParseBytes(line)
	q := v.Get("request")
	switch kind := q.Get("subtype").String(); {
	case v.Get("type").String() != "control_request" || !ValidJSON(line): // the input becomes part of the answer
		return ToolAsk{}, false
	case kind == "elicitation":
		return ToolAsk{ID: v.Get("request_id").String(), Name: FormTool, Input: formInput(q)}, true
	case kind != "can_use_tool":
		return ToolAsk{}, false
	}
	ask := ToolAsk{
		ID: v.Get("request_id").String(), Use: q.Get("tool_use_id").String(), Name: q.Get("tool_name").String(),
		Input: json.RawMessage(cmp.Or(q.Get("input").Raw, "{}")),
	}
	for _, s := range q.Get("permission_suggestions").Array() {
		if s.Get("type").String() != "addRules" || s.Get("behavior").String() != "allow" {
			continue // for example a change of the mode, which allows more than requested
		}
		for _, r := range s.Get("rules").Array() {
			ask.Rules = append(ask.Rules, Rule{r.Get("toolName").String(), r.Get("ruleContent").String()})
		}
	}
	return ask, true
}

// WithPlan restores a missing plan in a request. Without a plan file, 2.1.330 removes the plan from the input, so that
// people would see none; called is the input of the agent's tool call.
func WithPlan(asked, called json.RawMessage) json.RawMessage {
	if gjson.GetBytes(asked, "plan").Exists() || !gjson.GetBytes(called, "plan").Exists() {
		return asked
	}
	return called
}

// ReadCancel returns the ID of the permission request that the CLI withdraws by this line, if it does.
func ReadCancel(line []byte) (id string, ok bool) {
	if gjson.GetBytes(line, "type").String() != "control_cancel_request" {
		return "", false
	}
	return gjson.GetBytes(line, "request_id").String(), true
}
