package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// harmlessTools only read, or keep what is the agent's own, whatever their input is.
var harmlessTools = []string{
	"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "web_search", "web_fetch", "ToolSearch",
	"TodoRead", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "TaskOutput", "BashOutput",
	"ListMcpResourcesTool", "ReadMcpResourceTool",
}

// Harmless reports whether it does no harm to use a tool again without knowing what came of it: it changes nothing. A
// tool whose input is not known yet counts as harmless only if no input makes it change anything.
func Harmless(tool string, input json.RawMessage) bool {
	if tool == "Bash" {
		return harmlessCommand(gjson.GetBytes(input, "command").String()) && !gjson.GetBytes(input, "run_in_background").Bool()
	}
	return slices.Contains(harmlessTools, tool)
}

// harmlessCommands only read, with all their options but those that begin like one of these.
var harmlessCommands = map[string][]string{
	"cat": nil, "ls": nil, "head": nil, "tail": {"-f", "-F", "--f"}, "wc": nil, "pwd": nil, "echo": nil, "printf": nil,
	"true": nil, "false": nil, "test": nil, "stat": nil, "file": {"-C", "--c"}, "du": nil, "df": nil, "which": nil,
	"type": nil, "whoami": nil, "id": nil, "uname": nil, "basename": nil, "dirname": nil, "realpath": nil,
	"readlink": nil, "diff": nil, "cmp": nil, "md5sum": nil, "sha1sum": nil, "sha256sum": nil, "cut": nil, "tr": nil,
	"nl": nil, "tac": nil, "grep": nil, "egrep": nil, "fgrep": nil, "rg": {"--pre", "--hostname-bin"}, "ps": nil,
	"uptime": nil, "free": nil, "jq": nil, "cd": nil,
	"find":       {"-exec", "-ok", "-delete", "-fprint", "-fls"},
	"git status": nil, "git log": {"--ou", "--ext", "--textc"}, "git diff": {"--ou", "--ext", "--textc"},
	"git show": {"--ou", "--ext", "--textc"}, "git blame": nil, "git ls-files": nil, "git rev-parse": nil,
}

// harmlessCommand reports whether a shell command only reads. It knows few commands, and of the shell's syntax only
// what joins them; all else may do anything.
func harmlessCommand(command string) bool {
	for _, nothing := range []string{"2>&1", "2>/dev/null", "2> /dev/null"} { // a space remains, so no words are joined
		command = strings.ReplaceAll(command, nothing, " ")
	}
	command = strings.NewReplacer("&&", "|", "||", "|", ";", "|").Replace(command)
	if strings.ContainsAny(command, "\n\r&<>`$(){}\\") {
		return false
	}
	for part := range strings.SplitSeq(command, "|") {
		words := strings.Fields(part)
		if len(words) > 1 && words[0] == "git" {
			words = append([]string{"git " + words[1]}, words[2:]...)
		}
		if len(words) == 0 {
			return false
		}
		writing, known := harmlessCommands[words[0]]
		if !known || slices.ContainsFunc(words[1:], func(word string) bool {
			word = strings.NewReplacer(`"`, "", `'`, "").Replace(word)
			return slices.ContainsFunc(writing, func(option string) bool { return strings.HasPrefix(word, option) })
		}) {
			return false
		}
	}
	return true
}
