package feishu

import (
	"context"
	"net/http"
	"sync"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
)

const (
	nameWait    = 150 * time.Millisecond // how long a message waits for its author's name, if nothing else is configured
	nameTimeout = 10 * time.Second
	nameRetry   = 10 * time.Minute // before a chat is asked again for a name that it did not have
	maxPeople   = 20_000           // remembered at most
	maxAsking   = 8                // chats that are asked at the same time; the next message asks for what is missing
)

// names knows what people are called. An event does not say who its author is; the chat's members do, and mentions.
type names struct {
	api      *api
	patience time.Duration // how long a message waits for its author's name
	ask      sync.WaitGroup

	mu     sync.Mutex
	people map[string]string        // by open_id, which is the same in all chats
	chats  map[string]*conversation // that were asked
	asking int                      // chats whose answers are awaited
}

type conversation struct {
	asked time.Time
	done  chan struct{} // closed when the answer is there
}

// learn remembers a name.
func (n *names) learn(id, name string) {
	if id == "" || name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.people == nil || len(n.people) >= maxPeople {
		n.people = make(map[string]string)
	}
	n.people[id] = name
}

func (n *names) known(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.people[id]
}

// of gives the name of somebody in a chat, or nothing when it does not know it soon. It may go on asking until ctx
// is done, for the next message.
func (n *names) of(ctx context.Context, chatID, id string) string {
	name, answer := n.look(ctx, chatID, id)
	if name != "" || answer == nil {
		return name
	}
	soon := time.NewTimer(n.patience)
	defer soon.Stop()
	select {
	case <-answer:
	case <-soon.C:
	case <-ctx.Done():
	}
	return n.known(id)
}

// within gives the name of somebody in a chat, or nothing when it does not know it before ctx ends.
func (n *names) within(ctx context.Context, chatID, id string) string {
	name, answer := n.look(context.WithoutCancel(ctx), chatID, id)
	if name != "" || answer == nil {
		return name
	}
	select {
	case <-answer:
	case <-ctx.Done():
	}
	return n.known(id)
}

// look gives the name if it is known, or what to wait for.
func (n *names) look(ctx context.Context, chatID, id string) (name string, answer <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name := n.people[id]; name != "" || id == "" {
		return name, nil
	}
	c := n.chats[chatID]
	if c == nil || time.Since(c.asked) > nameRetry {
		if n.asking == maxAsking {
			return "", nil
		}
		n.asking++
		c = &conversation{asked: time.Now(), done: make(chan struct{})}
		if n.chats == nil || len(n.chats) >= maxPeople {
			n.chats = make(map[string]*conversation)
		}
		n.chats[chatID] = c
		n.ask.Go(func() {
			n.load(ctx, chatID)
			n.answered(c)
		})
	}
	return "", c.done
}

func (n *names) answered(c *conversation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asking--
	close(c.done)
}

// load asks for the members of a chat (page "List group members", im-v1/chat-members/get). An app may lack the
// permission for it; people then have no names, which is no error.
func (n *names) load(ctx context.Context, chatID string) {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	query := larkcore.QueryParams{}
	query.Set("member_id_type", "open_id")
	query.Set("page_size", "100")
	for range 10 {
		answer, err := n.api.call(ctx, request{
			op: "list the members of a chat", method: http.MethodGet,
			path: path("/open-apis/im/v1/chats/", chatID, "/members"), query: query,
		})
		if err != nil {
			return
		}
		for _, m := range answer.Get("data.items").Array() {
			n.learn(clone(m.Get("member_id")), clone(m.Get("name")))
		}
		token := answer.Get("data.page_token").String()
		if token == "" || !answer.Get("data.has_more").Bool() {
			return
		}
		query.Set("page_token", token)
	}
}

// wait returns when nothing is being asked any more.
func (n *names) wait() { n.ask.Wait() }
