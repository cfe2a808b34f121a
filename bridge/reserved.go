package bridge

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/safepath"
)

// reserved are the files about which only admins may decide: the program's own, and those of other chats.
type reserved struct {
	folder string   // the program's data; empty = none
	state  string   // the agents' state, in folders of their chats; empty = none
	files  []string // its configuration and secrets
	homes  []string // for which ~ and $HOME may stand
	names  []string // by which commands give them away, however they are written
	// Chat is the chat to which a path in one of these belongs, without symbolic links; false = it is nobody's.
	chat func(ctx context.Context, path string) (chat.Key, bool)
	// Name is what people call a chat; empty = they do not know it by a name.
	name func(ctx context.Context, key chat.Key) string
}

// protected is what the program keeps for itself and for its chats.
type protected struct {
	data     string   // the program's own folder; empty = none
	state    string   // what the agents of chats keep, which may lie elsewhere; empty = none
	received string   // the files of messages, a folder for each chat; empty = none
	files    []string // the program's configuration and secrets
	homes    []string // for which ~ and $HOME may stand
}

// about says what is reserved of what a tool wants.
type about struct {
	own   bool   // the program's own files
	other bool   // files of another chat
	name  string // of the other chat; may be empty
}

// any reports whether something is.
func (a about) any() bool { return a.own || a.other }

func newReserved(p protected, store *db.DB) reserved {
	r := reserved{folder: p.data, state: p.state, files: p.files, homes: p.homes}
	if real, err := safepath.Resolve(p.state); p.state != "" && err == nil {
		r.state = real
	}
	if real, err := safepath.Resolve(p.data); p.data != "" && err == nil {
		r.folder = real
		if parent := filepath.Base(filepath.Dir(real)); parent != string(filepath.Separator) {
			r.names = append(r.names, filepath.Join(parent, filepath.Base(real)))
		}
		r.names = append(r.names, real)
	}
	r.names = append(r.names, "magpie.db")
	for _, f := range p.files {
		r.names = append(r.names, filepath.Base(f))
	}
	r.chat = func(ctx context.Context, path string) (chat.Key, bool) {
		if key, ok := chatOfState(ctx, store, p.state, path); ok {
			return key, true
		}
		return chatOfFiles(ctx, store, p.received, path)
	}
	r.name = func(ctx context.Context, key chat.Key) string {
		c, err := store.Chats().Get(ctx, key)
		if err != nil { // it has no name then
			return ""
		}
		return i18n.SafeName(c.Title)
	}
	return r
}

// mostChats is how many chats are looked through for whose a folder is.
const mostChats = 100_000

// folderBelow is the folder right below another one in which a path lies, or which it is.
func folderBelow(folder, path string) (name string, ok bool) {
	root, err := safepath.Resolve(folder)
	if folder == "" || err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", false
	}
	name, _, _ = strings.Cut(rel, string(filepath.Separator))
	return name, true
}

// chatOfState is the chat whose agents keep their state at a path.
func chatOfState(ctx context.Context, store *db.DB, folder, path string) (chat.Key, bool) {
	id, ok := folderBelow(folder, path)
	if !ok {
		return chat.Key{}, false
	}
	key, err := store.Folders().Chat(ctx, id)
	return key, err == nil // what cannot be found out is the program's
}

// chatOfFiles is the chat whose received files lie at a path.
func chatOfFiles(ctx context.Context, store *db.DB, folder, path string) (chat.Key, bool) {
	own, ok := folderBelow(folder, path)
	if !ok {
		return chat.Key{}, false
	}
	list, err := store.Chats().Active(ctx, time.UnixMilli(0), mostChats)
	if err != nil { // it is the program's, then
		return chat.Key{}, false
	}
	i := slices.IndexFunc(list, func(a chat.Activity) bool { return a.Key.Stable("") == own })
	if i < 0 {
		return chat.Key{}, false
	}
	return list[i].Key, true
}

// ofTool says what is reserved of what a tool wants in a chat. Questions and plans are for people, and touch no
// files.
func (r reserved) ofTool(ctx context.Context, key chat.Key, q claude.ToolAsk, dir string) (a about) {
	if r.folder == "" && len(r.files) == 0 || q.Name == claude.QuestionTool || q.Name == claude.PlanTool {
		return about{}
	}
	var input any
	if err := json.Unmarshal(q.Input, &input); err != nil {
		return about{own: true} // it cannot be shown either
	}
	eachText("", input, func(field, text string) {
		switch {
		case field == "description": // it is shown, and nothing is done with it
			return
		case q.Name == "Bash" && field == "command":
			for _, word := range commandWords(text) {
				free := r.look(ctx, key, word, dir, &a)
				named := func(name string) bool { return strings.Contains(word, name) }
				a.own = a.own || !free && slices.ContainsFunc(r.names, named)
			}
			return
		case !slices.Contains(proseFields, field):
			r.look(ctx, key, text, dir, &a)
		}
		for _, word := range commandWords(text) {
			for _, root := range []string{r.folder, r.state} {
				if root != "" && strings.HasPrefix(word, root) {
					r.look(ctx, key, word, dir, &a)
				}
			}
		}
	})
	if a.other { // which tells people more
		a.own = false
	}
	return a
}

// proseFields are those of tools' inputs that hold text and no path.
var proseFields = []string{
	"content", "old_string", "new_string", "new_source", "prompt", "query", "subject", "title",
}

// eachText calls f with every text of a tool's input, and with the name under which it stands.
func eachText(field string, v any, f func(field, text string)) {
	switch v := v.(type) {
	case string:
		f(field, v)
	case []any:
		for _, e := range v {
			eachText(field, e, f)
		}
	case map[string]any:
		for name, e := range v {
			eachText(name, e, f)
		}
	}
}

// commandWords are what may be paths in a command, or in another text.
func commandWords(text string) []string {
	text = strings.NewReplacer(`"`, "", "'", "", `\`, "", "${HOME}", "~", "$HOME", "~").Replace(text)
	return strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("`;|&<>()=,:{}@", r)
	})
}

// look notes in a what a path names that is reserved. It reports whether the path is one of the chat's own.
func (r reserved) look(ctx context.Context, key chat.Key, path, dir string, a *about) (free bool) {
	for _, p := range r.meant(path, dir) {
		literal, pattern := beforePattern(p)
		real, ok := safepath.Follow(literal)
		if !ok {
			real = literal
		}
		if r.folder != "" && safepath.Contains(r.folder, real) || r.state != "" && safepath.Contains(r.state, real) {
			owner, known := r.chat(ctx, real)
			switch {
			case known && owner == key:
				free = true
				continue
			case known:
				a.other, a.name = true, r.name(ctx, owner)
				continue
			}
		}
		if r.touches(literal, pattern) || real != literal && r.touches(real, pattern) {
			a.own = true
		}
	}
	return free
}

// meant are the paths for which a text may stand.
func (r reserved) meant(text, dir string) (list []string) {
	if text == "" || len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return nil
	}
	if !strings.HasPrefix(text, "~") {
		if !filepath.IsAbs(text) {
			text = dir + "/" + text
		}
		return []string{filepath.Clean(text)}
	}
	user, rest, _ := strings.Cut(text[1:], "/")
	for _, home := range r.homes {
		if user == "" || user == filepath.Base(home) {
			list = append(list, filepath.Join(home, rest))
		}
	}
	return list
}

// beforePattern parts a path where its first name with a wildcard begins.
func beforePattern(path string) (literal, pattern string) {
	names := strings.Split(path, "/")
	i := slices.IndexFunc(names, func(name string) bool { return strings.ContainsAny(name, "*?[") })
	if i < 0 {
		return path, ""
	}
	return filepath.Clean("/" + filepath.Join(names[:i]...)), filepath.Join(names[i:]...)
}

// touches reports whether a path, or one that its pattern stands for, is the program's, or a folder above that.
func (r reserved) touches(path, pattern string) bool {
	for _, own := range append([]string{r.folder, r.state}, r.files...) {
		if own == "" {
			continue
		}
		real, err := safepath.Resolve(own)
		if err != nil {
			real = own
		}
		for _, own := range []string{own, real} {
			if safepath.Contains(own, path) || pattern == "" && safepath.Contains(path, own) || pattern != "" && mayLead(path, pattern, own) {
				return true
			}
		}
	}
	return false
}

// mayLead reports whether a pattern below a folder may stand for a path, for what lies above it, or in it.
func mayLead(dir, pattern, path string) bool {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	names := strings.Split(rel, "/")
	for i, p := range strings.Split(pattern, "/") {
		if i == len(names) || p == "**" {
			return true
		}
		if ok, err := filepath.Match(p, names[i]); err == nil && !ok {
			return false
		}
	}
	return true
}
