package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// mostExport is the maximum size of an exported file in bytes, somewhat below the platform's limit.
const mostExport = 25 << 20

// errExportSize means that a History does not fit into a file.
var errExportSize = errors.New("the history is too large for a file")

// exportCommand exports the History of a chat as files.
type exportCommand struct {
	cfg    *Config
	db     *db.DB
	access *access.Authorizer
	outbox *delivery.Outbox
	zone   *time.Location
	log    zerolog.Logger
	begun  *sync.Map // chats with an export in progress, by chat.Key
}

// exportChat is the command /export. In a group only admins may use it: it shows new members what was said before they
// came.
func (cs exportCommand) exportChat(ctx context.Context, o invocation) (commandResult, error) {
	switch {
	case !cs.access.Load().InCharge(o.m):
		return o.say(i18n.ForAdminsInGroups)
	case !o.late:
		return commandResult{reply: i18n.ExportBegun.In(o.lang), later: true}, nil
	}
	if _, begun := cs.begun.LoadOrStore(o.m.Key, true); begun {
		return commandResult{}, nil // the files of the running export answer both
	}
	defer cs.begun.Delete(o.m.Key)
	err := cs.sendHistory(ctx, o)
	switch {
	case err == nil || ctx.Err() != nil:
		return commandResult{}, nil
	case errors.Is(err, errExportSize):
		return o.say(i18n.ExportTooLarge)
	case errors.Is(err, errNothingSaid):
		return o.say(i18n.ExportNothing)
	}
	cs.log.Error().Err(err).Stringer("chat", o.m.Key).Msg("history not exported")
	return o.say(i18n.ExportFailed)
}

// errNothingSaid means that a chat has no History.
var errNothingSaid = errors.New("nothing was said yet")

// sendHistory puts the chat's History into the outbox.
func (cs exportCommand) sendHistory(ctx context.Context, o invocation) error {
	files, err := cs.exportFiles(ctx, o)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errNothingSaid
	}
	to := chat.Ref{Key: o.m.Key, ID: cmp.Or(o.answers, o.m.ID)}
	for i, f := range files {
		idem := fmt.Sprintf("export:%s:%d", o.m.ID, i)
		err := cs.db.Outbox().FileDeliveries().Write(ctx, to, db.FileDelivery{Name: f.name}, idem, f.text.String())
		if err != nil {
			return err
		}
	}
	cs.outbox.Wake(o.m.Key)
	return nil
}

// exportFile is one format of a chat's History.
type exportFile struct {
	name string
	text bytes.Buffer
}

// exportFiles returns a chat's History as files: the conversation for people, and all records for programs. Without
// messages there are none.
func (cs exportCommand) exportFiles(ctx context.Context, o invocation) ([]*exportFile, error) {
	name := i18n.ExportName.In(o.lang) + "-" + o.m.Time.In(cs.zone).Format("2006-01-02")
	read, lines := &exportFile{name: name + ".md"}, &exportFile{name: name + ".jsonl"}
	files := []*exportFile{read}
	if cs.cfg.WriteRecord != nil {
		files = append(files, lines)
	}
	page := &transcript{invocation: o, b: &read.text, zone: cs.zone}
	for r, err := range cs.db.Records().Range(ctx, o.m.Key) {
		if err != nil {
			return nil, err
		}
		page.write(r)
		// Tool calls are left to "magpie history export": they would multiply the size of the file.
		if cs.cfg.WriteRecord != nil && (r.Role == chat.User || r.Role == chat.Assistant) {
			if err := cs.cfg.WriteRecord(&lines.text, r); err != nil {
				return nil, err
			}
		}
		// Checked while writing, so that a huge History does not fill the memory first.
		if max(read.text.Len(), lines.text.Len()) > mostExport {
			return nil, errExportSize
		}
	}
	if page.said == 0 {
		return nil, nil
	}
	return files, nil
}

// transcript writes a conversation for people: Markdown, with a heading per day.
type transcript struct {
	invocation
	b     *bytes.Buffer
	zone  *time.Location
	said  int
	day   string
	epoch int64
}

// write writes one message. Commands, notices and other bookkeeping are not part of the conversation.
func (t *transcript) write(r db.Record) {
	if r.Class != chat.Talk || r.Role != chat.User && r.Role != chat.Assistant {
		return
	}
	if t.said == 0 {
		fmt.Fprintf(t.b, "# %s\n", cmp.Or(t.chat.Topic, t.chat.Title, i18n.ExportName.In(t.lang)))
	} else if r.Epoch != t.epoch {
		fmt.Fprintf(t.b, "\n---\n\n%s\n", i18n.HistoryRestarted.In(t.lang))
	}
	t.said, t.epoch = t.said+1, r.Epoch
	at := r.Time.In(t.zone)
	if day := at.Format(time.DateOnly); day != t.day {
		t.day = day
		fmt.Fprintf(t.b, "\n## %s\n", day)
	}
	who := i18n.SpeakerBot.In(t.lang)
	if r.Role == chat.User {
		who = cmp.Or(i18n.Visible(r.Actor.Name), i18n.SpeakerUser.In(t.lang))
	}
	fmt.Fprintf(t.b, "\n**%s** %s\n\n%s\n", who, at.Format("15:04"), strings.TrimSpace(r.Text))
}
