package workspace

import "maps"

// Without one of these variables, "@path" in a chat message makes the CLI read that file into the prompt, whatever the
// permissions. The second variable disables only that, but versions before about 2.1.330 do not know it. The first one
// also disables other information for the model: since 2.1.330 the working folder, the tools that it can search for,
// and that it is in plan mode.
const (
	noAttachments = "CLAUDE_CODE_DISABLE_ATTACHMENTS"
	noMentions    = "CLAUDE_CODE_DISABLE_FILE_MENTIONS"
)

// withoutMentions returns e for a CLI that answers people: with [noMentions] instead of [noAttachments] if this CLI
// certainly supports it.
func (e Environment) withoutMentions(command string) Environment {
	if knows, _ := knownPrograms.knows(command, noMentions); !knows {
		return e
	}
	e = maps.Clone(e)
	delete(e, noAttachments)
	e[noMentions] = "1"
	return e
}
