package bridge

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// steering passes messages to running turns: what their askers want to add.
type steering struct {
	store  db.Steers
	turns  db.Turns
	queue  db.Queue
	lanes  *workqueue.Lanes
	access *access.Authorizer
	budget *budget
	always bool // not only messages marked as an addition
	// the first message of the card that a message shows a part of: an answer continues on further messages
	cardOf func(message string) string
	log    zerolog.Logger

	mu      sync.Mutex
	running map[int64]*steeredTurn // by turn number
}

// steeredTurn is a running turn with the messages passed to it.
type steeredTurn struct {
	kind   chat.Kind
	lang   i18n.Lang
	askers []string
	unread []steer                    // in the order of arrival
	agent  func(id, text string) bool // passes a message to the agent; nil = the agent does not have the question yet
}

// steer is a message that the agent has not read yet.
type steer struct {
	prompt  string
	message chat.Message
	handed  bool // the agent's process has it
}

// turnStarted lets a turn receive messages until end is called. The end of the turn queues the unread ones.
func (s *steering) turnStarted(c db.Claim, lang i18n.Lang) (end func()) {
	t := &steeredTurn{kind: c.Chat.Kind, lang: lang}
	for _, m := range c.Asked {
		t.askers = append(t.askers, m.Actor.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[int64]*steeredTurn{}
	}
	s.running[c.Turn.ID] = t
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, c.Turn.ID)
	}
}

// addition matches a message that says that it adds to an earlier question.
var addition = regexp.MustCompile(`(?i)^\s*(补充(一下|一点|说明)?\s*([:：,，。、]|\s)|also\s*[:：])`)

// turnFor returns the running turn that a message belongs to; 0 = it is a question of its own. In a group only askers
// of the turn and admins may add to it: the turn acts on behalf of its askers. A file is always a question of its own,
// and so is a message that quotes anything but the turn's card. One that is not marked as an addition joins the
// questions that wait, if there are any. A limit that is reached refuses the message, as it would refuse a question.
func (s *steering) turnFor(ctx context.Context, m chat.Incoming) (int64, error) {
	turn := s.lanes.RunningTurn(m.Key)
	if turn == 0 || m.HasFiles() {
		return 0, nil
	}
	quoted := m.Quoted()
	adds := quoted != "" && s.isCardOf(ctx, turn, quoted) || quoted == "" && addition.MatchString(m.Text)
	if !adds && (quoted != "" || !s.always || s.hasWaiting(ctx, m.Key)) || !s.mayAdd(turn, m) {
		return 0, nil
	}
	return turn, s.budget.checkAddition(ctx, turn, m)
}

// mayAdd reports whether a turn takes messages, and one by this author.
func (s *steering) mayAdd(turn int64, m chat.Incoming) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running[turn]
	return t != nil && (slices.Contains(t.askers, m.Actor.ID) || s.access.Load().InCharge(m))
}

// hasWaiting reports whether the chat has waiting questions, which a message that is not marked as an addition may
// belong to, such as the text for a file.
func (s *steering) hasWaiting(ctx context.Context, key chat.Key) bool {
	waiting, err := s.queue.Turns(ctx, key)
	if err != nil {
		s.log.Error().Err(err).Stringer("chat", key).Msg("waiting turns not found; queueing the addition")
	}
	return err != nil || len(waiting) > 0
}

// isCardOf reports whether a message is one of those that show the answer of a turn.
func (s *steering) isCardOf(ctx context.Context, turn int64, message string) bool {
	card, err := s.turns.CardOf(ctx, turn)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		s.log.Error().Err(err).Int64("turn", turn).Msg("card of a turn not found; taking its quote as a question")
	}
	return card != "" && s.cardOf(message) == chat.FirstMessage(card)
}

// handToAgent passes a stored message to the agent of its turn, now or once the agent has the question.
func (s *steering) handToAgent(turn int64, prompt string, m chat.Message) {
	failpoint.At("steer: stored")
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running[turn]
	if t == nil {
		return // the end of the turn has queued the message
	}
	t.unread = append(t.unread, steer{prompt: prompt, message: m})
	t.sendUnread()
	failpoint.At("steer: handed")
}

// sendUnread sends the agent all messages that it does not have yet. The caller holds mu.
func (t *steeredTurn) sendUnread() {
	for i := range t.unread {
		if u := &t.unread[i]; t.agent != nil && !u.handed {
			u.handed = t.agent(u.prompt, contextmgr.QuestionText([]chat.Message{u.message}, t.kind, string(t.lang)))
		}
	}
}

// requeueUnread adds the unread messages to the questions of the turn before its prompt is built: on the first attempt,
// or after the process that had them has died.
func (s *steering) requeueUnread(ctx context.Context, t *turn) error {
	s.mu.Lock()
	running := s.running[t.Turn.ID]
	if running == nil {
		s.mu.Unlock()
		return nil
	}
	list := running.unread
	running.unread, running.agent = nil, nil
	s.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	var prompts []string
	for _, u := range list {
		prompts = append(prompts, u.prompt)
		t.Asked = append(t.Asked, u.message)
	}
	return s.store.MarkAsked(context.WithoutCancel(ctx), t.Turn, prompts...)
}

// unreadMessages are the messages of a turn that its agent has not read.
func (s *steering) unreadMessages(turn int64) (list []chat.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.running[turn]; t != nil {
		for _, u := range t.unread {
			list = append(list, u.message)
		}
	}
	return list
}

// attachAgent passes the turn's messages to the process that has its question.
func (s *steering) attachAgent(t *turn, p *claude.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if running := s.running[t.Turn.ID]; running != nil {
		running.agent = p.Steer
		running.sendUnread()
	}
}

// markRead records that the agent has read a message, and returns it.
func (s *steering) markRead(ctx context.Context, t *turn, prompt string) (chat.Message, bool) {
	m, ok := s.claimMessage(t.Turn.ID, prompt)
	if !ok {
		return chat.Message{}, false
	}
	failpoint.At("steer: read")
	t.steersRead = append(t.steersRead, prompt)
	defer failpoint.At("steer: noted")
	if err := s.store.MarkRead(context.WithoutCancel(ctx), t.Turn, prompt); err != nil { // stored at the end
		zerolog.Ctx(ctx).Error().Err(err).Msg("message read by the agent not recorded")
	}
	return m, true
}

func (s *steering) claimMessage(turn int64, prompt string) (chat.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running[turn]
	if t == nil {
		return chat.Message{}, false
	}
	i := slices.IndexFunc(t.unread, func(u steer) bool { return u.prompt == prompt })
	if i < 0 {
		return chat.Message{}, false
	}
	m := t.unread[i].message
	t.unread = slices.Delete(t.unread, i, i+1)
	return m, true
}
