package feishusim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// saved is the platform's state across a restart: the people, the messages, and their current look. Events that wait
// for an acknowledgement are not included: a client fetches what it has missed.
type saved struct {
	AppID, AppSecret, Tenant, BotID, Owner string

	Users    []User
	Chats    []savedChat
	Messages []savedMessage
	Cards    []savedCard
	Files    []savedFile
}

type savedChat struct {
	Chat
	Dissolved bool
}

// savedMessage has only the newest of the message's states.
type savedMessage struct {
	Message
	Updated   time.Time
	Edited    bool
	Edits     int
	Mentions  []savedMention
	Reactions []savedReaction
	Parts     []savedMessage
}

type savedMention struct {
	Key  string
	User User
}

type savedReaction struct {
	ID, Emoji string
	User      User
	By        Sender
	At        time.Time
}

type savedCard struct {
	ID        string
	Root      map[string]any
	Created   time.Time
	Sequence  int64
	Streaming bool
}

// savedFile is a file without its bytes, which are in a separate file named after its key.
type savedFile struct {
	Key, Name, ContentType, Kind string
	Own                          bool
}

// worldFile is the name of the saved state in the folder.
const worldFile = "world.json"

// Save writes everything visible into a folder, from which [Config.Folder] loads it at startup.
func (s *Server) Save(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	data, err := s.world.marshal(s.AppSecret(), s.console.ownerID())
	if err != nil {
		return err
	}
	if err := s.files.save(folder); err != nil {
		return err
	}
	// A whole file or none: the program may be killed meanwhile.
	next := filepath.Join(folder, worldFile+".new")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(folder, worldFile))
}

// marshal holds the lock to the end: a card may be changed in place.
func (w *world) marshal(secret, owner string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := saved{AppID: w.bot.ID, AppSecret: secret, Tenant: w.tenant, BotID: w.botID, Owner: owner,
		Users: slices.Clone(w.users), Files: w.files.saved()}
	for _, c := range w.chats {
		out.Chats = append(out.Chats, savedChat{c.Chat, c.dissolved})
	}
	for _, m := range w.messages.list {
		out.Messages = append(out.Messages, m.saved())
	}
	for _, e := range w.cards {
		if e.message != nil { // others are not visible
			out.Cards = append(out.Cards, savedCard{e.id, e.root, e.created, e.seq, e.streaming})
		}
	}
	return json.Marshal(out)
}

func (m *message) saved() savedMessage {
	out := savedMessage{Message: m.Message, Updated: m.updated, Edited: m.edited, Edits: m.edits}
	out.States, out.Message.Reactions = []State{m.Last()}, nil
	for _, x := range m.mentions {
		out.Mentions = append(out.Mentions, savedMention{x.key, x.user})
	}
	for _, r := range m.reactions {
		out.Reactions = append(out.Reactions, savedReaction{r.id, r.emoji, r.user, r.by, r.at})
	}
	for _, part := range m.parts {
		out.Parts = append(out.Parts, part.saved())
	}
	return out
}

func (fs *files) saved() (list []savedFile) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.byKey {
		if f.stream == nil {
			list = append(list, savedFile{f.key, f.name, f.contentType, f.kind, f.own})
		}
	}
	return list
}

// save writes the bytes of the files that are not saved yet: files are immutable.
func (fs *files) save(folder string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for key, f := range fs.byKey {
		path := filepath.Join(folder, key)
		if _, err := os.Stat(path); err == nil || f.stream != nil {
			continue
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// load reads the saved state; false = there is none.
func load(folder string) (in saved, ok bool, err error) {
	if folder == "" {
		return in, false, nil
	}
	data, err := os.ReadFile(filepath.Join(folder, worldFile))
	if errors.Is(err, fs.ErrNotExist) {
		return in, false, nil
	} else if err != nil {
		return in, false, err
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return in, false, fmt.Errorf("%s: %w", worldFile, err)
	}
	return in, true, nil
}

// restore fills an empty world.
func (w *world) restore(in saved, folder string, streamingTTL time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tenant, w.botID, w.bot.OpenBotID = in.Tenant, in.BotID, in.BotID
	w.users = in.Users
	for _, c := range in.Chats {
		made := &chat{Chat: c.Chat, dissolved: c.Dissolved}
		w.chats, w.byID[c.ID] = append(w.chats, made), made
		if made.private() && len(c.Members) > 0 {
			w.private[c.Members[0].OpenID] = made
		}
	}
	for _, m := range in.Messages {
		w.messages.insert(m.restored(""))
	}
	for _, c := range in.Cards {
		e := &entity{id: c.ID, root: c.Root, created: c.Created, seq: c.Sequence, uuids: make(map[string][32]byte),
			stopTTL: func() {}}
		w.cards[e.id] = e
		w.setStreaming(e, c.Streaming, streamingTTL)
	}
	for _, m := range w.messages.list {
		if e := w.cards[m.CardID]; e != nil {
			m.entity, e.message = e, m
		}
	}
	return w.files.restore(in.Files, folder)
}

func (in savedMessage) restored(upper string) *message {
	m := &message{Message: in.Message, updated: in.Updated, edited: in.Edited, edits: in.Edits, upper: upper}
	m.Message.Reactions = nil // they are derived from the others
	for _, x := range in.Mentions {
		m.mentions = append(m.mentions, mention{x.Key, x.User})
	}
	for _, r := range in.Reactions {
		m.reactions = append(m.reactions, &reaction{r.ID, r.Emoji, r.User, r.By, r.At})
	}
	for _, part := range in.Parts {
		m.parts = append(m.parts, part.restored(in.ID))
	}
	return m
}

func (fs *files) restore(list []savedFile, folder string) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, in := range list {
		data, err := os.ReadFile(filepath.Join(folder, filepath.Base(in.Key)))
		if err != nil {
			return err
		}
		fs.byKey[in.Key] = &file{
			key: in.Key, name: in.Name, contentType: in.ContentType, kind: in.Kind, own: in.Own, data: data,
		}
	}
	return nil
}
