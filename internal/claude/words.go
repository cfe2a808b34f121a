package claude

import "github.com/google/uuid"

type object map[string]any

// ask asks the agent something: a text, behind pictures. id is the question's name in the transcript.
func (in *input) ask(id, text string, images []Image) {
	if len(text) > 0 && text[0] == '/' {
		text = " " + text // else the CLI takes it for a command of its own; it trims the space again
	}
	if len(images) == 0 {
		in.prompt(id, text)
		return
	}
	blocks := make([]object, 0, len(images)+1)
	for _, i := range images {
		blocks = append(blocks, i.block())
	}
	in.prompt(id, append(blocks, object{"type": "text", "text": text}))
}

// prompt sends what the user says: a text, or a list of blocks.
func (in *input) prompt(id string, content any) {
	in.send(object{"type": "user", "uuid": id, "message": object{"role": "user", "content": content}})
}

// control tells the CLI itself something.
func (in *input) control(request object) { in.request(uuid.NewString(), request) }

// request is control with an id by which the response is known.
func (in *input) request(id string, request object) {
	in.send(object{"type": "control_request", "request_id": id, "request": request})
}

func (in *input) interrupt() { in.control(object{"subtype": "interrupt"}) }

// setMode asks for another permission mode.
func (in *input) setMode(mode string) {
	in.control(object{"subtype": "set_permission_mode", "mode": mode})
}

// answer answers the question with that id whether a tool may be used.
func (in *input) answer(id string, v Decision) {
	decided := object{"behavior": "deny", "message": v.Why}
	if v.Allow {
		decided = object{"behavior": "allow", "updatedInput": v.Input}
	}
	in.send(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": decided}})
}

// unheard is what the agent reads when it asks between turns or at the end of one.
const unheard = "This needs a permission, and nobody is there who could be asked for it. Do not try it again or by other means. " +
	"Tell the user what you wanted to do and why."

// refuse answers a question that nobody hears.
func (in *input) refuse(q ToolAsk) { in.answer(q.ID, Decision{Why: unheard}) }
