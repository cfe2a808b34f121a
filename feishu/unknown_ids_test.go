package feishu

import (
	"slices"
	"testing"

	"magpie/internal/feishusim"
)

// An ID is unknown only if the platform says so, not if the app may not look it up or if it is of another kind.
func TestUnknownIDs(t *testing.T) {
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close() //nolint:errcheck // closing is not part of this test
	cfg := Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}
	ann := sim.AddUser("Ann")
	group := sim.Group("team", ann)
	ids := []string{ann.OpenID, "ou_typo", group, "oc_typo", "od_typo", "*", ""}
	look := func(what string, want ...string) {
		t.Helper()
		if got := UnknownIDs(t.Context(), cfg, ids); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	look("typos", "ou_typo", "oc_typo")
	sim.RemoveBot(group, ann)
	look("a group that the bot is not in", "ou_typo", "oc_typo")
	remove := sim.Inject(feishusim.Fault{
		Method: "POST", Path: "/open-apis/application/v6/", Code: 99992361, Msg: "open_id cross app",
	})
	look("another app's ids", ann.OpenID, "ou_typo", "oc_typo")
	remove()
	sim.TakeScopes("application:application:self_manage", "im:chat:read")
	look("an app without the permissions")
}
