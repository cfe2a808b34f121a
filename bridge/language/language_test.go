package language

import (
	"testing"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/i18n"
)

// The owner's language: what is configured, else what is known otherwise.
func TestTheLanguageOfTheOwner(t *testing.T) {
	store := deliverytest.NewStore(t)
	ls := Chooser{Chats: store.Chats(), Log: zerolog.New(zerolog.NewTestWriter(t))}
	want := func(how string, lang i18n.Lang) {
		t.Helper()
		if got := ls.OfOwner(t.Context(), "ou_1"); got != lang {
			t.Errorf("%s: %q, want %q", how, got, lang)
		}
	}
	want("nothing is known", "")
	ls.Owner = "en"
	want("of the page", i18n.English)
	ls.Fixed = "zh"
	want("configured", i18n.Chinese)
}
