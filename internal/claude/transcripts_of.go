package claude

import (
	"path/filepath"

	"magpie/internal/claude/transcript"
)

// Transcripts returns those of owner's agents.
func (c Config) Transcripts(owner string) transcript.Files {
	a, err := c.agentOf(owner)
	return transcript.New(filepath.Join(a.env.configDir(), "projects"), a.account.runAs, err)
}
