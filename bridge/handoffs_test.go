package bridge

import (
	"strings"
	"testing"

	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// The admins of a further app learn neither the machine's name nor its user's.
func TestWhereaboutsAreTheOperators(t *testing.T) {
	for _, l := range []handoffs.Lease{{}, {Pid: 4711}, {Pid: 4711, Found: true}} {
		l.Node, l.Key = "the-machine", chat.FeishuChat("oc_1")
		for _, lang := range []i18n.Lang{i18n.Chinese, i18n.English} {
			own := whereabouts(l, chat.Actor{Name: "the-user"}, false).In(lang)
			if !strings.Contains(own, l.Node) {
				t.Errorf("%+v: %s", l, own)
			}
			theirs := whereabouts(l, chat.Actor{Name: "the-user"}, true).In(lang)
			for _, secret := range []string{l.Node, "the-user", "4711", "%"} {
				if strings.Contains(theirs, secret) {
					t.Errorf("%+v: a further app learns %q: %s", l, secret, theirs)
				}
			}
		}
	}
}
