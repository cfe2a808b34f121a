package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/attachment"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// wordsWait is how long a picture or a file without words waits for them: people send the one and then write the other.
const wordsWait = 3 * time.Second

// wordless reports whether a message is nothing but pictures and files.
func wordless(m chat.Incoming) bool {
	speaks := func(f chat.File) bool { return f.Kind == chat.Sound || f.Kind == chat.Quote }
	return len(m.Files) > 0 && chat.Unmarked(m.Text) == "" && !slices.ContainsFunc(m.Files, speaks)
}

// asksAgain are the files of a question that is asked again: those that came with it. What was read is in its text.
func asksAgain(m chat.Message) []chat.File {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f chat.File) bool {
		return f.Kind == chat.Forwarded || f.Kind != chat.Quote && f.Of != db.Answerable(m.ID)
	})
}

// fetch gets what belongs to the turn's questions, and tells the user what cannot be had.
func (t *turn) fetch(ctx context.Context) {
	fs := t.b.files
	fresh := attachment.Wanting(t.claim.Asked)
	var failed, large []chat.File
	if fresh {
		t.show(t.view.Receiving(time.Now()))
		failed = fs.Fetch(ctx, &t.claim)
	}
	t.shown, large = fs.Images(t.claim.Asked)
	if fresh && len(failed)+len(large) > 0 { // else it was told when they were fetched
		t.reportMissing(ctx, failed, large)
	}
}

// reportMissing tells the user which files could not be had, and which pictures are too large to be shown.
func (t *turn) reportMissing(ctx context.Context, failed, large []chat.File) {
	l := t.view.Lang
	var missed, big, pixels []string
	for _, f := range large {
		pixels = append(pixels, chat.Mark(f.Kind.Word(), f.Name))
	}
	for _, f := range failed {
		if name := chat.Mark(f.Kind.Word(), f.Name); f.State == chat.TooBig {
			big = append(big, name)
		} else {
			missed = append(missed, name)
		}
	}
	var lines []string
	if len(big) > 0 {
		lines = append(lines, fmt.Sprintf(i18n.FileTooBig.In(l), i18n.Megabytes(t.b.files.Most), strings.Join(big, i18n.Listing.In(l))))
	}
	if len(missed) > 0 {
		lines = append(lines, fmt.Sprintf(i18n.FileMissed.In(l), strings.Join(missed, i18n.Listing.In(l))))
	}
	if len(pixels) > 0 {
		lines = append(lines, fmt.Sprintf(i18n.PictureTooLarge.In(l), strings.Join(pixels, i18n.Listing.In(l))))
	}
	turn := t.claim.Turn
	post := db.Post{Key: turn.Key, Idem: fmt.Sprintf("files:%d:%d", turn.ID, turn.Attempts), ReplyTo: turn.ReplyTo, Text: strings.Join(lines, "\n")}
	if err := t.b.db.Outbox().Add(context.WithoutCancel(ctx), post); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("what could not be fetched is not told")
	}
	t.b.outbox.wake(turn.Key)
}
