package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// maxExport is the maximum size of an exported file in bytes, somewhat below the platform's limit.
const maxExport = 25 << 20

// errExportSize means that a History does not fit into a file.
var errExportSize = errors.New("the history is too large for a file")

// exportChat is the command /export. In a group only admins may use it: it shows new members what was said before they
// came.
func (cs *commandSet) exportChat(ctx context.Context, o invocation) (commandResult, error) {
	switch {
	case !cs.access.At(o.Key).InCharge(o.Incoming):
		return o.say(i18n.ForAdminsInGroups)
	case !o.late:
		return commandResult{reply: i18n.ExportBegun.In(o.lang), later: true}, nil
	}
	if _, begun := cs.exporting.LoadOrStore(o.Key, true); begun {
		return commandResult{}, nil // the files of the running export answer both
	}
	defer cs.exporting.Delete(o.Key)
	err := cs.sendHistory(ctx, o)
	switch {
	case err == nil || ctx.Err() != nil:
		return commandResult{}, nil
	case errors.Is(err, errExportSize):
		return o.say(i18n.ExportTooLarge)
	case errors.Is(err, errNothingSaid):
		return o.say(i18n.ExportNothing)
	}
	cs.log.Error().Err(err).Stringer("chat", o.Key).Msg("history not exported")
	return o.say(i18n.ExportFailed)
}

// errNothingSaid means that a chat has no History.
var errNothingSaid = errors.New("nothing was said yet")

// sendHistory puts the chat's History into the outbox.
func (cs *commandSet) sendHistory(ctx context.Context, o invocation) error {
	files, err := cs.exportFiles(ctx, o)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errNothingSaid
	}
	to := cmp.Or(o.answers, o.ID)
	for i, f := range files {
		idem := fmt.Sprintf("export:%s:%d", o.ID, i)
		file := &db.FileDelivery{Name: f.Name, Size: int64(len(f.Data))}
		err := cs.db.Outbox().Enqueue(ctx, db.Post{
			Key: o.Key, ReplyTo: to, Idem: idem, File: file, Text: string(f.Data),
		})
		if err != nil {
			return err
		}
	}
	cs.outbox.Wake(o.Key)
	return nil
}

// exportFiles returns a chat's History as files: the conversation for people, and all records for programs. Without
// messages there are none.
func (cs *commandSet) exportFiles(ctx context.Context, o invocation) ([]chat.Upload, error) {
	page, lines := transcript{invocation: o, zone: cs.zone}, bytes.Buffer{}
	for r, err := range cs.db.Messages().Export(ctx, o.Key) {
		if err != nil {
			return nil, err
		}
		page.add(r)
		// Tool calls are left to "magpie history export": they would multiply the size of the file.
		if cs.cfg.WriteRecord != nil && (r.Role == chat.User || r.Role == chat.Assistant) {
			if err := cs.cfg.WriteRecord(&lines, r); err != nil {
				return nil, err
			}
		}
		// Checked while writing, so that a huge History does not fill the memory first.
		if max(page.text.Len(), lines.Len()) > maxExport {
			return nil, errExportSize
		}
	}
	if page.said == 0 {
		return nil, nil
	}
	at := o.Time.In(cs.zone)
	name := i18n.ExportName.In(o.lang) + "-" + at.Format(time.DateOnly)
	files := []chat.Upload{{Name: name + ".md", Data: page.text.Bytes()}}
	if cs.cfg.WriteRecord != nil {
		files = append(files, chat.Upload{Name: name + ".jsonl", Data: lines.Bytes()})
	}
	return files, nil
}

// transcript writes a conversation for people: Markdown, with a heading per day.
type transcript struct {
	invocation
	text  bytes.Buffer
	zone  *time.Location
	said  int
	day   string
	epoch int64
}

// add adds a message. Commands, notices and other bookkeeping are not part of the conversation.
func (t *transcript) add(r db.Record) {
	if r.Class != chat.Talk || r.Role != chat.User && r.Role != chat.Assistant {
		return
	}
	if t.said == 0 {
		fmt.Fprintf(&t.text, "# %s\n", cmp.Or(t.chat.Topic, t.chat.Title, i18n.ExportName.In(t.lang)))
	} else if r.Epoch != t.epoch {
		fmt.Fprintf(&t.text, "\n---\n\n%s\n", i18n.HistoryRestarted.In(t.lang))
	}
	t.said, t.epoch = t.said+1, r.Epoch
	at := r.Time.In(t.zone)
	if day := at.Format(time.DateOnly); day != t.day {
		t.day = day
		fmt.Fprintf(&t.text, "\n## %s\n", day)
	}
	who := i18n.SpeakerBot.In(t.lang)
	if r.Role == chat.User {
		who = cmp.Or(i18n.Visible(r.Actor.Name), i18n.SpeakerUser.In(t.lang))
	}
	fmt.Fprintf(&t.text, "\n**%s** %s\n\n%s\n", who, at.Format("15:04"), strings.TrimSpace(r.Text))
}
