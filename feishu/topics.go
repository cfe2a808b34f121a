package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// topics knows which messages belong to a topic that is a chat of its own.
type topics struct {
	api      *openapi.Client
	messages messages
	on       bool
	patience time.Duration // of a press, for where its card stands

	mu     sync.Mutex
	groups map[string]groupMode
	cards  *simplelru.LRU[string, chat.Key] // where messages with buttons stand
}

// groupMode is how people talk in a group.
type groupMode int

const (
	unasked   groupMode = iota
	freely              // and some of it has a topic
	inTopics            // all of it
	forbidden           // it may not be asked
)

// errUnknownManner says that it is not known to which chat a message belongs.
var errUnknownManner = errors.New("feishu: how people talk in the group is not known")

// What is remembered; the platform can be asked again.
const (
	maxGroups = 10_000
	maxCards  = 1000
)

func topicsOf(ms messages, on bool, patience time.Duration) topics {
	cards, err := simplelru.NewLRU[string, chat.Key](maxCards, nil)
	if err != nil {
		panic(err) // it says that the size is not positive
	}
	return topics{api: ms.api, messages: ms, on: on, patience: patience, groups: map[string]groupMode{}, cards: cards}
}

// key is the chat to which a message belongs. What begins a topic belongs to it only in groups where everything stands
// in topics: elsewhere it was said in the chat, before it had a topic, and counted there. An event tells; a list does
// not, and then an error says that the platform cannot tell either.
func (t *topics) key(ctx context.Context, s rawMessage) (chat.Key, error) {
	key := chat.FeishuChat(s.chat)
	switch {
	case !t.on || s.thread == "":
		return key, nil
	case !wellFormed(s.thread):
		return key, fmt.Errorf("%w: its topic's id is none", errNoPlace)
	case s.first && !s.late:
		t.learn(s.chat, inTopics)
	case s.first:
		m, err := t.groupMode(ctx, s.chat)
		if err != nil || m != inTopics {
			return key, err
		}
	}
	key.Thread = s.thread
	return key, nil
}

// groupMode is how people talk in a group (page im-v1/chat/get).
func (t *topics) groupMode(ctx context.Context, chatID string) (groupMode, error) {
	t.mu.Lock()
	m := t.groups[chatID]
	t.mu.Unlock()
	if m == forbidden {
		return m, errUnknownManner
	} else if m != unasked {
		return m, nil
	}
	answer, err := t.api.Call(ctx, openapi.Request{
		Op: "ask what a group is like", Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/chats/", chatID),
	})
	switch {
	case errors.As(err, new(*openapi.Error)) && openapi.ClassOf(err) == openapi.Refused:
		t.learn(chatID, forbidden)
		return forbidden, errors.Join(errUnknownManner, err)
	case err != nil:
		return unasked, err
	}
	m = freely
	if answer.Get("data.chat_mode").String() == "topic" || answer.Get("data.group_message_type").String() == "thread" {
		m = inTopics
	}
	t.learn(chatID, m)
	return m, nil
}

// learn notes how people talk in a group.
func (t *topics) learn(chatID string, m groupMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.groups) >= maxGroups {
		clear(t.groups)
	}
	t.groups[chatID] = m
}

// shows notes where a message with buttons stands.
func (t *topics) shows(message string, key chat.Key) {
	if !t.on || message == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards.Add(strings.Clone(message), key) // it may be a part of a longer name
}

// pressWait is how long a press waits for the platform to say where its card stands.
const pressWait = 600 * time.Millisecond

var errNoPlace = errors.New("feishu: where the card stands is not known")

// of is the chat to which the card of a message belongs: a press does not tell.
func (t *topics) of(ctx context.Context, message string, in chat.Key) (chat.Key, error) {
	if !t.on {
		return in, nil
	}
	t.mu.Lock()
	key, known := t.cards.Get(message)
	t.mu.Unlock()
	if known && key.Parent() == in {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	key, err := t.lookUp(ctx, message, in)
	if err != nil {
		return in, errors.Join(errNoPlace, err)
	}
	t.shows(message, key)
	return key, nil
}

// lookUp asks the platform to which chat a message belongs. One that answers another may begin a topic anyway: when
// somebody has begun that on it later.
func (t *topics) lookUp(ctx context.Context, message string, in chat.Key) (chat.Key, error) {
	answer, err := t.api.Call(ctx, openapi.Request{
		Op: "look a card up", Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/messages/", message),
	})
	if err != nil {
		return in, err
	}
	item := answer.Get("data.items.0")
	s := rawMessage{id: message, chat: in.ID, thread: item.Get("thread_id").String(), first: item.Get("root_id").String() == "", late: true}
	if s.thread != "" && !s.first {
		topic := in
		topic.Thread = s.thread
		first, err := t.messages.firstOf(ctx, topic)
		if err != nil {
			return in, err
		}
		s.first = first == message
	}
	return t.key(ctx, s)
}

// pressed is the chat to which a pressed card belongs. A turn knows its own; what belongs to none is looked up.
func (t *topics) pressed(ctx context.Context, p chat.Press) (chat.Key, error) {
	if p.Action.Turn != 0 {
		return p.Key, nil
	}
	return t.of(ctx, p.Card, p.Key)
}

// firstOf is the message with which a topic begins.
func (ms messages) firstOf(ctx context.Context, key chat.Key) (string, error) {
	items, _, err := ms.list(ctx, listing{chat: key.ID, thread: key.Thread, most: 1})
	if err != nil {
		return "", err
	}
	if len(items) == 0 {
		return "", &openapi.Error{Op: "find a topic", Code: 231003, Msg: "the topic has no messages"}
	}
	return items[0].Get("message_id").String(), nil
}
