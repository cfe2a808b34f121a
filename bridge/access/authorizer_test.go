package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// departments is a directory that may fail or hang.
type departments struct {
	of    map[string][]string
	err   error
	takes time.Duration
	asked int
}

func (s *departments) Departments(ctx context.Context, user string) ([]string, error) {
	s.asked++
	workqueue.Sleep(ctx, s.takes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.of[user], s.err
}

func authorizerOf(t *testing.T, a Config, s DepartmentLookup) *Authorizer {
	t.Helper()
	store := dbtest.New(t)
	// on a busy machine a call must not time out
	return NewAuthorizer(a, store.Access(), s, time.Minute, zerolog.Nop())
}

// admits reports whether somebody may talk to the bot.
func (g *Authorizer) admits(t *testing.T, who chat.Actor) bool {
	t.Helper()
	got, err := g.Authorize(t.Context(), chat.FeishuChat("oc_1"), who)
	if err != nil {
		t.Fatal(err)
	}
	return got == Admitted
}

// Each way to grant access. Denials come first, and an unknown department fails closed.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	all := map[string][]string{"ou_1": {"od_dev", "od_all"}, "ou_2": {"od_all"}}
	const unknown Decision = -1
	down := &departments{err: errors.New("down")}
	g := authorizerOf(t, Config{}, nil)
	for name, tc := range map[string]struct {
		a    Config
		s    DepartmentLookup
		who  string
		want Decision // unknown = an error
	}{
		"nobody is named":             {Config{}, nil, "ou_1", Stranger},
		"no id":                       {Config{Allow: []string{"*"}}, nil, "", Denied},
		"the owner":                   {Config{Owner: "ou_1"}, nil, "ou_1", Admitted},
		"a user":                      {Config{Allow: []string{"ou_1"}}, nil, "ou_1", Admitted},
		"a chat":                      {Config{Allow: []string{"oc_1"}}, nil, "ou_1", Admitted},
		"a denied user of a chat":     {Config{Allow: []string{"oc_1"}, Deny: []string{"ou_1"}}, nil, "ou_1", Denied},
		"a denied admin":              {Config{Admins: []string{"ou_1"}, Deny: []string{"ou_1"}}, nil, "ou_1", Denied},
		"a denied chat":               {Config{Allow: []string{"*"}, Deny: []string{"oc_1"}}, nil, "ou_1", Denied},
		"the owner in a denied chat":  {Config{Owner: "ou_1", Deny: []string{"oc_1"}}, nil, "ou_1", Denied},
		"a department":                {Config{Allow: []string{"od_dev"}}, &departments{of: all}, "ou_1", Admitted},
		"another department":          {Config{Allow: []string{"od_dev"}}, &departments{of: all}, "ou_2", Stranger},
		"a department, not told":      {Config{Allow: []string{"od_dev"}}, down, "ou_1", unknown},
		"a department, nobody to ask": {Config{Allow: []string{"od_dev"}}, nil, "ou_1", Stranger},
		"a denied department": {Config{Allow: []string{"*"}, Deny: []string{"od_dev"}}, &departments{of: all},
			"ou_1", Denied},
		"not a denied department": {Config{Allow: []string{"*"}, Deny: []string{"od_dev"}}, &departments{of: all},
			"ou_2", Admitted},
		"a denied department, not told":  {Config{Allow: []string{"*"}, Deny: []string{"od_dev"}}, down, "ou_2", unknown},
		"the owner, departments unknown": {Config{Owner: "ou_1", Deny: []string{"od_dev"}}, down, "ou_1", Admitted},
		"a user, departments unknown":    {Config{Allow: []string{"od_dev", "ou_1"}}, down, "ou_1", Admitted},
		"denied, nobody to ask":          {Config{Allow: []string{"*"}, Deny: []string{"od_dev"}}, nil, "ou_1", Denied},
		"both, in both": {Config{Allow: []string{"od_all"}, Deny: []string{"od_dev"}},
			&departments{of: all}, "ou_1", Denied},
		"an admin of a denied one": {Config{Admins: []string{"ou_1"}, Deny: []string{"od_dev"}},
			&departments{of: all}, "ou_1", Denied},
	} {
		g.lookup = tc.s
		g.members = newMembershipCache(maxMembers)
		g.rules.Store(&tc.a)
		got, err := g.Authorize(t.Context(), chat.FeishuChat("oc_1"), chat.Actor{ID: tc.who})
		if tc.want == unknown {
			if got == Admitted || !errors.Is(err, down.err) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		} else if got != tc.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}

func TestAccessGrantedInAChat(t *testing.T) {
	t.Parallel()
	g := authorizerOf(t, Config{Owner: "ou_boss"}, nil)
	who := chat.Actor{ID: "ou_1"}
	if _, err := g.grants.RequestAccess(t.Context(), db.Grant{Subject: who.ID, Key: chat.FeishuChat("oc_1")}); err != nil {
		t.Fatal(err)
	}
	if g.admits(t, who) {
		t.Error("a request grants access")
	}
	if err := g.grants.DecideGrant(t.Context(), who.ID, true, "ou_boss"); err != nil {
		t.Fatal(err)
	}
	if !g.admits(t, who) || g.rules.Load().IsAdmin(who) {
		t.Error("a grant has no effect, or a wider one")
	}
	g.rules.Store(&Config{Owner: "ou_boss", Deny: []string{"ou_1"}})
	if g.admits(t, who) {
		t.Error("the configuration does not take precedence")
	}
}

// A grant from a chat is valid even while the platform cannot look up departments.
func TestAccessGrantedInAChatNeedsNoDepartment(t *testing.T) {
	t.Parallel()
	g := authorizerOf(t, Config{Owner: "ou_boss", Allow: []string{"od_dev"}}, &departments{err: errors.New("down")})
	if _, err := g.grants.RequestAccess(t.Context(), db.Grant{Subject: "ou_1", Key: chat.FeishuChat("oc_1")}); err != nil {
		t.Fatal(err)
	}
	if err := g.grants.DecideGrant(t.Context(), "ou_1", true, "ou_boss"); err != nil {
		t.Fatal(err)
	}
	if got, err := g.Authorize(t.Context(), chat.FeishuChat("oc_1"), chat.Actor{ID: "ou_1"}); got != Admitted ||
		err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// Departments are looked up once an hour, without a delay for known people. While the platform fails, cached ones are
// valid for a day.
func TestDepartmentsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &departments{of: map[string][]string{"ou_1": {"od_dev"}}}
		g := &Authorizer{lookup: s, log: zerolog.Nop(), wait: lookupWait, members: newMembershipCache(maxMembers)}
		within := func() (in bool, took time.Duration, err error) {
			began := time.Now()
			in, err = g.inDepartments(t.Context(), "ou_1", []string{"od_dev"})
			return in, time.Since(began), err
		}
		for range 5 {
			if in, _, err := within(); !in || err != nil {
				t.Fatalf("%v, %v", in, err)
			}
		}
		synctest.Wait()
		if s.asked != 1 {
			t.Errorf("asked %d times", s.asked)
		}
		time.Sleep(lookupFresh + time.Second)
		s.takes = lookupTimeout / 2
		if in, took, err := within(); !in || err != nil || took != 0 {
			t.Errorf("known an hour ago: %v, %v after %v", in, err, took)
		}
		time.Sleep(s.takes)
		synctest.Wait()
		_, _, _ = within()
		synctest.Wait()
		if s.asked != 2 {
			t.Errorf("asked %d times, the second time in passing", s.asked)
		}
		time.Sleep(lookupFresh + time.Second)
		s.takes, s.err = 0, errors.New("down")
		if in, _, err := within(); !in || err != nil {
			t.Errorf("departments from an hour ago are not cached: %v", err)
		}
		synctest.Wait()
		time.Sleep(membershipExpiry)
		if in, _, err := within(); in || !errors.Is(err, s.err) {
			t.Errorf("departments from a day ago are used: %v", err)
		}
		s.err, s.takes = nil, time.Minute
		if in, took, err := within(); in || err == nil || took != lookupWait {
			t.Errorf("a result before the response: %v, %v after %v", in, err, took)
		}
		time.Sleep(lookupTimeout) // on the bubble's clock: the call times out
	})
}

func TestAccessSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, a := range []Config{{Admins: []string{"*"}}, {Deny: []string{"tom"}}, {Deny: []string{"*"}},
		{Owner: "ou_1", Deny: []string{"ou_1"}}} {
		if a.Validate() == nil {
			t.Errorf("%+v is fine", a)
		}
	}
	if err := (Config{Owner: "ou_1", Allow: []string{"*"},
		Deny: []string{"ou_2", "oc_1", "od_1"}}).Validate(); err != nil {
		t.Error(err)
	}
}

// A full cache evicts the person who was inactive for longest, not everybody.
func TestAFullCacheKeepsTheActive(t *testing.T) {
	t.Parallel()
	g := &Authorizer{members: newMembershipCache(2)}
	g.members.Add("ou_1", membership{})
	g.members.Add("ou_2", membership{})
	g.members.Get("ou_1")
	g.members.Add("ou_3", membership{})
	if _, ok := g.members.Get("ou_1"); !ok {
		t.Error("an active person was evicted")
	}
	if _, ok := g.members.Get("ou_2"); ok {
		t.Error("the cache exceeds its size")
	}
}
