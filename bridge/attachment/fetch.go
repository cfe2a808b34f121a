// Package attachment handles what belongs to messages but does not come with them: files, quotes, forwarded
// messages, recordings. It fetches them, keeps them in a folder per chat, shows pictures to the model and deletes
// expired files. When a turn waits for them does not belong here, nor what people read about missing ones.
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

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/safepath"
)

// Source gives what belongs to a message and does not come with it. An error that matches [chat.ErrTooBig] says why.
type Source interface {
	// Download writes a file of a message to w, at most this many bytes.
	Download(ctx context.Context, f chat.File, most int64, w io.Writer) error
	// Quoted reads a message that another one of the chat answers. Without an author it is the bot's own.
	Quoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error)
	// Forwarded reads the messages that one passes on.
	Forwarded(ctx context.Context, key chat.Key, id string) (string, error)
	// Transcribe says what is spoken in a recording; empty = it cannot.
	Transcribe(ctx context.Context, recording *os.File, length time.Duration) (string, error)
}

// Config is where the files of messages come from and where they are kept.
type Config struct {
	Source Source // nil = none can be had
	Folder string // below it each chat has a folder of its own; empty = none are kept
	Most   int64  // bytes of one file
	Group  int    // of the agents' user, who may read the files; 0 = agents run as the program does
}

// Bounds of what a turn fetches for its questions.
const (
	fetchTime   = 90 * time.Second // that it waits
	fetchAtOnce = 4                // files
	fetchMost   = 30               // files
	fetchTries  = 2
	quoteLength = 4000 // runes of a quote
	filesOfChat = 50   // of the biggest size have room in a chat and its topics
)

// Store fetches what belongs to the questions of turns.
type Store struct {
	Config
	db       *db.DB
	kept     func(string) string // what of a text may be in the History
	forAgent func(string) string // what of a text the agent may read

	space
}

// New makes a store of files. kept is what of a text may be in the History, forAgent what of it the agent may read.
func New(cfg Config, store *db.DB, kept, forAgent func(string) string) *Store {
	return &Store{Config: cfg, db: store, kept: kept, forAgent: forAgent}
}

// name is the name of the folder in which the files of a chat lie: that of the folder of its agents, unless it had
// files before its agents had one.
func (fs *Store) name(ctx context.Context, key chat.Key) (string, error) {
	earlier := key.Stable("")
	if _, err := os.Stat(filepath.Join(fs.Folder, earlier)); err == nil {
		return earlier, nil
	}
	return fs.db.Folders().FolderOf(ctx, key)
}

// prepare makes the folder of a chat.
func (fs *Store) prepare(ctx context.Context, key chat.Key) (string, error) {
	if fs.Folder == "" {
		return "", nil
	}
	name, err := fs.name(ctx, key)
	if err != nil {
		return "", err
	}
	return fs.make(name)
}

// make makes the folder of that name. Only this program can list it; the agents' user can enter the folders whose names
// it knows.
func (fs *Store) make(name string) (string, error) {
	dir := filepath.Join(fs.Folder, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("folder for the files of a chat: %w", err)
	}
	if err := errors.Join(fs.makeReadable(fs.Folder, 0o710), fs.makeReadable(dir, 0o750)); err != nil {
		return "", fmt.Errorf("folder for the files of a chat: %w", err)
	}
	return dir, nil
}

// Dir is the folder for the files of a chat; without one a turn is answered anyway.
func (fs *Store) Dir(ctx context.Context, key chat.Key) string {
	dir, err := fs.prepare(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("files not available to the agent")
	}
	return dir
}

// Named is the folder for the files of the chat whose agents keep their state in the folder with that id; empty = it
// cannot be made.
func (fs *Store) Named(folder string) string {
	if fs.Folder == "" {
		return ""
	}
	dir, err := fs.make(folder)
	if err != nil {
		return ""
	}
	return dir
}

// FilesOf returns the files of a question. In a topic that is a chat of its own every message replies to the
// first one, so the agent gets that quote only once.
func (fs *Store) FilesOf(ctx context.Context, m chat.Incoming) ([]chat.File, error) {
	if m.Key.Thread == "" {
		return m.Files, nil
	}
	_, err := fs.db.Chats().Get(ctx, m.Key)
	switch {
	// the first message of the topic that gets here, for which the quote is new
	case errors.Is(err, db.ErrNotFound):
		return m.Files, nil
	case err != nil:
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.Files), func(f chat.File) bool { return f.Kind == chat.Quote }), nil
}

// makeReadable gives the agents' user what others of its group may do with a file or folder.
func (c Config) makeReadable(path string, mode os.FileMode) error {
	if c.Group == 0 {
		return nil
	}
	return errors.Join(os.Chown(path, -1, c.Group), os.Chmod(path, mode))
}

// Wanting reports whether something is to be fetched for a turn.
func Wanting(asked []chat.Message) bool {
	for _, m := range asked {
		for _, f := range m.Files {
			if f.State == chat.Wanted {
				return true
			}
		}
	}
	return false
}

// Fetch gets what belongs to the questions of a turn, and notes it in them and in the store. What cannot be had is
// noted as well; only when ctx ends it stays wanted. It returns what failed now.
func (fs *Store) Fetch(ctx context.Context, c *db.Claim) (failed []chat.File) {
	key := c.Turn.Key
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for i := range c.Asked {
		fs.quotes(limited, key, &c.Asked[i])
	}
	var all errgroup.Group
	all.SetLimit(fetchAtOnce)
	var mu sync.Mutex
	left := fetchMost
	for i := range c.Asked {
		m := &c.Asked[i]
		for j := range m.Files {
			f := &m.Files[j]
			if f.State != chat.Wanted || f.Kind == chat.Quote {
				continue
			}
			if left--; left < 0 {
				f.State = chat.Missed
				failed = append(failed, *f)
				continue
			}
			all.Go(func() error {
				got, size := fs.one(limited, key, m.Seq, *f)
				defer fs.free(key, size) // once it counts as held
				if ctx.Err() != nil {
					return nil // it is fetched when the turn begins again
				}
				mu.Lock()
				defer mu.Unlock()
				*f = got
				fs.resolve(ctx, key, m, f, size)
				if f.State != chat.Here {
					failed = append(failed, *f)
				}
				return nil
			})
		}
	}
	_ = all.Wait() // none of them fails
	return failed
}

// settle stores what became of a file. What it says takes the place of its mark.
func (fs *Store) resolve(ctx context.Context, key chat.Key, m *chat.Message, f *chat.File, size int64) {
	text := ""
	if f.State == chat.Here && f.Said != "" && f.Of == db.Answerable(m.ID) {
		switch f.Kind {
		case chat.Forwarded:
			m.Text = strings.Replace(m.Text, chat.Mark(f.Kind.Word(), ""), chat.Mark(f.Kind.Word(), "")+"\n"+f.Said, 1)
		case chat.Sound:
			m.Text += " " + strings.Join(strings.Fields(f.Said), " ")
		}
		text = fs.kept(m.Text)
	}
	stored := *f
	stored.Said = fs.kept(f.Said)
	stored.Path = strings.TrimPrefix(strings.TrimPrefix(f.Path, fs.Folder), string(filepath.Separator))
	err := fs.db.Files().Settle(context.WithoutCancel(ctx), key, m.ID, stored, size, text)
	switch {
	case errors.Is(err, db.ErrNotFound): // the message was taken back
		fs.Remove(stored.Path)
	case err != nil:
		zerolog.Ctx(ctx).Error().Err(err).Msg("outcome of a file not stored")
	}
}

// quotes reads the messages that m answers. Their files are fetched like its own.
func (fs *Store) quotes(ctx context.Context, key chat.Key, m *chat.Message) {
	for i := range len(m.Files) {
		f := &m.Files[i]
		if f.Kind != chat.Quote || f.State != chat.Wanted {
			continue
		}
		text, who, more, err := fs.quoted(ctx, key, f.Of)
		if ctx.Err() != nil {
			return
		}
		f.State, f.Said, f.Name = chat.Here, i18n.Truncate(text, quoteLength), who
		if err != nil {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("quoted message not available")
			f.State = chat.Missed
		}
		fs.resolve(ctx, key, m, f, 0)
		added, err := fs.db.Files().Insert(context.WithoutCancel(ctx), key, m.ID, more)
		if err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Msg("files of a quoted message not stored")
		}
		for i := range added {
			if old := more[i]; old.State == chat.Here { // it came with the message itself
				added[i].State, added[i].Path, added[i].Said = old.State, old.Path, old.Said
				fs.resolve(ctx, key, m, &added[i], 0)
			}
		}
		m.Files = append(m.Files, added...)
	}
}

// quoted is what a message says, who wrote it (empty = the agent), and its files.
func (fs *Store) quoted(ctx context.Context, key chat.Key, id string) (text, who string, more []chat.File, err error) {
	known, err := fs.db.Files().Quoted(ctx, key, id)
	if err == nil && len(known.Files) == 0 && chat.Unmarked(known.Text) != strings.TrimSpace(known.Text) &&
		fs.Source != nil {
		if in, err := fs.Source.Quoted(ctx, key, id); err == nil { // it was stored when its files were not noted
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
		in, err := fs.Source.Quoted(ctx, key, id)
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
			if tree, err := fs.Source.Forwarded(ctx, key, id); err == nil {
				text += "\n" + tree
			}
		case f.Kind != chat.Forwarded:
			own = append(own, f)
		}
	}
	return fs.forAgent(text), who, own, nil
}

// someone stands for a person without a name in what the agent reads, whose labels are Chinese in every chat.
const someone = "用户"

// one fetches a file of the message with this sequence number. Its path is absolute.
func (fs *Store) one(ctx context.Context, key chat.Key, seq int64, f chat.File) (chat.File, int64) {
	log := zerolog.Ctx(ctx)
	// The state until something else is known: a failure leaves the file as missed.
	f.State = chat.Missed
	if fs.Source == nil {
		return f, 0
	}
	if f.Kind == chat.Forwarded {
		text, err := fs.Source.Forwarded(ctx, key, f.Of)
		if err != nil {
			log.Warn().Err(err).Msg("forwarded messages not available")
			return f, 0
		}
		f.State, f.Said = chat.Here, fs.forAgent(text)
		return f, 0
	}
	path, size, err := fs.download(ctx, key, seq, f)
	switch {
	case errors.Is(err, chat.ErrTooBig):
		f.State = chat.TooBig
		return f, 0
	case err != nil:
		log.Warn().Err(err).Str("kind", string(f.Kind)).Msg("file not fetched")
		return f, 0
	}
	f.State, f.Path = chat.Here, path
	if f.Kind == chat.Sound {
		if f.Said, err = fs.transcribe(ctx, f); err != nil {
			log.Debug().Err(err).Msg("recording not transcribed")
		}
	}
	return f, size
}

// transcribe says what is spoken in a stored recording; empty = it cannot be told.
func (fs *Store) transcribe(ctx context.Context, f chat.File) (string, error) {
	file, err := fs.open(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // nothing was written through it
	return fs.Source.Transcribe(ctx, file, f.Length)
}

// download stores a file in the folder of its chat, in which its size stays reserved. What the agent may have put there
// meanwhile is never written through.
func (fs *Store) download(
	ctx context.Context, key chat.Key, seq int64, f chat.File,
) (path string, size int64, err error) {
	most, err := fs.reserve(ctx, key)
	if err != nil {
		return "", 0, err
	}
	defer func() { fs.free(key, most-size) }()
	dir, err := fs.prepare(ctx, key)
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
	name := fmt.Sprintf("%d-%d-%s", seq, f.Number, cmp.Or(safepath.FileName(f.Name), string(f.Kind)+ending(f.Kind, head)))
	if err := root.Rename(part, name); err != nil {
		return "", 0, err
	}
	return filepath.Join(dir, name), size, nil
}

var (
	errNoFolder = errors.New("there is no folder for files")
	errNoRoom   = errors.New("the files of the chat take all the room that they may")
)

// write downloads into a file that must not be there yet, or was made by an earlier try.
func (fs *Store) write(
	ctx context.Context, root *os.Root, name string, f chat.File, most int64,
) (size int64, head []byte, err error) {
	_ = root.Remove(name) // of an earlier try
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

// ending is the extension for a file without a name, by its content or else by its kind.
func ending(kind chat.FileKind, head []byte) string {
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

// Remove deletes files by their paths below the folder.
func (fs *Store) Remove(paths ...string) {
	root, err := os.OpenRoot(fs.Folder)
	if err != nil {
		return // there never was one
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	for _, path := range paths {
		if path != "" {
			_ = root.Remove(path) // else the next sweep does
		}
	}
}
