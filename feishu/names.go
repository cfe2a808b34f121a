package feishu

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"magpie/feishu/openapi"
)

const (
	nameWait        = 150 * time.Millisecond // how long a message waits for its author's name, if nothing else is configured
	nameTimeout     = 10 * time.Second
	nameRetry       = 10 * time.Minute // before a chat is asked again for a name that it did not have
	nameAgain       = time.Minute      // before a chat is asked once more for the name of somebody else, after
	nameBurst       = 3                // times at which it may be asked sooner: people who join a chat are several
	maxPeople       = 20_000           // remembered at most
	mostMemberPages = 10               // of one chat that are asked for, a hundred members each
	maxAsking       = 8                // chats that are asked at the same time; the next message asks for what is missing
)

// names knows what people are called. An event does not say who its author is; the chat's members do, and mentions.
type names struct {
	api      *openapi.Client
	patience time.Duration // how long a message waits for its author's name
	ask      sync.WaitGroup

	mu     sync.Mutex
	people map[string]string        // by open_id, which is the same in all chats
	news   map[string]string        // of people, what the handler has not been told
	chats  map[string]*conversation // that were asked
	asking int                      // chats whose answers are awaited
	tell   func(ctx context.Context, names map[string]string) error
}

// conversation is a chat that was asked for its members.
type conversation struct {
	since  time.Time
	sought map[string]bool // for whom it was asked
	again  *rate.Limiter
	done   chan struct{} // closed when the latest answer is there
}

func (c *conversation) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// learn remembers a name.
func (n *names) learn(id, name string) {
	if id == "" || name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.people[id] == name {
		return
	}
	if n.people == nil || len(n.people) >= maxPeople {
		n.people, n.news = make(map[string]string), make(map[string]string)
	}
	n.people[id], n.news[id] = name, name
}

// pass tells the handler what people are called: messages of theirs may be stored without a name.
func (n *names) pass(ctx context.Context) {
	n.mu.Lock()
	tell, news := n.tell, n.news
	if tell == nil || len(news) == 0 {
		n.mu.Unlock()
		return
	}
	n.news = make(map[string]string)
	n.mu.Unlock()
	err := tell(ctx, news)
	if err == nil {
		return
	}
	if ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("feishu: names are not stored; trying again with the next ones")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.Copy(news, n.news)
	n.news = news
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
	switch {
	case n.asking == maxAsking && (c == nil || c.answered()):
		return "", nil
	case c == nil || c.answered() && time.Since(c.since) > nameRetry:
		if n.chats == nil || len(n.chats) >= maxPeople {
			n.chats = make(map[string]*conversation)
		}
		c = &conversation{since: time.Now(), sought: make(map[string]bool), again: rate.NewLimiter(rate.Every(nameAgain), nameBurst)}
		n.chats[chatID] = c
	case !c.answered() || c.sought[id] || !c.again.Allow():
		return "", c.done
	} // else somebody has joined since
	c.sought[id], c.done = true, make(chan struct{})
	n.asking++
	done := c.done
	n.ask.Go(func() {
		n.answered(c, done, n.load(ctx, chatID))
		n.pass(ctx)
	})
	return "", done
}

func (n *names) answered(c *conversation, done chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asking--
	close(done)
	if err != nil && openapi.ClassOf(err) != openapi.Refused {
		clear(c.sought) // it may be told soon
	}
}

// load asks for the members of a chat (page "List group members", im-v1/chat-members/get). An app may lack the
// permission for it; people then have no names, which is no error.
func (n *names) load(ctx context.Context, chatID string) error {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	query := larkcore.QueryParams{}
	query.Set("member_id_type", "open_id")
	query.Set("page_size", "100")
	r := openapi.Request{
		Op: "list the members of a chat", Method: http.MethodGet,
		Path: openapi.Path("/open-apis/im/v1/chats/", chatID, "/members"), Query: query,
	}
	asked := 0
	for page, err := range n.api.Pages(ctx, r) {
		if err != nil {
			return err
		}
		for _, m := range page.Get("data.items").Array() {
			n.learn(openapi.String(m.Get("member_id")), openapi.String(m.Get("name")))
		}
		if asked++; asked == mostMemberPages {
			break
		}
	}
	return nil
}

// listen has the names told to somebody from now on.
func (n *names) listen(tell func(ctx context.Context, names map[string]string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
}

// wait returns when nothing is being asked any more.
func (n *names) wait() { n.ask.Wait() }
