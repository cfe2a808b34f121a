package stream

import (
	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// Request is what the CLI itself is asked for.
type Request map[string]any

// StopTask stops a background task.
func StopTask(id string) Request { return Request{"subtype": "stop_task", "task_id": id} }

// RenameSession names the session.
func RenameSession(title string) Request { return Request{"subtype": "rename_session", "title": title} }

// Initialization has a process load at its start what it would load with its first prompt. That takes no request to the
// model, writes nothing, and changes nothing of what the model is told (2.1.197 and 2.1.330). A process that is asked
// at once would answer later for it.
func Initialization() Request { return Request{"subtype": "initialize"} }

// UsageRequest asks for what the process has used so far; see [SessionUsage].
func UsageRequest() Request { return Request{"subtype": "get_usage"} }

// SessionUsage is the answer to a [UsageRequest]: the most expensive model, the cost in USD, and all tokens, since the
// start of the process.
func SessionUsage(answer gjson.Result) (model string, cost float64, used Usage) {
	model, _, used = modelUsage(answer.Get("session.model_usage"))
	return model, dollars(answer.Get("session.total_cost_usd")), used
}

// TitleRequest asks for a title of a text, which the session does not see. The answer has it as "title".
func TitleRequest(text string) Request {
	return Request{
		"subtype": "generate_session_title", "description": breakMarkup(text, tagWordsAside), "persist": false,
	}
}

type object map[string]any

// SendPrompt sends a prompt: a text after images. id is its ID in the transcript.
func (in *Input) SendPrompt(id, text string, images []Image) {
	text = BreakMarkup(text)
	if len(text) > 0 && text[0] == '/' {
		text = " " + text // otherwise the CLI would treat it as a slash command; it trims the space again
	}
	if len(images) == 0 {
		in.SendUserMessage(id, text)
		return
	}
	blocks := make([]object, 0, len(images)+1)
	for _, i := range images {
		blocks = append(blocks, i.contentBlock())
	}
	in.SendUserMessage(id, append(blocks, object{"type": "text", "text": text}))
}

// SendUserMessage sends a message of the user: a text, or a list of content blocks.
func (in *Input) SendUserMessage(id string, content any) {
	in.send(object{"type": "user", "uuid": id, "message": object{"role": "user", "content": content}})
}

// SendControl sends a request to the CLI itself.
func (in *Input) SendControl(what Request) { in.SendRequest(uuid.NewString(), what) }

// SendRequest is SendControl with an id by which the response is recognized.
func (in *Input) SendRequest(id string, what Request) {
	in.send(object{"type": "control_request", "request_id": id, "request": what})
}

// Interrupt asks for the end of the turn.
func (in *Input) Interrupt() { in.SendControl(Request{"subtype": "interrupt"}) }

// SetMode requests another permission mode.
func (in *Input) SetMode(mode string) {
	in.SendControl(Request{"subtype": "set_permission_mode", "mode": mode})
}

// SendDecision answers a request.
func (in *Input) SendDecision(q ToolAsk, v Decision) {
	decided := object{"behavior": "deny", "message": BreakMarkup(v.Why)}
	switch {
	case q.Name == FormTool:
		decided = formResponse(v)
	case v.Allow:
		decided = object{"behavior": "allow", "updatedInput": v.Input}
	}
	in.send(object{
		"type": "control_response", "response": object{"subtype": "success", "request_id": q.ID, "response": decided},
	})
}

// SendError answers the request with that id with an error.
func (in *Input) SendError(id, why string) {
	in.send(object{
		"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": why},
	})
}

// unattended tells the agent that nobody can be asked between turns or at the end of one.
const unattended = "This needs a permission, and nobody is there who could be asked for it. Do not try it again or " +
	"by other means. " +
	"Tell the user what you wanted to do and why."

// Refuse denies a permission request that nobody can answer.
func (in *Input) Refuse(q ToolAsk) { in.SendDecision(q, Decision{Why: unattended}) }
