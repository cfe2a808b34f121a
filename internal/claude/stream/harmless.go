package stream

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/shell"
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

// harmlessCommand reports whether a shell command only reads. It knows few commands; all else may do anything.
func harmlessCommand(command string) bool {
	list, ok := shell.List(command)
	return ok && !slices.ContainsFunc(list, func(c shell.Command) bool { return !onlyReads(c) })
}

func onlyReads(c shell.Command) bool {
	name, words, quoted := c.Words[0].Text, c.Words[1:], c.Words[0].Quoted
	if name == "git" && len(words) > 0 {
		name, words, quoted = "git "+words[0].Text, words[1:], quoted || words[0].Quoted
	}
	writing, known := harmlessCommands[name]
	return known && !quoted && !c.Sets && !slices.ContainsFunc(words, func(w shell.Word) bool {
		// A file may be called like an option.
		named := w.Pattern && strings.ContainsAny(w.Text[:1], "-*?[")
		return named && len(writing) > 0 || slices.ContainsFunc(writing, func(option string) bool {
			return strings.HasPrefix(w.Text, option)
		})
	})
}
