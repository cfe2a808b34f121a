// Package attachment handles what belongs to messages but does not come with them: files, quotes, forwarded messages,
// recordings. It fetches them, keeps them in a folder per chat, shows pictures to the model and deletes expired files.
// It does not decide when a turn waits for them, nor what users are told about missing ones.
package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/stream"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// Source fetches attachments. An error that matches [chat.ErrTooBig] means that the file is too large.
type Source interface {
	// Download writes a file of a message to w, at most that many bytes.
	Download(ctx context.Context, f chat.File, most int64, w io.Writer) error
	// FetchQuoted returns the message that another one of the chat replies to. No author means the bot.
	FetchQuoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error)
	// FetchForwarded returns the text of the messages inside a forwarded one.
	FetchForwarded(ctx context.Context, key chat.Key, id string) (string, error)
	// Transcribe converts the recording of a message to text; empty = not possible.
	Transcribe(ctx context.Context, message string, recording *os.File, length time.Duration) (string, error)
}

// Config says where attachments come from and where they are kept.
type Config struct {
	Source Source // nil = attachments cannot be fetched
	Folder string // has a subfolder per chat; empty = no files are kept
	Most   int64  // maximum bytes per file
	Group  int    // of the agents' user, who may read the files; 0 = agents run as the program's own user
}

// Limits of what a turn fetches for its questions.
const (
	fetchTime   = 90 * time.Second // timeout
	fetchAtOnce = 4                // concurrent files
	maxFetched  = 30               // files
	fetchTries  = 2
	quoteLength = 4000 // runes of a quote
	filesOfChat = 50   // how many files of the maximum size a chat and its topics can hold
)

// Store fetches the attachments of turns.
type Store struct {
	Config
	db               *db.DB
	redactForHistory func(string) string // redacts a text for the History
	redactForAgent   func(string) string // redacts a text for the agent

	downloadSpace
}

// New makes a Store. redactForHistory redacts texts for the History, redactForAgent for the agent.
func New(cfg Config, store *db.DB, redactForHistory, redactForAgent func(string) string) *Store {
	return &Store{Config: cfg, db: store, redactForHistory: redactForHistory, redactForAgent: redactForAgent}
}

// folderName is the name of a chat's folder: the same as that of its agents' folder, unless the chat had files before
// agents.
func (fs *Store) folderName(ctx context.Context, key chat.Key) (string, error) {
	earlier := key.StableID("")
	if _, err := os.Stat(filepath.Join(fs.Folder, earlier)); err == nil {
		return earlier, nil
	}
	return fs.db.Chats().MakeFolder(ctx, key, "")
}

// prepareDir creates the folder of a chat.
func (fs *Store) prepareDir(ctx context.Context, key chat.Key) (string, error) {
	if fs.Folder == "" {
		return "", nil
	}
	name, err := fs.folderName(ctx, key)
	if err != nil {
		return "", err
	}
	return fs.makeDir(name)
}

// makeDir creates the folder of that name. Only this program can list the parent; the agents' user can enter folders
// whose names it knows.
func (fs *Store) makeDir(name string) (string, error) {
	dir := filepath.Join(fs.Folder, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("folder for the files of a chat: %w", err)
	}
	if err := errors.Join(fs.makeReadable(fs.Folder, 0o710), fs.makeReadable(dir, 0o750)); err != nil {
		return "", fmt.Errorf("folder for the files of a chat: %w", err)
	}
	return dir, nil
}

// Dir is the folder for the files of a chat. If there is none, turns are answered without files.
func (fs *Store) Dir(ctx context.Context, key chat.Key) string {
	dir, err := fs.prepareDir(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("files not available to the agent")
	}
	return dir
}

// DirFor is the files folder that belongs to the agent folder with that ID; empty = it cannot be created.
func (fs *Store) DirFor(folder string) string {
	if fs.Folder == "" {
		return ""
	}
	dir, err := fs.makeDir(folder)
	if err != nil {
		return ""
	}
	return dir
}

// FilesOf returns the files of a question. In a topic that is a chat of its own every message replies to the first one,
// so the agent gets that quote only once.
func (fs *Store) FilesOf(ctx context.Context, m chat.Incoming) ([]chat.File, error) {
	if m.Key.Thread == "" {
		return m.Files, nil
	}
	_, err := fs.db.Chats().Get(ctx, m.Key)
	switch {
	// the first message seen of the topic, which needs the quote
	case errors.Is(err, db.ErrNotFound):
		return m.Files, nil
	case err != nil:
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.Files), func(f chat.File) bool { return f.Kind == chat.Quote }), nil
}

// makeReadable gives the agents' group access to a file or folder.
func (c Config) makeReadable(path string, mode os.FileMode) error {
	if c.Group == 0 {
		return nil
	}
	return errors.Join(os.Chown(path, -1, c.Group), os.Chmod(path, mode))
}

// WantMissing reports whether a turn has attachments to fetch. These include files that were fetched before and are not on
// this machine: another one has fetched them, or somebody has deleted them.
func (fs *Store) WantMissing(asked []chat.Message) (some bool) {
	for _, m := range asked {
		for i := range m.Files {
			if f := &m.Files[i]; f.State == chat.Here && fs.isMissing(*f) {
				f.State = chat.Wanted
			}
			some = some || m.Files[i].State == chat.Wanted
		}
	}
	return some
}

// Failure is a file that was not fetched.
type Failure struct {
	chat.File
	Err error // nil if it was not tried
}

// Fetch fetches the attachments of a turn's questions, and records the results in c and in the store. Failures are
// recorded as well, unless ctx has ended. It returns the new failures.
func (fs *Store) Fetch(ctx context.Context, c *db.Claim) (failed []Failure) {
	key := c.Turn.Key
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for i := range c.Asked {
		fs.resolveQuotes(limited, key, &c.Asked[i])
	}
	var all errgroup.Group
	all.SetLimit(fetchAtOnce)
	var mu sync.Mutex
	left := maxFetched
	for i := range c.Asked {
		m := &c.Asked[i]
		for j := range m.Files {
			f := &m.Files[j]
			if f.State != chat.Wanted || f.Kind == chat.Quote {
				continue
			}
			if left--; left < 0 {
				f.State = chat.Missed
				failed = append(failed, Failure{File: *f})
				continue
			}
			again := f.Path != ""
			all.Go(func() error {
				got, size, err := fs.fetchFile(limited, key, m.Seq, *f)
				defer fs.release(key, size) // after its size is stored
				if ctx.Err() != nil {
					return nil // fetched when the turn runs again
				}
				mu.Lock()
				defer mu.Unlock()
				*f = got
				switch {
				case !again:
					fs.storeResult(ctx, key, m, f, size)
				case f.State == chat.Here:
					fs.finish(ctx, key, m.ID, *f, size, "") // the message has its text
				} // otherwise the machine that has fetched it may still have it
				if f.State != chat.Here {
					failed = append(failed, Failure{*f, err})
				}
				return nil
			})
		}
	}
	_ = all.Wait() // none of them fails
	return failed
}

// storeResult stores the result for a file. Any text of the file replaces its mark.
func (fs *Store) storeResult(ctx context.Context, key chat.Key, m *chat.Message, f *chat.File, size int64) {
	text := ""
	if f.State == chat.Here && f.Said != "" && f.Of == db.PlatformID(m.ID) {
		switch f.Kind {
		case chat.Forwarded:
			mark := chat.AttachmentMark(f.Kind.Label(), "")
			m.Text = strings.Replace(m.Text, mark, mark+"\n"+f.Said, 1)
		case chat.Sound:
			m.Text += " " + strings.Join(strings.Fields(f.Said), " ")
		}
		text = fs.redactForHistory(m.Text)
	}
	fs.finish(ctx, key, m.ID, *f, size, text)
}

// finish stores the result for a file, and the text of its message unless that stays as it is.
func (fs *Store) finish(ctx context.Context, key chat.Key, message string, f chat.File, size int64, text string) {
	f.Said = fs.redactForHistory(f.Said)
	f.Path = strings.TrimPrefix(strings.TrimPrefix(f.Path, fs.Folder), string(filepath.Separator))
	err := fs.db.Messages().FinishFile(context.WithoutCancel(ctx), key, message, f, size, text)
	switch {
	case errors.Is(err, db.ErrNotFound): // the message was recalled
		fs.Remove(f.Path)
	case err != nil:
		zerolog.Ctx(ctx).Error().Err(err).Msg("outcome of a file not stored")
	}
}

// resolveQuotes reads the messages that m replies to. Their files are fetched like its own.
func (fs *Store) resolveQuotes(ctx context.Context, key chat.Key, m *chat.Message) {
	for i := range len(m.Files) {
		f := &m.Files[i]
		if f.Kind != chat.Quote || f.State != chat.Wanted {
			continue
		}
		text, who, more, err := fs.fetchQuoted(ctx, key, f.Of)
		if ctx.Err() != nil {
			return
		}
		f.State, f.Said, f.Name = chat.Here, i18n.Truncate(text, quoteLength), who
		if err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("quoted message not available")
			f.State = chat.Missed
		}
		fs.storeResult(ctx, key, m, f, 0)
		added, err := fs.db.Messages().InsertFiles(context.WithoutCancel(ctx), key, m.ID, more)
		if err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Msg("files of a quoted message not stored")
		}
		for i := range added {
			if old := more[i]; old.State == chat.Here && !fs.isMissing(old) { // it came with the message itself
				added[i].State, added[i].Path, added[i].Said = old.State, old.Path, old.Said
				fs.storeResult(ctx, key, m, &added[i], 0)
			}
		}
		m.Files = append(m.Files, added...)
	}
}

// fetchQuoted returns the text of a message, its author (empty = the agent), and its files.
func (fs *Store) fetchQuoted(
	ctx context.Context, key chat.Key, id string,
) (text, who string, more []chat.File, err error) {
	known, err := fs.db.Messages().Quoted(ctx, key, id)
	if err == nil && len(known.Files) == 0 && chat.WithoutMarks(known.Text) != strings.TrimSpace(known.Text) &&
		fs.Source != nil {
		if in, err := fs.Source.FetchQuoted(ctx, key, id); err == nil { // it was stored before files were recorded
			known.Files = in.Files
		}
	}
	switch {
	case err == nil:
		text, more = known.Text, known.Files
		if known.Role == chat.User {
			who = cmp.Or(known.Actor.Name, someone)
		}
	case !errors.Is(err, db.ErrNotFound):
		return "", "", nil, err
	case fs.Source == nil:
		return "", "", nil, chat.ErrGone
	default:
		in, err := fs.Source.FetchQuoted(ctx, key, id)
		if err != nil {
			return "", "", nil, err
		}
		text, more = in.Text, in.Files
		if in.Actor.ID != "" {
			who = cmp.Or(in.Actor.Name, someone)
		}
	}
	var own []chat.File
	for _, f := range more {
		switch {
		case f.Kind == chat.Quote:
		case f.Kind == chat.Forwarded && f.State != chat.Here && fs.Source != nil:
			if tree, err := fs.Source.FetchForwarded(ctx, key, id); err == nil {
				text += "\n" + tree
			}
		case f.Kind != chat.Forwarded:
			own = append(own, f)
		}
	}
	return fs.redactForAgent(text), who, own, nil
}

// someone replaces a missing name in text for the agent, whose labels are Chinese in every chat.
const someone = "用户"

// fetchFile fetches a file of the message with this sequence number. The returned path is absolute. After an error the
// file is not there.
func (fs *Store) fetchFile(ctx context.Context, key chat.Key, seq int64, f chat.File) (chat.File, int64, error) {
	log := zerolog.Ctx(ctx)
	// The default state: on a failure the file counts as missed.
	f.State = chat.Missed
	if fs.Source == nil {
		return f, 0, nil
	}
	if f.Kind == chat.Forwarded {
		text, err := fs.Source.FetchForwarded(ctx, key, f.Of)
		if err != nil {
			log.Warn().Err(err).Msg("forwarded messages not available")
			return f, 0, err
		}
		f.State, f.Said = chat.Here, fs.redactForAgent(text)
		return f, 0, nil
	}
	path, size, err := fs.download(ctx, key, seq, f)
	switch {
	case errors.Is(err, chat.ErrTooBig):
		f.State = chat.TooBig
		return f, 0, err
	case errors.Is(ctx.Err(), context.Canceled): // its turn was stopped
		return f, 0, err
	case err != nil:
		log.Warn().Err(err).Str("kind", string(f.Kind)).Msg("file not fetched")
		return f, 0, err
	}
	f.State, f.Path = chat.Here, path
	if f.Kind == chat.Sound && f.Said == "" {
		if f.Said, err = fs.transcribe(ctx, f); err != nil {
			log.Debug().Err(err).Msg("recording not transcribed")
		}
	}
	return f, size, nil
}

// transcribe converts a stored recording to text; empty = not possible.
func (fs *Store) transcribe(ctx context.Context, f chat.File) (string, error) {
	file, err := fs.open(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // nothing was written through it
	return fs.Source.Transcribe(ctx, f.Of, file, f.Length)
}

// download stores a file in the folder of its chat, where its size is reserved. It never writes through a link that an
// agent may have created there.
func (fs *Store) download(
	ctx context.Context, key chat.Key, seq int64, f chat.File,
) (path string, size int64, err error) {
	most, err := fs.reserve(ctx, key)
	if err != nil {
		return "", 0, err
	}
	defer func() { fs.release(key, most-size) }()
	dir, err := fs.prepareDir(ctx, key)
	if err != nil || dir == "" {
		return "", 0, errors.Join(err, errNoFolder)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", 0, err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	part := "." + uuid.NewString() + ".part"
	defer root.Remove(part) //nolint:errcheck // it has been renamed, or is swept up some day
	var head []byte
	for try := 1; ; try++ {
		size, head, err = fs.write(ctx, root, part, f, most)
		if err == nil || errors.Is(err, chat.ErrTooBig) || ctx.Err() != nil || try == fetchTries {
			break
		}
	}
	if errors.Is(err, chat.ErrTooBig) && most < fs.Most {
		return "", 0, errNoRoom
	} else if err != nil {
		return "", 0, err
	}
	usual := string(f.Kind) + extensionOf(f.Kind, head)
	// The agent lists its files, too, and the path that it is told must be theirs: nothing may be left to break in it.
	own := strings.ReplaceAll(stream.BreakMarkup(safepath.FileName(f.Name)), `\`, ".")
	name := fmt.Sprintf("%d-%d-%s", seq, f.Number, cmp.Or(own, usual))
	if err := root.Rename(part, name); err != nil {
		return "", 0, err
	}
	return filepath.Join(dir, name), size, nil
}

var (
	errNoFolder = errors.New("there is no folder for files")
	errNoRoom   = errors.New("the files of the chat take all the room that they may")
)

// write downloads into a new file, replacing that of an earlier attempt.
func (fs *Store) write(
	ctx context.Context, root *os.Root, name string, f chat.File, most int64,
) (size int64, head []byte, err error) {
	_ = root.Remove(name) // left by an earlier attempt
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if fs.Group != 0 {
		if err := errors.Join(file.Chown(-1, fs.Group), file.Chmod(0o640)); err != nil {
			return 0, nil, err
		}
	}
	if err := fs.Source.Download(ctx, f, most, file); err != nil {
		return 0, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, nil, err
	}
	head = make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return info.Size(), head[:n], err
}

// extensionOf is the extension for a file without a name, from its content or its kind.
func extensionOf(kind chat.FileKind, head []byte) string {
	switch http.DetectContentType(head) {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	}
	switch kind {
	case chat.Sound:
		return ".opus"
	case chat.Film:
		return ".mp4"
	}
	return ""
}

// Remove deletes files by their paths in the folder.
func (fs *Store) Remove(paths ...string) {
	root, err := os.OpenRoot(fs.Folder)
	if err != nil {
		return // there never was one
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	for _, path := range paths {
		if path != "" {
			_ = root.Remove(path) // otherwise the next sweep does
		}
	}
}
