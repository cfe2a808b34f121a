// Package deliverytest has what tests of deliveries share: messengers that remember what they were told to show, a
// database that a test can look into, and projects with files that must not be sent.
//
// Expectations of a single test do not belong here, nor a double of the platform, which is feishusim.
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

// Recorder is a messenger that remembers what it was told to show. Its fields may be read once nobody calls it any
// more, else under Mu.
type Recorder struct {
	Mu        sync.Mutex
	Pace      time.Duration // between two edits
	Fail      error         // of Post and Signal, which are remembered anyway
	Edits     []chat.Card
	Closed    []chat.Card
	Said      []string // texts of replies
	Reactions []string // the id of a message and its signal, such as "om_1 working"
	Posts     int      // cards
	Posted    []chat.Card
	Found     []chat.Sent
}

// Reply remembers a text.
func (r *Recorder) Reply(_ context.Context, _ chat.Ref, text, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Said = append(r.Said, text)
	return "om_reply", nil
}

// Mention remembers a text, with the users that it calls in front.
func (r *Recorder) Mention(_ context.Context, _ chat.Ref, users []string, text, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Said = append(r.Said, "@"+strings.Join(users, " @")+" "+text)
	return "om_mention", nil
}

// Post remembers a card, and names it "card".
func (r *Recorder) Post(_ context.Context, _ chat.Ref, c chat.Card, _ string) (string, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Posts++
	r.Posted = append(r.Posted, c)
	return "card", r.Fail
}

// Upload takes any file, and names it "file/1".
func (r *Recorder) Upload(context.Context, chat.Upload) (string, error) { return "file/1", nil }

// Attach shows any file.
func (r *Recorder) Attach(context.Context, chat.Ref, string, string, string) (string, error) {
	return "om_file", nil
}

// Ready waits for Pace.
func (r *Recorder) Ready(ctx context.Context, _ string) error {
	workqueue.Sleep(ctx, r.Pace)
	return ctx.Err()
}

// Find returns Found, whatever the message.
func (r *Recorder) Find(context.Context, chat.Ref) ([]chat.Sent, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Found, nil
}

// Signal remembers a signal.
func (r *Recorder) SetReaction(_ context.Context, to chat.Ref, s chat.Reaction) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Reactions = append(r.Reactions, to.ID+" "+string(s))
	return r.Fail
}

// Edit remembers a card.
func (r *Recorder) Edit(_ context.Context, _ string, c chat.Card) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Edits = append(r.Edits, c)
	return nil
}

// Close remembers a card that was drawn for the last time.
func (r *Recorder) Close(_ context.Context, _ string, c chat.Card) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Closed = append(r.Closed, c)
	return nil
}

// SoFar is what it was told to show so far, while somebody may still tell it more.
func (r *Recorder) SoFar() (said []string, closed []chat.Card, posts int) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.Clone(r.Said), slices.Clone(r.Closed), r.Posts
}

// Replies are the texts of replies and the cards that were posted so far.
func (r *Recorder) Replies() (said []string, cards []chat.Card) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.Clone(r.Said), slices.Clone(r.Posted)
}

// TakeSaid are the texts of replies since it was called last.
func (r *Recorder) TakeSaid() []string {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	said := r.Said
	r.Said = nil
	return said
}

// FileRecorder is a messenger that remembers the files that it was given and has shown, too.
type FileRecorder struct {
	Recorder
	FailUpload error             // of Upload; see Set
	FailAttach error             // of Attach; see Set
	Attached   map[string]string // the name and the caption of each file that was shown, by idempotency key

	mu      sync.Mutex
	uploads []chat.Upload
	order   []string
}

// Upload remembers a file, and names it "file/" and its number.
func (g *FileRecorder) Upload(_ context.Context, u chat.Upload) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.FailUpload != nil {
		return "", g.FailUpload
	}
	g.uploads = append(g.uploads, u)
	return fmt.Sprintf("file/%d", len(g.uploads)), nil
}

// Attach remembers what is shown, once for each idempotency key.
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

// Close remembers a card that was drawn for the last time.
func (g *FileRecorder) Close(ctx context.Context, id string, c chat.Card) error {
	g.mu.Lock()
	g.order = append(g.order, "card")
	g.mu.Unlock()
	return g.Recorder.Close(ctx, id, c)
}

// Set changes what fails while somebody may call the messenger.
func (g *FileRecorder) Set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// Order is what was shown so far, in order: "card", or "file for " and the message that the file answers.
func (g *FileRecorder) Order() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// Uploads are the files that were uploaded so far.
func (g *FileRecorder) Uploads() []chat.Upload {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.uploads)
}
