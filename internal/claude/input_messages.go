package claude

import "github.com/google/uuid"

type object map[string]any

// sendPrompt sends a prompt: a text after images. id is its ID in the transcript.
func (in *input) sendPrompt(id, text string, images []Image) {
	text = BreakMarkup(text)
	if len(text) > 0 && text[0] == '/' {
		text = " " + text // otherwise the CLI would treat it as a slash command; it trims the space again
	}
	if len(images) == 0 {
		in.sendUserMessage(id, text)
		return
	}
	blocks := make([]object, 0, len(images)+1)
	for _, i := range images {
		blocks = append(blocks, i.contentBlock())
	}
	in.sendUserMessage(id, append(blocks, object{"type": "text", "text": text}))
}

// sendUserMessage sends a message of the user: a text, or a list of content blocks.
func (in *input) sendUserMessage(id string, content any) {
	in.send(object{"type": "user", "uuid": id, "message": object{"role": "user", "content": content}})
}

// sendControl sends a request to the CLI itself.
func (in *input) sendControl(request object) { in.sendRequest(uuid.NewString(), request) }

// sendRequest is sendControl with an id by which the response is recognized.
func (in *input) sendRequest(id string, request object) {
	in.send(object{"type": "control_request", "request_id": id, "request": request})
}

func (in *input) interrupt() { in.sendControl(object{"subtype": "interrupt"}) }

// initialize has a process load at its start what it would load with its first prompt. That takes no request to the
// model, writes nothing, and changes nothing of what the model is told (2.1.197 and 2.1.330). A process that is asked
// at once would answer later for it.
func (in *input) initialize() { in.sendControl(object{"subtype": "initialize"}) }

// setMode requests another permission mode.
func (in *input) setMode(mode string) {
	in.sendControl(object{"subtype": "set_permission_mode", "mode": mode})
}

// sendDecision answers a request.
func (in *input) sendDecision(q ToolAsk, v Decision) {
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

// sendError answers the request with that id with an error.
func (in *input) sendError(id, why string) {
	in.send(object{
		"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": why},
	})
}

// unattended tells the agent that nobody can be asked between turns or at the end of one.
const unattended = "This needs a permission, and nobody is there who could be asked for it. Do not try it again or " +
	"by other means. " +
	"Tell the user what you wanted to do and why."

// refuse denies a permission request that nobody can answer.
func (in *input) refuse(q ToolAsk) { in.sendDecision(q, Decision{Why: unattended}) }
