package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// topics finds out which messages belong to a topic that is a chat of its own.
type topics struct {
	api      *openapi.Client
	messages messages
	enabled  bool
	timeout  time.Duration // for the lookup of a pressed card's chat

	groups *lru.Cache[string, groupMode]
	cards  *lru.Cache[string, chat.Key] // chats of messages with buttons
}

// groupMode says where the messages of a group are: in the chat, or all in topics.
type groupMode int

const (
	modeUnknown groupMode = iota
	modeChat              // messages in the chat; some start a topic
	modeTopics            // every message belongs to a topic
	modeHidden            // the app lacks the permission
)

// errUnknownGroupMode means that the chat of a message is unknown.
var errUnknownGroupMode = errors.New("feishu: how people talk in the group is not known")

// Sizes of the caches; dropped entries are fetched again.
const (
	maxGroups = 10_000
	maxCards  = 1000
)

func newTopicCache(ms messages, on bool, patience time.Duration) *topics {
	cards, _ := lru.New[string, chat.Key](maxCards) // fails only for sizes below 1
	groups, _ := lru.New[string, groupMode](maxGroups)
	return &topics{api: ms.api, messages: ms, enabled: on, timeout: patience, groups: groups, cards: cards}
}

// chatOf returns the chat of a message. A topic's first message belongs to the topic only in groups where every message
// is in a topic. Elsewhere it was written in the chat before the topic existed, and belongs there. The event of a new
// message shows this by itself; for one of a list, and for an edited one, the group's mode is needed, and an error means
// that it is unknown.
func (t *topics) chatOf(ctx context.Context, s rawMessage) (chat.Key, error) {
	key := chat.FeishuChat(s.chat)
	switch {
	case !t.enabled:
		return key, nil
	case s.thread == "":
		if !s.fromList && !s.edited {
			t.forgetTopics(s.chat)
		}
		return key, nil
	case !wellFormed(s.thread):
		return key, fmt.Errorf("%w: its topic's id is none", errUnknownChat)
	case s.startsTopic && !s.fromList && !s.edited:
		t.groups.Add(s.chat, modeTopics)
	case s.startsTopic:
		m, err := t.groupMode(ctx, s.chat)
		if err != nil || m != modeTopics {
			return key, err
		}
	}
	key.Thread = s.thread
	return key, nil
}

// groupMode returns a group's mode (page im-v1/chat/get).
func (t *topics) groupMode(ctx context.Context, chatID string) (groupMode, error) {
	m, _ := t.groups.Get(chatID)
	if m == modeHidden {
		return m, errUnknownGroupMode
	} else if m != modeUnknown {
		return m, nil
	}
	answer, err := t.api.Call(ctx, openapi.Request{
		Op: "ask what a group is like", Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/chats/", chatID),
	})
	switch {
	case errors.As(err, new(*openapi.Error)) && openapi.ClassOf(err) == openapi.Refused:
		t.groups.Add(chatID, modeHidden)
		return modeHidden, errors.Join(errUnknownGroupMode, err)
	case err != nil:
		return modeUnknown, err
	}
	m = modeChat
	if answer.Get("data.chat_mode").String() == "topic" || answer.Get("data.group_message_type").String() == "thread" {
		m = modeTopics
	}
	t.groups.Add(chatID, m)
	return m, nil
}

// forgetTopics forgets that all messages of a group are in topics: one that is not has just been written.
func (t *topics) forgetTopics(chatID string) {
	if m, _ := t.groups.Peek(chatID); m == modeTopics {
		t.groups.Remove(chatID)
	}
}

// rememberCard caches the chat of a message with buttons.
func (t *topics) rememberCard(message string, key chat.Key) {
	if !t.enabled || message == "" {
		return
	}
	t.cards.Add(strings.Clone(message), key) // message may be a slice of a longer string, which would stay in memory
}

// pressWait limits the lookup of a pressed card's chat: the user who pressed is waiting.
const pressWait = 600 * time.Millisecond

// errUnknownChat means that the chat of a card was not found, so a press on it cannot be handled.
var errUnknownChat = errors.New("feishu: the chat of the card is not known")

// chatOfCard returns the chat of a message's card: the event of a press does not contain the topic.
func (t *topics) chatOfCard(ctx context.Context, message string, in chat.Key) (chat.Key, error) {
	if !t.enabled {
		return in, nil
	}
	key, known := t.cards.Get(message)
	if known && key.Parent() == in {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	key, err := t.fetchChatOfCard(ctx, message, in)
	if err != nil {
		return in, errors.Join(errUnknownChat, err)
	}
	t.rememberCard(message, key)
	return key, nil
}

// fetchChatOfCard asks the platform for the chat of a message. A message that replies to another one may still be the
// first of a topic, if somebody started a topic on it later.
func (t *topics) fetchChatOfCard(ctx context.Context, message string, in chat.Key) (chat.Key, error) {
	answer, err := t.api.Call(ctx, openapi.Request{
		Op: "look a card up", Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/messages/", message),
	})
	if err != nil {
		return in, err
	}
	item := answer.Get("data.items.0")
	s := rawMessage{
		id: message, chat: in.ID, thread: item.Get("thread_id").String(),
		startsTopic: item.Get("root_id").String() == "", fromList: true,
	}
	if s.thread != "" && !s.startsTopic {
		topic := in
		topic.Thread = s.thread
		first, err := t.messages.firstOfTopic(ctx, topic)
		if err != nil {
			return in, err
		}
		s.startsTopic = first == message
	}
	return t.chatOf(ctx, s)
}

// chatOfPress returns the chat of a pressed card. A turn knows its own chat; other cards are looked up.
func (t *topics) chatOfPress(ctx context.Context, p chat.Press) (chat.Key, error) {
	if p.Action.Turn != 0 {
		return p.Key, nil
	}
	return t.chatOfCard(ctx, p.Card, p.Key)
}

// firstOfTopic returns the id of a topic's first message.
func (ms messages) firstOfTopic(ctx context.Context, key chat.Key) (string, error) {
	items, _, err := ms.list(ctx, listQuery{chat: key.ID, thread: key.Thread, limit: 1})
	if err != nil {
		return "", err
	}
	if len(items) == 0 {
		return "", &openapi.Error{Op: "find a topic", Code: 231003, Msg: "the topic has no messages"}
	}
	return items[0].Get("message_id").String(), nil
}
