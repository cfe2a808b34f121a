package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/attachment"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// wordsWait is how long a picture or a file without text waits for one: people often send the file first and then
// write.
const wordsWait = 3 * time.Second

// wordless reports whether a message is nothing but pictures and files.
func wordless(m chat.Incoming) bool {
	sound := slices.ContainsFunc(m.Files, func(f chat.File) bool { return f.Kind == chat.Sound })
	return m.HasFiles() && chat.WithoutMarks(m.Text) == "" && m.Quoted() == "" && !sound
}

// repeatedFiles returns the files of a repeated question: its attachments, and the message it quotes. A forwarded
// message is already part of its text.
func repeatedFiles(m chat.Message) []chat.File {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f chat.File) bool {
		return f.Kind == chat.Forwarded || f.Kind != chat.Quote && f.Of != db.PlatformID(m.ID)
	})
}

// fetchFiles gets the attachments of the turn's questions, and tells the user which could not be fetched.
func (r *turnRunner) fetchFiles(ctx context.Context, t *turn) {
	fresh := r.files.WantMissing(t.Asked)
	var failed []attachment.Failure
	if fresh {
		t.setView(t.view.Doing(i18n.Receiving, time.Now()))
		failed = r.files.Fetch(ctx, &t.Claim)
	}
	t.shown = r.files.Images(t.Asked)
	if fresh && len(failed) > 0 { // otherwise it was reported when they were fetched
		r.reportMissing(ctx, t, failed)
	}
}

// reportMissing tells the user which files could not be fetched.
func (r *turnRunner) reportMissing(ctx context.Context, t *turn, failed []attachment.Failure) {
	l := t.view.Lang
	var missed, forbidden, big []string
	for _, f := range failed {
		switch name := chat.AttachmentMark(f.Kind.Label(), f.Name); {
		case f.State == chat.TooBig:
			big = append(big, name)
		case lacksPermission(f.Err):
			forbidden = append(forbidden, name)
		default:
			missed = append(missed, name)
		}
	}
	var lines []string
	if len(big) > 0 {
		names := strings.Join(big, i18n.Enumeration.In(l))
		lines = append(lines, fmt.Sprintf(i18n.FileTooBig.In(l), i18n.Megabytes(r.files.Most), names))
	}
	if len(missed) > 0 {
		lines = append(lines, fmt.Sprintf(i18n.FileMissed.In(l), strings.Join(missed, i18n.Enumeration.In(l))))
	}
	if len(forbidden) > 0 {
		lines = append(lines, fmt.Sprintf(i18n.FileForbidden.In(l), strings.Join(forbidden, i18n.Enumeration.In(l))))
	}
	turn := t.Turn
	post := db.Post{
		// The key contains the attempt, because another attempt may miss other files.
		Key: turn.Key, Idem: fmt.Sprintf("files:%d:%d", turn.ID, turn.Attempts),
		ReplyTo: turn.ReplyTo, Text: strings.Join(lines, "\n"),
	}
	// Enqueued instead of sent: a failing platform must not fail the turn.
	if err := r.outbox.Enqueue(context.WithoutCancel(ctx), post); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("notice about missing files not stored")
	}
}

// lacksPermission reports whether the platform refused a call because the app has no permission for it.
func lacksPermission(err error) bool {
	var platform interface{ Obstacle() chat.Obstacle }
	return errors.As(err, &platform) && platform.Obstacle() == chat.NoPermission
}
