package workspace

import (
	"path/filepath"

	"magpie/internal/claude/transcript"
)

// Transcripts returns those of owner's agents.
func (c Config) Transcripts(owner string) transcript.Files {
	a, err := c.AgentOf(owner)
	return transcript.New(filepath.Join(a.Env.configDir(), "projects"), a.User.RunAs, err)
}
