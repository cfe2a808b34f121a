package feishu

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"magpie/feishu/openapi"
)

const (
	nameWait       = 150 * time.Millisecond // default of [Config.NameWait]
	nameTimeout    = 10 * time.Second
	nameRetry      = 10 * time.Minute // before a chat's members are listed again for the same person
	nameAgain      = time.Minute      // between two lists of the same chat for different people, after
	nameBurst      = 3                // lists without a pause: several people may join together
	maxPeople      = 20_000           // in the cache
	maxMemberPages = 10               // of one chat, a hundred members each
	maxAsking      = 8                // concurrent lists; a later message triggers what was skipped
)

// names is a cache of people's names. A message event does not contain its author's name, so names come from lists of
// the chat's members and from mentions.
type names struct {
	api      *openapi.Client
	patience time.Duration // how long a message waits for its author's name
	calls    sync.WaitGroup

	mu          sync.Mutex
	people      *simplelru.LRU[string, string]       // by open_id, which is the same in all chats
	unpublished map[string]string                    // the part of people that the handler does not have yet
	chats       *simplelru.LRU[string, *memberQuery] // whose members were listed
	inFlight    int                                  // running lists
	onNames     func(ctx context.Context, names map[string]string) error
}

func newNames(api *openapi.Client, patience time.Duration) *names {
	n := &names{api: api, patience: patience, unpublished: make(map[string]string)}
	// Evicted names need not be published. The caller of Add holds mu.
	n.people, _ = simplelru.NewLRU(maxPeople, func(id, _ string) { delete(n.unpublished, id) }) // fails below 1 only
	n.chats, _ = simplelru.NewLRU[string, *memberQuery](maxPeople, nil)
	return n
}

// memberQuery is the last list of a chat's members.
type memberQuery struct {
	since  time.Time
	wanted map[string]bool // the people for whom it was made
	again  *rate.Limiter
	done   chan struct{} // closed when the latest list is complete
}

func (c *memberQuery) isAnswered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// learn stores a name.
func (n *names) learn(id, name string) {
	if id == "" || name == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, _ := n.people.Get(id); known == name {
		return
	}
	n.people.Add(id, name)
	n.unpublished[id] = name
}

// publish passes new names to the handler: messages of these people may be stored without a name. After an error the
// names are kept for the next time.
func (n *names) publish(ctx context.Context) {
	n.mu.Lock()
	tell, news := n.onNames, n.unpublished
	if tell == nil || len(news) == 0 {
		n.mu.Unlock()
		return
	}
	n.unpublished = make(map[string]string)
	n.mu.Unlock()
	err := tell(ctx, news)
	if err == nil {
		return
	}
	if ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("feishu: names not stored; trying again with the next ones")
	}
	// Names that were learned meanwhile are newer, so they overwrite the ones that failed.
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.Copy(news, n.unpublished)
	n.unpublished = news
}

// cached returns a cached name.
func (n *names) cached(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, _ := n.people.Get(id)
	return name
}

// lookUp returns the name of a member of a chat, or "" if it is not known soon. The lookup may continue until ctx is
// done, for the next message.
func (n *names) lookUp(ctx context.Context, chatID, id string) string {
	name, answer := n.requestName(ctx, chatID, id)
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
	return n.cached(id)
}

// lookUpWithin returns the name of a member of a chat, or "" if it is not known before ctx ends.
func (n *names) lookUpWithin(ctx context.Context, chatID, id string) string {
	name, answer := n.requestName(context.WithoutCancel(ctx), chatID, id)
	if name != "" || answer == nil {
		return name
	}
	select {
	case <-answer:
	case <-ctx.Done():
	}
	return n.cached(id)
}

// requestName returns the name if it is known. Otherwise it starts a list of the chat's members, if one is due, and
// returns a channel that is closed when the list is complete.
func (n *names) requestName(ctx context.Context, chatID, id string) (name string, answer <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.people.Get(id); ok || id == "" {
		return name, nil
	}
	c, _ := n.chats.Get(chatID)
	switch {
	case n.inFlight == maxAsking && (c == nil || c.isAnswered()):
		return "", nil
	case c == nil || c.isAnswered() && time.Since(c.since) > nameRetry:
		c = &memberQuery{
			since: time.Now(), wanted: make(map[string]bool), again: rate.NewLimiter(rate.Every(nameAgain), nameBurst),
		}
		n.chats.Add(chatID, c)
	case !c.isAnswered() || c.wanted[id] || !c.again.Allow():
		return "", c.done
	} // otherwise somebody may have joined since the last list
	c.wanted[id], c.done = true, make(chan struct{})
	n.inFlight++
	done := c.done
	n.calls.Go(func() {
		n.finish(c, done, n.fetchMembers(ctx, chatID))
		n.publish(ctx)
	})
	return "", done
}

// finish completes a list of members. After an error other than a refusal the same people may be looked up again.
func (n *names) finish(c *memberQuery, done chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inFlight--
	close(done)
	if err != nil && openapi.ClassOf(err) != openapi.Refused {
		clear(c.wanted) // a temporary error: the next message may retry
	}
}

// fetchMembers lists the members of a chat (page "List group members", im-v1/chat-members/get). If the app lacks the
// permission, people have no names.
func (n *names) fetchMembers(ctx context.Context, chatID string) error {
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
		if asked++; asked == maxMemberPages {
			break
		}
	}
	return nil
}

// setListener sets the function that gets new names from now on.
func (n *names) setListener(tell func(ctx context.Context, names map[string]string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onNames = tell
}

// wait returns when no list is running any more.
func (n *names) wait() { n.calls.Wait() }
