// Package deliverytest provides test doubles for deliveries: messengers that record what they are told to show, a
// database that a test can inspect, and projects with files that must not be sent.
//
// It holds no expectations of single tests, and no double of the platform, which is feishusim.
package deliverytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/bridge/workqueue"
	"magpie/internal/chat"
)

// Recorder is a messenger that records its calls. While it is in use, its fields must be read under Mu.
type Recorder struct {
	Mu        sync.Mutex
	Pace      time.Duration // between two edits
	Fail      error         // returned by Post and SetReaction, which are recorded anyway
	Edits     []chat.Card
	Closed    []chat.Card
	Said      []string // texts of replies
	Reactions []string // the ID of a message and its reaction, such as "om_1 working"
	Posts     int      // cards
	Posted    []chat.Card
	Found     []chat.Sent
	Removed   []string // cards whose buttons were removed
}

// Reply records a text.
func (r *Recorder) Reply(_ context.Context, _ chat.Ref, text, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Said = append(r.Said, text)
	return "om_reply", nil
}

// Mention records a text after the mentioned users.
func (r *Recorder) Mention(_ context.Context, _ chat.Ref, users []string, text, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Said = append(r.Said, "@"+strings.Join(users, " @")+" "+text)
	return "om_mention", nil
}

// Post records a card with the ID "card".
func (r *Recorder) Post(_ context.Context, _ chat.Ref, c chat.Card, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Posts++
	r.Posted = append(r.Posted, c)
	return "card", r.Fail
}

// Upload accepts any file, with the key "file/1".
func (r *Recorder) Upload(context.Context, chat.Ref, chat.Upload) (string, error) {
	return "file/1", nil
}

// Attach accepts any file.
func (r *Recorder) Attach(context.Context, chat.Ref, string, string, string) (string, error) {
	return "om_file", nil
}

// Ready waits for Pace.
func (r *Recorder) Ready(ctx context.Context, _ string) error {
	workqueue.Sleep(ctx, r.Pace)
	return ctx.Err()
}

// Find returns Found for any message.
func (r *Recorder) Find(context.Context, chat.Ref) ([]chat.Sent, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Found, nil
}

// SetReaction records a reaction.
func (r *Recorder) SetReaction(_ context.Context, to chat.Ref, s chat.Reaction) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Reactions = append(r.Reactions, to.ID+" "+string(s))
	return r.Fail
}

// Reaction returns the last reaction to a message, or "?".
func (r *Recorder) Reaction(id string) chat.Reaction {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	last := "?"
	for _, s := range r.Reactions {
		if reaction, ok := strings.CutPrefix(s, id+" "); ok {
			last = reaction
		}
	}
	return chat.Reaction(last)
}

// Edit records a card.
func (r *Recorder) Edit(_ context.Context, _ string, c chat.Card) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Edits = append(r.Edits, c)
	return nil
}

// Close records a final card.
func (r *Recorder) Close(_ context.Context, id string, c chat.Card) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if c.Shown != nil {
		c.Shown.Buttons = id
	}
	r.Closed = append(r.Closed, c)
	return nil
}

// RemoveButtons records the card.
func (r *Recorder) RemoveButtons(_ context.Context, buttons string) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Removed = append(r.Removed, buttons)
	return nil
}

// CardOf knows one message of each card, with the same ID.
func (r *Recorder) CardOf(messageID string) string { return messageID }

// SoFar returns the records so far, also while the recorder is in use.
func (r *Recorder) SoFar() (said []string, closed []chat.Card, posts int) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.Clone(r.Said), slices.Clone(r.Closed), r.Posts
}

// Replies returns the texts and cards that were sent so far.
func (r *Recorder) Replies() (said []string, cards []chat.Card) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.Clone(r.Said), slices.Clone(r.Posted)
}

// TakeSaid returns the texts of replies since its last call.
func (r *Recorder) TakeSaid() []string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	said := r.Said
	r.Said = nil
	return said
}

// FileRecorder is a Recorder that also records uploaded and shown files.
type FileRecorder struct {
	Recorder
	FailUpload error             // returned by Upload; see Set
	FailAttach error             // returned by Attach; see Set
	Attached   map[string]string // the name and caption of each shown file, by idempotency key

	mu      sync.Mutex
	uploads []chat.Upload
	order   []string
}

// Upload records a file, with the key "file/" and its number.
func (g *FileRecorder) Upload(_ context.Context, _ chat.Ref, u chat.Upload) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.FailUpload != nil {
		return "", g.FailUpload
	}
	g.uploads = append(g.uploads, u)
	return fmt.Sprintf("file/%d", len(g.uploads)), nil
}

// Attach records a shown file, once per idempotency key.
func (g *FileRecorder) Attach(_ context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.FailAttach != nil {
		return "", g.FailAttach
	}
	if g.Attached == nil {
		g.Attached = map[string]string{}
	}
	if _, again := g.Attached[idem]; !again {
		g.order = append(g.order, "file for "+to.ID)
	}
	g.Attached[idem] = name + " " + caption
	return "om_" + strings.ReplaceAll(name, "/", "_"), nil
}

// Close records a final card.
func (g *FileRecorder) Close(ctx context.Context, id string, c chat.Card) error {
	g.mu.Lock()
	g.order = append(g.order, "card")
	g.mu.Unlock()
	return g.Recorder.Close(ctx, id, c)
}

// Set runs f, which changes the failures, while the messenger is in use.
func (g *FileRecorder) Set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// Order lists what was shown, in order: "card", or "file for " and the ID of the message it replies to.
func (g *FileRecorder) Order() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// Uploads returns the files uploaded so far.
func (g *FileRecorder) Uploads() []chat.Upload {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.uploads)
}
