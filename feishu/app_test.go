package feishu

import (
	"net/http"
	"testing"

	"magpie/internal/feishusim"
)

// The platform names an app's owner in several ways. An empty list of events does not prove that none is subscribed.
func TestAppFromThePlatform(t *testing.T) {
	const members = `"creator_id":"ou_creator","callback":{"subscribed_callbacks":["card.action.trigger"]}`
	for name, tc := range map[string]struct {
		app   string
		owner string
		deaf  bool
	}{
		"type":           {`"owner":{"type":2,"owner_id":"ou_owner"},"event":{"subscribed_events":["im.message.receive_v1"]},` + members, "ou_owner", false},
		"owner_type":     {`"owner":{"owner_type":2,"owner_id":"ou_owner"},"event":{"subscribed_events":["x"]},` + members, "ou_owner", true},
		"a company":      {`"owner":{"owner_type":1,"owner_id":"ou_company"},"event":{"subscribed_events":[]},` + members, "ou_creator", false},
		"nobody":         {members, "ou_creator", false},
		"without events": {`"event":{},` + members, "ou_creator", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{})
			p.Inject(feishusim.Fault{
				Path: "/open-apis/application/v6/applications/*", Status: http.StatusOK,
				Body: `{"code":0,"data":{"app":{` + tc.app + `}}}`,
			})
			app, err := fetchApp(t.Context(), p.api, "cli_1")
			p.must(err)
			if app.Owner != tc.owner || app.Missing().LacksMessageEvent() != tc.deaf {
				t.Errorf("owner %q, deaf %v", app.Owner, app.Missing().LacksMessageEvent())
			}
		})
	}
}
