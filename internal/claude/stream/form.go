package stream

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// FormTool is the name of a [ToolAsk] with which an MCP server asks people for something. It is no tool of the agent.
// Its input has "server", "message", and either "schema", the form in JSON Schema, or "url", where they answer. What
// they answer is in "answers" of the [Decision]'s input, by the names of the schema.
const FormTool = "MCPElicitation"

// AsksPeople reports whether a [ToolAsk] with this name asks for an answer instead of a permission.
func AsksPeople(name string) bool { return name == QuestionTool || name == FormTool }

// formInput is the input of a [FormTool].
func formInput(request gjson.Result) json.RawMessage {
	in := object{"server": request.Get("mcp_server_name").String(), "message": request.Get("message").String()}
	if request.Get("mode").String() == "url" {
		in["url"] = request.Get("url").String()
	} else if schema := request.Get("requested_schema"); schema.IsObject() {
		in["schema"] = json.RawMessage(schema.Raw)
	}
	data, err := json.Marshal(in)
	if err != nil {
		panic(err) // only strings, and JSON that was read
	}
	return data
}

// formResponse is the answer that the server of a [FormTool] gets.
func formResponse(v Decision) object {
	switch answers := gjson.GetBytes(v.Input, "answers"); {
	case v.Allow && answers.IsObject():
		return object{"action": "accept", "content": json.RawMessage(answers.Raw)}
	case v.Allow:
		return object{"action": "accept"}
	case v.Refused:
		return object{"action": "decline"}
	}
	return object{"action": "cancel"}
}
