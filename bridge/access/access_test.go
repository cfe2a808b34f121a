package access

import (
	"testing"

	"magpie/internal/chat"
)

func TestAccess(t *testing.T) {
	room := chat.FeishuChat("oc_1")
	who := chat.Actor{ID: "ou_1"}
	for _, tc := range []struct {
		a    Config
		want bool
	}{
		{Config{}, false},
		{Config{Owner: "ou_1"}, true},
		{Config{Owner: "ou_2"}, false},
		{Config{Owner: "ou_2", Admins: []string{"ou_1"}}, true},
		{Config{Allow: []string{"ou_1"}}, true},
		{Config{Allow: []string{"oc_1"}}, true},
		{Config{Allow: []string{"oc_2", "ou_2"}}, false},
		{Config{Allow: []string{"*"}}, true},
	} {
		if got := tc.a.allows(room, who); got != tc.want {
			t.Errorf("%+v allows: %v", tc.a, got)
		}
	}
	if (Config{}).allows(room, chat.Actor{}) {
		t.Error("a user without an ID matches the unset owner")
	}
	if err := (Config{Admins: []string{"*"}}).Validate(); err == nil {
		t.Error("the wildcard is accepted for admins")
	}
}

// Who is denied at all doors is denied in the chats of a further app, too, whose other rules are its own.
func TestWhoIsDeniedAtAllDoors(t *testing.T) {
	t.Parallel()
	rules := Config{Deny: []string{"http:1"}, Apps: map[string]Config{"feishu-sales": {Deny: []string{"feishu-sales:ou_1"}}}}
	own, key := rules.at("feishu-sales"), chat.Key{Channel: "feishu-sales", Kind: "chat", ID: "oc_1"}
	for id, want := range map[string]bool{"http:1": true, "feishu-sales:ou_1": true, "http:2": false} {
		if got := own.denies(key, chat.Actor{ID: id}); got != want {
			t.Errorf("%s is denied: %v", id, got)
		}
	}
	if len(rules.Apps["feishu-sales"].Deny) != 1 {
		t.Error("the configuration was changed")
	}
}
