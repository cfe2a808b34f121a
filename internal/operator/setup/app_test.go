package setup

import (
	"testing"

	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// The app's host is detected when none is given.
func TestSetupFindsTheHost(t *testing.T) {
	t.Parallel()
	start := func() *feishusim.Server {
		sim, err := feishusim.Start(feishusim.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := sim.Close(); err != nil {
				t.Error(err)
			}
		})
		return sim
	}
	feishu, lark := start(), start()
	c := config.Defaults().Feishu
	c.AppID, c.AppSecret = lark.AppID(), lark.AppSecret()
	if got := findHost(t.Context(), c, []string{feishu.URL(), lark.URL()}); got.BaseURL != lark.URL() {
		t.Errorf("an app of the second host is searched for at %s", got.BaseURL)
	}
	c.AppSecret = "wrong"
	if got := findHost(t.Context(), c, []string{feishu.URL(), lark.URL()}); got.BaseURL != feishu.URL() {
		t.Errorf("an app without a host is searched for at %s", got.BaseURL)
	}
}
