package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// ReservedPaths checks for files that only admins may decide about: the program's own, and those of other chats.
type ReservedPaths struct {
	folder string   // the program's data; empty = none
	state  string   // the agents' state, with a folder per chat; empty = none
	files  []string // its configuration and secrets
	homes  []string // possible meanings of ~ and $HOME
	names  []string // names that give a protected file away in a command, however it is written
	// chat returns the chat that owns a path in one of these folders, with links resolved; false = no chat does.
	chat func(ctx context.Context, path string) (chat.Key, bool)
	// name is the name of a chat for users; empty = it has none.
	name func(ctx context.Context, key chat.Key) string
}

// ProtectedPaths are the folders and files of the program and its chats.
type ProtectedPaths struct {
	Data     string   // the program's own folder; empty = none
	State    string   // the agents' state, which may be elsewhere; empty = none
	Received string   // the received files, in a folder per chat; empty = none
	Files    []string // the program's configuration and secrets
	Homes    []string // possible meanings of ~ and $HOME
}

// TouchedPaths are the kinds of reserved files that a tool call touches.
type TouchedPaths struct {
	Own   bool   // the program's own files
	Other bool   // files of another chat
	Name  string // the name of the other chat; may be empty
}

// Any reports whether there is one.
func (t TouchedPaths) Any() bool { return t.Own || t.Other }

// NewReservedPaths makes a check for the files in p. It needs the store to find the chat that owns a file.
func NewReservedPaths(p ProtectedPaths, store *db.DB) ReservedPaths {
	r := ReservedPaths{folder: p.Data, state: p.State, files: p.Files, homes: p.Homes}
	if real, err := safepath.Resolve(p.State); p.State != "" && err == nil {
		r.state = real
	}
	if real, err := safepath.Resolve(p.Data); p.Data != "" && err == nil {
		r.folder = real
		if parent := filepath.Base(filepath.Dir(real)); parent != string(filepath.Separator) {
			r.names = append(r.names, filepath.Join(parent, filepath.Base(real)))
		}
		r.names = append(r.names, real)
	}
	r.names = append(r.names, "magpie.db")
	for _, f := range p.Files {
		r.names = append(r.names, filepath.Base(f))
	}
	r.chat = func(ctx context.Context, path string) (chat.Key, bool) {
		if key, ok := chatOfState(ctx, store, p.State, path); ok {
			return key, true
		}
		return chatOfFiles(ctx, store, p.Received, path)
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

// maxChats limits the chats that are searched for the owner of a folder.
const maxChats = 100_000

// folderBelow is the direct subfolder of folder that contains path, or is it.
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

// chatOfState is the chat whose agents' state contains a path.
func chatOfState(ctx context.Context, store *db.DB, folder, path string) (chat.Key, bool) {
	id, ok := folderBelow(folder, path)
	if !ok {
		return chat.Key{}, false
	}
	key, err := store.Chats().ChatOfFolder(ctx, id)
	return key, err == nil // an unknown path counts as the program's own
}

// chatOfFiles is the chat whose received files contain a path.
func chatOfFiles(ctx context.Context, store *db.DB, folder, path string) (chat.Key, bool) {
	own, ok := folderBelow(folder, path)
	if !ok {
		return chat.Key{}, false
	}
	if key, err := store.Chats().ChatOfFolder(ctx, own); err == nil {
		return key, true
	}
	list, err := store.Chats().Active(ctx, "", time.UnixMilli(0), maxChats)
	if err != nil { // it counts as the program's own
		return chat.Key{}, false
	}
	i := slices.IndexFunc(list, func(a chat.Activity) bool { return a.Key.StableID("") == own })
	if i < 0 {
		return chat.Key{}, false
	}
	return list[i].Key, true
}

// PathsOf returns the reserved files that a tool call in a chat touches. Questions and plans are for people, and touch
// no files.
func (r ReservedPaths) PathsOf(ctx context.Context, key chat.Key, q claude.ToolAsk, dir string) (a TouchedPaths) {
	if r.folder == "" && len(r.files) == 0 || stream.AsksPeople(q.Name) || q.Name == claude.PlanTool {
		return TouchedPaths{}
	}
	var input any
	if err := json.Unmarshal(q.Input, &input); err != nil {
		return TouchedPaths{Own: true} // it cannot be shown either
	}
	eachText("", input, func(field, text string) {
		switch {
		case field == "description": // it is shown, but not used
			return
		case q.Name == "Bash" && field == "command":
			for _, word := range commandWords(text) {
				free := r.recordTouched(ctx, key, word, dir, &a)
				named := func(name string) bool { return strings.Contains(word, name) }
				a.Own = a.Own || !free && slices.ContainsFunc(r.names, named)
			}
			return
		case !slices.Contains(proseFields, field):
			r.recordTouched(ctx, key, text, dir, &a)
		}
		for _, word := range commandWords(text) {
			for _, root := range []string{r.folder, r.state} {
				if root != "" && strings.HasPrefix(word, root) {
					r.recordTouched(ctx, key, word, dir, &a)
				}
			}
		}
	})
	if a.Other { // the more informative notice
		a.Own = false
	}
	return a
}

// proseFields are fields of tool inputs that hold text, not a path.
var proseFields = []string{
	"content", "old_string", "new_string", "new_source", "prompt", "query", "subject", "title",
}

// eachText calls f with every string in a tool's input and the name of its field.
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

// commandWords are the words of a command or other text that may be paths.
func commandWords(text string) []string {
	text = strings.NewReplacer(`"`, "", "'", "", `\`, "", "${HOME}", "~", "$HOME", "~").Replace(text)
	return strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("`;|&<>()=,:{}@", r)
	})
}

// recordTouched records in touched which reserved files a path names. It reports whether the path is one of the chat's
// own.
func (r ReservedPaths) recordTouched(
	ctx context.Context, key chat.Key, path, dir string, touched *TouchedPaths,
) (isOwn bool) {
	for _, p := range r.possiblePaths(path, dir) {
		literal, pattern := beforePattern(p)
		// Links are followed as far as the path exists; a name that does not exist yet is taken literally.
		real, ok := safepath.Follow(literal)
		if !ok {
			real = literal
		}
		if r.folder != "" && safepath.Contains(r.folder, real) || r.state != "" && safepath.Contains(r.state, real) {
			owner, known := r.chat(ctx, real)
			switch {
			case known && owner == key:
				isOwn = true
				continue
			case known:
				touched.Other, touched.Name = true, r.name(ctx, owner)
				continue
			}
		}
		if r.touches(literal, pattern) || real != literal && r.touches(real, pattern) {
			touched.Own = true
		}
	}
	return isOwn
}

// possiblePaths returns the paths that a text may mean.
func (r ReservedPaths) possiblePaths(text, dir string) (list []string) {
	// Longer than any path of the system (PATH_MAX), or with characters that no command line passes on.
	if text == "" || len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return nil
	}
	if !strings.HasPrefix(text, "~") {
		if !filepath.IsAbs(text) {
			text = dir + "/" + text
		}
		return []string{filepath.Clean(text)}
	}
	// A tilde may name any user, and ~ means the home of whoever runs the command, so all homes are checked.
	user, rest, _ := strings.Cut(text[1:], "/")
	for _, home := range r.homes {
		if user == "" || user == filepath.Base(home) {
			list = append(list, filepath.Join(home, rest))
		}
	}
	return list
}

// beforePattern splits a path before its first element with a wildcard.
func beforePattern(path string) (literal, pattern string) {
	names := strings.Split(path, "/")
	i := slices.IndexFunc(names, func(name string) bool { return strings.ContainsAny(name, "*?[") })
	if i < 0 {
		return path, ""
	}
	return filepath.Clean("/" + filepath.Join(names[:i]...)), filepath.Join(names[i:]...)
}

// touches reports whether a path, or a match of its pattern, is one of the program's files or a folder above one.
func (r ReservedPaths) touches(path, pattern string) bool {
	for _, own := range append([]string{r.folder, r.state}, r.files...) {
		if own == "" {
			continue
		}
		real, err := safepath.Resolve(own)
		if err != nil {
			real = own
		}
		// Both names are compared, because a command may use either.
		for _, own := range []string{own, real} {
			if safepath.Contains(own, path) || pattern == "" && safepath.Contains(path, own) ||
				pattern != "" && mayMatch(path, pattern, own) {
				return true
			}
		}
	}
	return false
}

// mayMatch reports whether a pattern below a folder may match a path, a folder above it, or something in it. When in
// doubt it returns true.
func mayMatch(dir, pattern, path string) bool {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	names := strings.Split(rel, "/")
	for i, p := range strings.Split(pattern, "/") {
		if i == len(names) || p == "**" {
			return true
		}
		// A malformed pattern counts as a match, since another program may read it differently.
		if ok, err := filepath.Match(p, names[i]); err == nil && !ok {
			return false
		}
	}
	return true
}

// AdminsOnlyText explains why only admins may allow a request.
func (t TouchedPaths) AdminsOnlyText(l i18n.Lang) string {
	switch {
	case t.Other && t.Name != "":
		return fmt.Sprintf(i18n.AboutChat.In(l), t.Name)
	case t.Other:
		return i18n.AboutOther.In(l)
	case t.Own:
		return i18n.AboutOwn.In(l)
	}
	return i18n.AdminsAllow.In(l)
}
