package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"magpie/db"
	"magpie/internal/chat"
)

// DepartmentLookup finds the departments of a user.
type DepartmentLookup interface {
	// Departments lists the departments of a user (od_...), including parent departments.
	Departments(ctx context.Context, userID string) ([]string, error)
}

// Authorizer decides who may talk to the bot, by its Config and by decisions made in the chat.
type Authorizer struct {
	rules   atomic.Pointer[Config] // of all apps; see At
	setting sync.Mutex
	grants  db.Access
	lookup  DepartmentLookup // nil = departments are ignored
	log     zerolog.Logger
	asking  singleflight.Group
	wait    time.Duration // the longest time that a message waits for a lookup

	members *lru.Cache[string, membership] // by user
}

// membership is the result of a department lookup.
type membership struct {
	departments []string
	fetchedAt   time.Time
}

// Parameters of department lookups.
const (
	lookupWait    = 2 * time.Second  // see Authorizer.wait
	lookupTimeout = 10 * time.Second // then the next message starts another lookup
	lookupFresh   = time.Hour        // time until a refresh
	// How long a known membership stays valid while the platform does not answer.
	membershipExpiry = 24 * time.Hour
	maxMembers       = 20_000 // cache entries
)

// NewAuthorizer makes an Authorizer. wait is how long a message waits for its author's departments; 0 = the default.
func NewAuthorizer(
	a Config, grants db.Access, lookup DepartmentLookup, wait time.Duration, log zerolog.Logger,
) *Authorizer {
	g := &Authorizer{
		grants: grants, lookup: lookup, log: log, wait: cmp.Or(wait, lookupWait),
		members: newMembershipCache(maxMembers),
	}
	g.rules.Store(&a)
	return g
}

// At are the rules about a chat and its people: those of its door.
func (g *Authorizer) At(key chat.Key) Config { return g.rules.Load().at(key.Channel) }

// Denies reports whether the rules deny somebody access who is of no further app.
func (g *Authorizer) Denies(id string) bool { return slices.Contains(g.rules.Load().Deny, id) }

// doorOf is the channel of the door whose rules count at a door: its own, or that of the app without a name.
func doorOf(channel string) string {
	if chat.IsFurtherApp(channel) {
		return channel
	}
	return chat.AppChannel("")
}

// Shares reports whether a person or a chat that somebody names is one of those about whom the rules of this chat are. What
// others are called must be for him as if it did not exist.
func Shares(key chat.Key, id string) bool {
	return doorOf(key.Channel) == doorOf(chat.ChannelOf(id))
}

// RuleID is what somebody in a chat names: in those of a further app, IDs may be written as the platform does.
func RuleID(key chat.Key, id string) string { return chat.RuleID(doorOf(key.Channel), id) }

// Part is the part of all chats about which the admins in a chat may know, see [chat.PartOf].
func (g *Authorizer) Part(key chat.Key) chat.Key {
	if len(g.rules.Load().Apps) == 0 {
		return chat.Key{}
	}
	return chat.PartOf(doorOf(key.Channel))
}

// set changes the rules of one app, and leaves those of others.
func (g *Authorizer) set(channel string, a Config) {
	g.setting.Lock()
	defer g.setting.Unlock()
	all := *g.rules.Load()
	apps := maps.Clone(all.Apps)
	if chat.IsFurtherApp(channel) {
		if apps == nil {
			apps = map[string]Config{}
		}
		apps[channel], a = a, all
	}
	a.Apps = apps
	g.rules.Store(&a)
}

func newMembershipCache(size int) *lru.Cache[string, membership] {
	members, _ := lru.New[string, membership](size) // fails only for sizes below 1
	return members
}

// Decision is the result of an authorization.
type Decision int

// The decisions.
const (
	Denied   Decision = iota // denied; gets no reply
	Stranger                 // neither granted nor denied
	Admitted                 // may talk to the bot
)

// Authorize decides whether a user may talk to the bot in a chat. It fails closed: an unknown department neither grants
// access nor lifts a deny. A failed lookup is an error, so that the platform redelivers the message.
func (g *Authorizer) Authorize(ctx context.Context, key chat.Key, who chat.Actor) (Decision, error) {
	a := g.At(key)
	switch {
	case a.denies(key, who):
		return Denied, nil
	case a.IsOwner(who):
		return Admitted, nil
	case a.isStranger(key, who):
		if given, err := g.grants.Allow(ctx, who.ID, key); err != nil || !given {
			return Denied, err
		}
		return Admitted, nil
	// Only if no rule about the user or the chat applies: a lookup costs a call to the platform.
	case len(departmentsFor(who, a.Deny)) > 0:
		switch in, err := g.inDepartments(ctx, who.ID, a.Deny); {
		case err != nil && !errors.Is(err, errNoDepartments):
			return Denied, err
		case in || err != nil:
			return Denied, nil
		}
	}
	if a.allows(key, who) {
		return Admitted, nil
	}
	var unknown error
	if len(departmentsFor(who, a.Allow)) > 0 {
		in, err := g.inDepartments(ctx, who.ID, a.Allow)
		if in {
			return Admitted, nil
		}
		if !errors.Is(err, errNoDepartments) {
			unknown = err
		}
	}
	// Grants come last: they never overrule a deny.
	switch ok, err := g.grants.Allow(ctx, who.ID, key); {
	case err != nil:
		return Denied, err
	case ok:
		return Admitted, nil
	case unknown != nil:
		return Denied, unknown
	}
	return Stranger, nil
}

// departmentsFor lists the departments in a list that a user can be in: those of his door.
func departmentsFor(who chat.Actor, list []string) []string {
	door := chat.PersonKey(who.ID)
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool {
		return chat.KindOf(id) != chat.DepartmentID || !door.Owns(id)
	})
}

// inDepartments reports whether a user belongs to one of the departments in a list. An error means that this is
// unknown.
func (g *Authorizer) inDepartments(ctx context.Context, user string, list []string) (bool, error) {
	ids, err := g.departments(ctx, user)
	if err != nil {
		return false, fmt.Errorf("departments of %s: %w", user, err)
	}
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(list, id) }), nil
}

var errNoDepartments = errors.New("the platform cannot be asked for departments")

// departments returns the departments of a user. A known list is returned at once even if it is due for a refresh,
// which then continues in the background.
func (g *Authorizer) departments(ctx context.Context, user string) ([]string, error) {
	if g.lookup == nil {
		return nil, errNoDepartments
	}
	m, ok := g.members.Get(user)
	if ok && time.Since(m.fetchedAt) < lookupFresh {
		return m.departments, nil
	}
	// Messages of the same user share a lookup, which outlives the message that started it.
	answer := g.asking.DoChan(user, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		ids, err := g.lookup.Departments(ctx, user)
		if err != nil {
			g.log.Warn().Err(err).Str("user", user).Msg("departments of a user not available")
			return nil, err
		}
		g.members.Add(user, membership{ids, time.Now()})
		return ids, nil
	})
	if ok && time.Since(m.fetchedAt) < membershipExpiry {
		return m.departments, nil
	}
	patience := time.NewTimer(g.wait)
	defer patience.Stop()
	select {
	case got := <-answer:
		if got.Err != nil {
			return nil, got.Err
		}
		return got.Val.([]string), nil
	case <-patience.C:
		return nil, context.DeadlineExceeded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Control checks whether the authors of messages may talk to the bot. It handles messages that claim the bot, and those
// of strangers.
type Control struct {
	*Authorizer
	*Requests
	Owners []*Ownership // of the apps
}

// Set applies the configuration to all apps.
func (c Control) Set(a Config) {
	for _, o := range c.Owners {
		own := a
		if chat.IsFurtherApp(o.Channel) {
			own = a.Apps[o.Channel]
		}
		o.Set(own)
	}
}

// Run finds the owners of all apps.
func (c Control) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, o := range c.Owners {
		all.Go(func() { o.Run(ctx) })
	}
}

// Claim handles a message that makes its author the owner of an app. It returns false for any other message.
func (c Control) Claim(ctx context.Context, m chat.Incoming) (taken bool, err error) {
	for _, o := range c.Owners {
		if taken, err = o.claim(ctx, m); taken || err != nil {
			c.outbox.EnqueueJob(o.welcome)
			break
		}
	}
	return taken, err
}

// Admit returns [chat.ErrDenied] if the author of a message may not talk to the bot. A stranger's message counts as a
// request for access.
func (c Control) Admit(ctx context.Context, m chat.Incoming) error {
	who, err := c.Authorize(ctx, m.Key, m.Actor)
	if err == nil && who == Stranger {
		err = c.record(ctx, m)
	}
	if err == nil && who != Admitted {
		err = chat.ErrDenied
	}
	return err
}
