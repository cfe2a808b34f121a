package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/rs/zerolog"
	"golang.org/x/sync/singleflight"

	"magpie/db"
	"magpie/internal/chat"
)

// DepartmentLookup tells to which departments somebody belongs.
type DepartmentLookup interface {
	// Departments lists the departments of a user (od_...), those above them included.
	Departments(ctx context.Context, userID string) ([]string, error)
}

// Authorizer decides who may talk to the bot: by the configuration, which is its pointer, and by what was decided in
// the chat.
type Authorizer struct {
	atomic.Pointer[Config]
	grants db.Grants
	lookup DepartmentLookup // nil = nothing is known of departments
	log    zerolog.Logger
	asking singleflight.Group
	wait   time.Duration // that a message waits for what is not known, at most

	mu      sync.Mutex
	members *simplelru.LRU[string, membership] // by user
}

// membership is what was found out about somebody's departments.
type membership struct {
	departments []string
	asked       time.Time
}

// How departments are asked for.
const (
	lookupWait    = 2 * time.Second  // see authorizer.wait
	lookupTimeout = 10 * time.Second // after which the next message asks again
	lookupFresh   = time.Hour        // until it is asked again
	// How long a known membership is valid while the platform does not answer.
	membershipExpiry = 24 * time.Hour
	maxMembers       = 20_000 // in the cache
)

// NewAuthorizer makes an authorizer. wait is how long a message waits for the departments of its
// author; 0 is the default.
func NewAuthorizer(
	a Config, grants db.Grants, lookup DepartmentLookup, wait time.Duration, log zerolog.Logger,
) *Authorizer {
	g := &Authorizer{
		grants: grants, lookup: lookup, log: log, wait: cmp.Or(wait, lookupWait), members: newMembers(maxMembers),
	}
	g.Store(&a)
	return g
}

func newMembers(size int) *simplelru.LRU[string, membership] {
	members, _ := simplelru.NewLRU[string, membership](size, nil) // fails for sizes below 1 only
	return members
}

// Decision is what the authorizer says of somebody.
type Decision int

// The verdicts.
const (
	Denied   Decision = iota // is not even answered
	Stranger                 // nobody has said anything about him
	Admitted                 // may talk
)

// Authorize decides whether somebody may talk to the bot in a chat. It fails closed: an unknown department neither
// grants access nor lifts a deny. A failed lookup is an error, because the platform delivers the message again.
func (g *Authorizer) Authorize(ctx context.Context, key chat.Key, who chat.Actor) (Decision, error) {
	a := g.Load()
	switch {
	case a.denies(key, who):
		return Denied, nil
	case who.ID == a.Owner:
		return Admitted, nil
	// Only if no rule about the user or the chat has decided: a lookup costs a call to the platform.
	case mentions(a.Deny, department):
		switch in, err := g.within(ctx, who.ID, a.Deny); {
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
	if mentions(a.Allow, department) {
		in, err := g.within(ctx, who.ID, a.Allow)
		if in {
			return Admitted, nil
		}
		if !errors.Is(err, errNoDepartments) {
			unknown = err
		}
	}
	// Grants come last: they never overrule a deny.
	switch ok, err := g.grants.Allow(ctx, who.ID, key.ID); {
	case err != nil:
		return Denied, err
	case ok:
		return Admitted, nil
	case unknown != nil:
		return Denied, unknown
	}
	return Stranger, nil
}

func mentions(list []string, kind string) bool {
	return slices.ContainsFunc(list, func(id string) bool { return strings.HasPrefix(id, kind) })
}

// within reports whether somebody belongs to one of the departments in a list. An error says that it is not known.
func (g *Authorizer) within(ctx context.Context, user string, list []string) (bool, error) {
	ids, err := g.departments(ctx, user)
	if err != nil {
		return false, fmt.Errorf("departments of %s: %w", user, err)
	}
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(list, id) }), nil
}

var errNoDepartments = errors.New("the platform cannot be asked for departments")

// departments returns the departments of a user. A known list is returned at once even if it is due for
// a refresh, which then goes on in the background.
func (g *Authorizer) departments(ctx context.Context, user string) ([]string, error) {
	if g.lookup == nil {
		return nil, errNoDepartments
	}
	m, ok := g.remembered(user)
	if ok && time.Since(m.asked) < lookupFresh {
		return m.departments, nil
	}
	// Several messages of one user share a lookup; it outlives the message that started it.
	answer := g.asking.DoChan(user, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		ids, err := g.lookup.Departments(ctx, user)
		if err != nil {
			g.log.Warn().Err(err).Str("user", user).Msg("departments of a user not available")
			return nil, err
		}
		g.remember(user, ids)
		return ids, nil
	})
	if ok && time.Since(m.asked) < membershipExpiry {
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

func (g *Authorizer) remembered(user string) (membership, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members.Get(user)
}

func (g *Authorizer) remember(user string, ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members.Add(user, membership{ids, time.Now()})
}
