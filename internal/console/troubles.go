package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// Bridge is the state of the bridge's process.
type Bridge struct {
	PID   int    `json:"pid"`   // 0 = there is none
	State string `json:"state"` // running | killed; empty = unknown
	Kills int    `json:"kills"` // how often it was killed
}

// troubles are the things that visitors have broken.
type troubles struct {
	mu     sync.Mutex
	bridge Bridge
	plug   func() // ends the outage of the platform; nil = there is none
	full   bool   // the disk
}

func (b *troubles) setBridge(now Bridge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bridge = now
}

// now returns what is currently broken.
func (b *troubles) now() (bridge Bridge, unplugged, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bridge, b.plug != nil, b.full
}

type nothing struct{}

// ErrNoBridge means that the bridge is not running, so that nothing can be done to it.
var ErrNoBridge = errors.New("the bridge is not running")

// trouble says that a button that breaks something has failed; code is the button's. The page has words for it, in the
// visitor's language; the reason is for whoever has started the playground.
func trouble(code string, err error) error {
	if errors.Is(err, ErrNoBridge) {
		code = "no_bridge"
	}
	return &problem{status: http.StatusConflict, code: code}
}

type loseRequest struct {
	Chat string `json:"chat"`
}

type loseAnswer struct {
	Session string `json:"session"` // the lost session; empty = the chat had none
}

func (p *Playground) loseSession(ctx context.Context, in loseRequest) (loseAnswer, error) {
	if p.cfg.LoseSession == nil {
		return loseAnswer{}, refuse("not_offered", "")
	}
	if _, err := p.people.chatOf(in.Chat); err != nil {
		return loseAnswer{}, err
	}
	session, err := p.cfg.LoseSession(ctx, in.Chat)
	if err != nil {
		return loseAnswer{}, trouble("lose", err)
	}
	return loseAnswer{session}, nil
}

// kill kills the bridge in the middle of its work.
func (p *Playground) kill(context.Context, nothing) (nothing, error) {
	if p.cfg.Kill == nil {
		return nothing{}, refuse("not_offered", "")
	}
	if err := p.cfg.Kill(); err != nil {
		return nothing{}, trouble("kill", err)
	}
	return nothing{}, nil
}

type switchRequest struct {
	On bool `json:"on"`
}

// unplug disconnects the platform, or connects it again.
func (p *Playground) unplug(_ context.Context, in switchRequest) (nothing, error) {
	defer p.turns.wakeAll()
	b := &p.troubles
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case in.On && b.plug == nil:
		b.plug = p.cfg.Sim.Unplug()
	case !in.On && b.plug != nil:
		b.plug()
		b.plug = nil
	}
	return nothing{}, nil
}

// fillDisk makes the disk full for the bridge, or frees it again.
func (p *Playground) fillDisk(_ context.Context, in switchRequest) (nothing, error) {
	if p.cfg.FillDisk == nil {
		return nothing{}, refuse("not_offered", "")
	}
	defer p.turns.wakeAll()
	b := &p.troubles
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := p.cfg.FillDisk(in.On); err != nil {
		return nothing{}, trouble("disk", err)
	}
	b.full = in.On
	return nothing{}, nil
}
