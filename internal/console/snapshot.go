package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"magpie/internal/feishusim"
)

const (
	maxMessages   = 200 // of a chat, the newest
	maxViolations = 20  // the newest ones shown; all are counted
)

// state is what the page shows. A full one replaces everything; any other is merged into what was sent before.
type state struct {
	Full        bool       `json:"full"`
	Simulated   bool       `json:"simulated"`
	Can         features   `json:"can"`
	Bridge      Bridge     `json:"bridge"`
	Unplugged   bool       `json:"unplugged"`
	DiskFull    bool       `json:"disk_full"`
	Commands    []Command  `json:"commands,omitempty"` // only in a full state
	Users       []user     `json:"users"`
	Chats       []chat     `json:"chats"`
	Violations  violations `json:"violations"`
	Connections int        `json:"connections"`
	Refused     int        `json:"refused"` // messages that the bot could not accept yet
}

// features lists what the page offers.
type features struct {
	Lose bool `json:"lose"`
	Kill bool `json:"kill"`
	Fill bool `json:"fill"`
}

type user struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type chat struct {
	ID       string    `json:"id"`
	Number   int       `json:"n"`
	Name     string    `json:"name"`
	Mode     string    `json:"mode"` // p2p | group
	Members  []user    `json:"members"`
	Messages []message `json:"messages"`
	Turns    []Turn    `json:"turns"` // newest first; null: as before
}

// message is a message of a chat; if unchanged, it has only its ID and revision.
type message struct {
	ID     string  `json:"id"`
	Rev    string  `json:"rev"`
	Origin *origin `json:"origin,omitempty"`
	Look   *look   `json:"look,omitempty"`
}

// origin is the part of a message that never changes.
type origin struct {
	Type     string    `json:"type"`
	Sender   user      `json:"sender"`
	Bot      bool      `json:"bot"`
	At       time.Time `json:"at"`
	ParentID string    `json:"parent,omitempty"`
	RootID   string    `json:"root,omitempty"`

	File *attachment `json:"file,omitempty"`
}

// look is the current content of a message.
type look struct {
	Text      string          `json:"text"`
	Post      json.RawMessage `json:"post,omitempty"`
	Card      json.RawMessage `json:"card,omitempty"`
	Streaming bool            `json:"streaming,omitempty"`
	Deleted   bool            `json:"deleted,omitempty"`
	Thread    string          `json:"thread,omitempty"`
	Updates   int             `json:"updates"`
	UpdatedAt time.Time       `json:"updated_at"`
	Reactions []string        `json:"reactions,omitempty"`
}

type violations struct {
	Count  int         `json:"count"`
	Latest []violation `json:"latest"` // newest first
}

type violation struct {
	At     time.Time `json:"at"`
	Rule   string    `json:"rule"`
	Detail string    `json:"detail"`
}

// sentState is what was sent to one page; an empty one leads to full states.
type sentState struct {
	messages map[string]string // revision by message id
	turns    map[string]int    // number of turns by chat id
}

func newSentState() *sentState {
	return &sentState{messages: make(map[string]string), turns: make(map[string]int)}
}

// state serves a full snapshot.
func (p *Playground) state(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, p.snapshot(newSentState()))
}

// snapshot returns the newest state for a page that has received sent, which it updates.
func (p *Playground) snapshot(sent *sentState) state {
	sim := p.cfg.Sim
	s := state{Full: len(sent.turns) == 0, Simulated: p.cfg.Simulated,
		Can:   features{Lose: p.cfg.LoseSession != nil, Kill: p.cfg.Kill != nil, Fill: p.cfg.FillDisk != nil},
		Users: users(sim.Users()), Violations: recentViolations(sim.Violations()), Connections: sim.Connections(),
		Refused: countRefused(sim.Deliveries())}
	s.Bridge, s.Unplugged, s.DiskFull = p.troubles.now()
	if s.Full {
		s.Commands = p.cfg.Commands
	}
	for i, c := range sim.Chats() {
		s.Chats = append(s.Chats, p.chat(i+1, c, sent))
	}
	return s
}

func (p *Playground) chat(n int, c feishusim.Chat, sent *sentState) chat {
	out := chat{ID: c.ID, Number: n, Name: c.Name, Mode: c.Mode, Members: users(c.Members), Messages: []message{}}
	if out.Name == "" && len(c.Members) > 0 {
		out.Name = c.Members[0].Name
	}
	all := p.cfg.Sim.Messages(c.ID)
	for _, m := range all[max(0, len(all)-maxMessages):] {
		out.Messages = append(out.Messages, p.message(sent, m))
	}
	known := p.turns.recordOf(c.ID)
	if count, ok := sent.turns[c.ID]; !ok || count != known.count {
		out.Turns = append([]Turn{}, known.list...)
		sent.turns[c.ID] = known.count
	}
	return out
}

// message includes the look only if it has changed since this viewer last saw it: otherwise a long chat would be sent
// again with every letter.
func (p *Playground) message(s *sentState, m feishusim.Message) message {
	last := m.Last()
	rev := fmt.Sprint(len(m.States), last.At.UnixNano(), m.Deleted, last.Streaming, m.ThreadID, m.Reactions)
	if s.messages[m.ID] == rev {
		return message{ID: m.ID, Rev: rev}
	}
	s.messages[m.ID] = rev
	l := &look{Text: m.Text(), Card: last.Card, Streaming: last.Streaming, Deleted: m.Deleted, Thread: m.ThreadID,
		Updates: len(m.States) - 1, UpdatedAt: last.At, Reactions: m.Reactions}
	if m.Type == "post" && json.Valid([]byte(m.Content)) {
		l.Post = json.RawMessage(m.Content)
	}
	return message{ID: m.ID, Rev: rev, Look: l, Origin: &origin{Type: m.Type, Bot: m.FromBot, At: m.Created,
		Sender: user{m.Sender.ID, m.Sender.Name}, ParentID: m.ParentID, RootID: m.RootID, File: p.people.attachmentOf(m)}}
}

func users(list []feishusim.User) []user {
	out := []user{}
	for _, u := range list {
		out = append(out, user{u.OpenID, u.Name})
	}
	return out
}

func recentViolations(all []feishusim.Violation) violations {
	out := violations{Count: len(all), Latest: []violation{}}
	for i := len(all) - 1; i >= 0 && len(out.Latest) < maxViolations; i-- {
		out.Latest = append(out.Latest, violation{all[i].At, string(all[i].Rule), all[i].Detail})
	}
	return out
}

// countRefused counts the messages that the bot has rejected and not accepted since.
func countRefused(all []feishusim.Delivery) int {
	open := map[string]bool{}
	for _, d := range all {
		switch {
		case d.MessageID == "":
		case d.Failure == "code":
			open[d.MessageID] = true
		case d.Failure == "" && !d.AckedAt.IsZero():
			delete(open, d.MessageID)
		}
	}
	return len(open)
}
