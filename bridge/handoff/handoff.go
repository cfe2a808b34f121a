// Package handoff lets chats go on in a terminal, with the CLI itself: it holds their questions meanwhile, and adds to the
// History what is said there.
//
// It neither draws a terminal nor starts the CLI there; which chats it has is in db/handoffs.
package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/language"
	"magpie/db"
	"magpie/db/engine"
	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/proctree"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// Config is what [Handoffs] need of a bridge.
type Config struct {
	DB        *db.DB
	Pool      *claude.Pool
	Outbox    *delivery.Outbox
	Languages language.Chooser
	Node      string     // this machine
	Operator  chat.Actor // who asks in its terminals
	// Claim is the turn that the next question of a chat would be, and Spec the process that it needs.
	Claim func(ctx context.Context, key chat.Key) (db.Claim, error)
	Spec  func(ctx context.Context, c db.Claim) (claude.Spec, error)
	// Wake has the questions of a chat asked that wait no longer.
	Wake func(chat.Key)
	// Redact redacts what was said, and Excerpt what a tool got and returned, for the History.
	Redact, Excerpt func(string) string
	// Estimate is what was used since a time.
	Estimate func(ctx context.Context, since time.Time, list []claude.ModelUsage) *db.Usage
	Log      zerolog.Logger
}

// Handoffs are the chats that go on in a terminal.
type Handoffs struct {
	Config

	changed chan struct{} // there is another terminal, or one is to end
	starts  sync.RWMutex  // no chat is taken by a terminal while one's own process starts
	attach  sync.Mutex    // a chat that is being attached is not taken back meanwhile

	mu   sync.Mutex
	open map[chat.Key]*terminal
}

// New returns the chats in terminals of a bridge; Run looks after them.
func New(c Config) *Handoffs {
	return &Handoffs{Config: c, changed: make(chan struct{}, 1), open: map[chat.Key]*terminal{}}
}

// terminal is what is kept in mind of a chat in a terminal.
type terminal struct {
	close func() // ends its tools; nil = it has none. The mutex guards it and dir
	dir   string // its project

	size   int64     // of the transcripts when they were last read
	next   time.Time // when it may be read again
	failed int       // how often that has failed since it last succeeded, or the process has ended
	told   time.Time // when its process was told to end; zero = it was not
	gone   time.Time // since when no look has found its process; zero = the last one has
}

// How often terminals are looked at, and, if there are none, looked for; and how long one may take to end.
const (
	poll  = 500 * time.Millisecond
	idle  = 30 * time.Second
	grace = 5 * time.Second
)

// becoming is for how long a process may seem to have ended while it becomes another program.
const becoming = poll / 2

// attempts is how often a chat is kept because what was said in its terminal, which has ended, cannot be stored.
const attempts = 10

// ErrUnseen means that the process of a terminal cannot be seen from here.
var ErrUnseen = errors.New("the process cannot be seen")

// Of is the terminal in which a chat goes on, or false.
func (h *Handoffs) Of(ctx context.Context, key chat.Key) (handoffs.Lease, bool, error) {
	return h.DB.Handoffs().Of(ctx, key)
}

// Holds reports whether the questions of a chat wait for a terminal. One that somebody has opened without asking holds only
// the conversation that he has open there.
func (h *Handoffs) Holds(ctx context.Context, key chat.Key) (bool, error) {
	l, held, err := h.Of(ctx, key)
	if err != nil || !l.Found {
		return held, err
	}
	c, err := h.DB.Chats().Get(ctx, key)
	return l.Epoch == c.Epoch, err
}

// Start has a process of a chat started ahead, unless its questions wait for a terminal. The CLI of a terminal and another
// one must not run in the same folder: each forgets what the other has noted there.
func (h *Handoffs) Start(ctx context.Context, key chat.Key, start func() error) error {
	h.starts.RLock()
	defer h.starts.RUnlock()
	if held, err := h.Holds(ctx, key); err != nil || held {
		return err
	}
	return start()
}

// Take hands a chat to the terminal whose process is pid, or with 0 to the next one that asks for it, and ends the chat's
// own process. It returns [handoffs.ErrTaken] with the lease of another terminal, [handoffs.ErrBusy],
// [chat.ErrElsewhere], [chat.ErrNoChat], or why no session here can go on in a terminal.
func (h *Handoffs) Take(ctx context.Context, key chat.Key, pid int) (l handoffs.Lease, spec claude.Spec, err error) {
	if err := h.Pool.Config().CheckTerminal(); err != nil {
		return l, spec, err
	}
	l = handoffs.Lease{Key: key, Node: h.Node, Pid: pid}
	if pid != 0 {
		if l.Started = proctree.Started(pid); l.Started == "" {
			return l, spec, ErrUnseen
		}
	}
	if mine, err := h.DB.Place().Take(ctx, key); err != nil {
		return l, spec, err
	} else if !mine {
		return l, spec, chat.ErrElsewhere
	}
	c, err := h.Claim(ctx, key)
	if errors.Is(err, db.ErrNotFound) {
		return l, spec, chat.ErrNoChat
	} else if err != nil {
		return l, spec, err
	}
	if spec, err = h.Spec(ctx, c); err != nil {
		return l, spec, err
	}
	l.Epoch, l.Session = c.Chat.Epoch, c.Turn.Session
	if l.Cwd, err = workspace.RealDir(spec.Dir); err != nil {
		return l, spec, err
	}
	if c.Resume {
		if by, err := h.opened(ctx, l); err != nil || by.Pid != 0 {
			return by, spec, cmp.Or(err, handoffs.ErrTaken)
		}
	}
	h.starts.Lock()
	l, err = h.DB.Handoffs().Take(ctx, l)
	h.starts.Unlock()
	if err != nil {
		return l, spec, err
	}
	<-h.Pool.Drop(key.String())
	h.look()
	return l, spec, nil
}

// Attach takes a chat for the terminal whose process is pid, which then becomes the CLI that is returned.
func (h *Handoffs) Attach(ctx context.Context, key chat.Key, pid int) (handoffs.Lease, workspace.Launch, error) {
	h.attach.Lock()
	defer h.attach.Unlock()
	l, spec, err := h.Take(ctx, key, pid)
	if err != nil {
		return l, workspace.Launch{}, err
	}
	agent, err := h.Pool.Config().AgentOf(key.String())
	var launch workspace.Launch
	if err == nil {
		launch, err = agent.Terminal(spec)
	}
	if err != nil {
		_, endErr := h.release(ctx, l)
		return l, launch, errors.Join(err, endErr)
	}
	h.mu.Lock()
	h.open[key] = &terminal{close: launch.Tools.Close, dir: spec.Dir}
	h.mu.Unlock()
	h.Log.Info().Stringer("chat", key).Int("pid", pid).Str("session", l.Session).Msg("a chat goes on in a terminal")
	return l, launch, nil
}

// of is what is kept in mind of a chat. The caller holds mu.
func (h *Handoffs) of(key chat.Key) *terminal {
	if h.open[key] == nil {
		h.open[key] = &terminal{}
	}
	return h.open[key]
}

// WorksFor returns for whom the agent in the terminal of a chat works, and where, or false: its tools are used on their behalf.
func (h *Handoffs) WorksFor(key chat.Key) (claim db.Claim, project string, ok bool) {
	h.mu.Lock()
	t := h.open[key]
	if ok = t != nil && t.close != nil; ok {
		project = t.dir
	}
	h.mu.Unlock()
	if !ok {
		return claim, "", false
	}
	c, err := h.DB.Chats().Get(context.Background(), key)
	claim = db.Claim{Turn: db.Turn{ID: math.MaxInt64, Key: key, Epoch: c.Epoch}, Chat: c}
	claim.Asked = []chat.Message{{Key: key, Role: chat.User, Actor: h.Operator}}
	return claim, project, err == nil
}

// ErrFree means that a chat is in no terminal.
var ErrFree = errors.New("the chat is in no terminal")

// Recall takes a chat back from its terminal, whose process ends, and returns that. It is over at once if there is no process,
// or none that anybody could end. One that somebody has opened without asking is only returned: nothing but a file of the CLI
// says whose process that is.
func (h *Handoffs) Recall(ctx context.Context, key chat.Key) (l handoffs.Lease, over bool, err error) {
	l, held, err := h.Of(ctx, key)
	if err == nil && !held {
		err = ErrFree
	}
	if err != nil {
		return l, false, err
	}
	lives := true
	if place := h.DB.Place(); place != nil && l.Node != h.Node {
		if lives, err = place.Lives(ctx, []string{l.Node}); err != nil {
			return l, false, err
		}
	}
	switch {
	case l.Pid == 0 || !lives:
		if over, err = h.end(ctx, l); err == nil && !over { // a terminal has taken it in this moment
			return h.Recall(ctx, key)
		}
		return l, over, err
	case l.Found:
		return l, false, nil
	}
	err = h.DB.Handoffs().Recall(ctx, key)
	h.look()
	return l, false, err
}

// end has a chat be in no terminal any more, unless it has been in another one since.
func (h *Handoffs) end(ctx context.Context, l handoffs.Lease) (ended bool, err error) {
	h.attach.Lock()
	defer h.attach.Unlock()
	return h.release(ctx, l)
}

// release is [Handoffs.end] for a caller that holds attach.
func (h *Handoffs) release(ctx context.Context, l handoffs.Lease) (ended bool, err error) {
	if ended, err = h.DB.Handoffs().End(ctx, l); err != nil || !ended {
		return ended, err
	}
	h.mu.Lock()
	t := h.of(l.Key)
	delete(h.open, l.Key)
	h.mu.Unlock()
	if t.close != nil {
		t.close()
	}
	h.Wake(l.Key)
	return true, nil
}

// Run looks after the terminals of this machine until ctx is done.
func (h *Handoffs) Run(ctx context.Context) {
	node := h.Node
	if h.DB.Place() == nil {
		node = "" // there is no other bridge; the machine may have had another name
	}
	for ctx.Err() == nil {
		list, err := h.DB.Handoffs().On(ctx, node)
		if err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrAway) { // which is said once
			h.Log.Error().Err(err).Msg("chats in terminals not found; trying again")
		}
		for _, l := range list {
			if err := h.tend(ctx, l); err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrAway) {
				h.Log.Error().Err(err).Stringer("chat", l.Key).Msg("what was said in a terminal is not stored; trying again")
			}
		}
		wait := poll
		if len(list) == 0 {
			wait = idle
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-h.changed:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// look makes Run look at the terminals.
func (h *Handoffs) look() {
	select {
	case h.changed <- struct{}{}:
	default: // it looks anyway
	}
}

// tend adds to the History what was said in a terminal, and takes the chat back if it has ended or is to end.
func (h *Handoffs) tend(ctx context.Context, l handoffs.Lease) error {
	h.mu.Lock()
	t := h.of(l.Key)
	h.mu.Unlock()
	lives := proctree.Started(l.Pid) == l.Started
	switch {
	case lives:
		t.gone = time.Time{}
	case t.gone.IsZero():
		t.failed, t.next, t.gone = 0, time.Time{}, time.Now()
		return nil
	case time.Since(t.gone) < becoming:
		return nil
	}
	switch {
	case !lives || !l.Recalled:
	case t.told.IsZero():
		t.told = time.Now()
		proctree.SignalStarted(l.Pid, l.Started, syscall.SIGTERM)
	case time.Since(t.told) > grace:
		proctree.SignalStarted(l.Pid, l.Started, syscall.SIGKILL)
	}
	if !l.Recalled && time.Now().Before(t.next) {
		return nil
	}
	if err := h.importNew(ctx, l, t, lives); err != nil && (lives || t.failed < attempts) {
		return err
	} else if err != nil {
		h.Log.Error().Err(err).Stringer("chat", l.Key).Msg("what was said in a terminal is not stored; the chat goes on without it")
	}
	if lives {
		return nil
	}
	<-h.Pool.Drop(l.Key.String())     // one that was started meanwhile does not know what was said
	if !chat.IsLocal(l.Key.Channel) { // whoever has left the terminal is told there
		back := db.Post{
			Key: l.Key, Idem: fmt.Sprintf("handoff:%v:%d", l.Key, l.Since.UnixMilli()),
			Text: i18n.HandoffOver.In(h.Languages.OfChat(ctx, l.Key)),
		}
		if err := h.Outbox.Enqueue(ctx, back); err != nil {
			return err
		}
	}
	if _, err := h.end(ctx, l); err != nil {
		return err
	}
	h.Log.Info().Stringer("chat", l.Key).Int("pid", l.Pid).Msg("a chat is back from its terminal")
	h.Outbox.Wake(l.Key)
	return nil
}
