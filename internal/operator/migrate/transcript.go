package migrate

import (
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// transcript reads the conversation of a session of the CLI of this machine's user; asked converts a prompt to a
// question. Unreadable data is noted.
func (r reader) transcript(session string, asked func(claude.TranscriptMessage) message) (list []message) {
	all, err := claude.Config{Environ: r.opt.Environ}.Transcripts("").Talk(session)
	if err != nil {
		r.noteSkipped(i18n.MigrateNoTranscript, session, r.explain(err))
		return nil
	}
	for _, m := range all {
		one := message{text: m.Text}
		if !m.Agent {
			one = asked(m)
		}
		one.id, one.at, one.role = m.ID, m.Time, chat.User
		if m.Agent {
			one.role = chat.Assistant
		}
		list = append(list, one)
	}
	return list
}
