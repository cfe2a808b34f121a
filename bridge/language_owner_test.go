package bridge

import (
	"testing"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/i18n"
)

// The owner's language: what is configured, else what is known otherwise.
func TestTheLanguageOfTheOwner(t *testing.T) {
	store := deliverytest.NewStore(t)
	cfg := &Config{}
	ls := languages{cfg, store.Chats(), zerolog.New(zerolog.NewTestWriter(t))}
	want := func(how string, lang i18n.Lang) {
		t.Helper()
		if got := ls.ofOwner(t.Context(), "ou_1"); got != lang {
			t.Errorf("%s: %q, want %q", how, got, lang)
		}
	}
	want("nothing is known", "")
	cfg.OwnerLang = "en"
	want("of the page", i18n.English)
	cfg.Lang = "zh"
	want("configured", i18n.Chinese)
}
