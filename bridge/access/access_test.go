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
