package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/configtype"
)

func TestChangedKeys(t *testing.T) {
	a := Defaults()
	b := a
	if got := changedKeys(a, b); got != nil {
		t.Errorf("without a change: %v", got)
	}
	b.Shutdown = configtype.Duration{Duration: time.Hour}
	b.Claude.Environ = []string{"A=b"}
	b.Claude.AllowedTools = []string{"Read"}
	b.HTTP.Listen = ":1"
	want := []string{"[claude] allowed_tools", "[http] listen", "shutdown_timeout"}
	if got := changedKeys(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
	known := map[string]bool{}
	sections := reflect.TypeFor[Config]()
	for i := range sections.NumField() {
		for s, j := sections.Field(i), 0; s.Type.Kind() == reflect.Struct && j < s.Type.NumField(); j++ {
			known["["+s.Tag.Get("toml")+"] "+s.Type.Field(j).Tag.Get("toml")] = true
		}
	}
	for _, key := range reloadable {
		if !known[key] {
			t.Errorf("there is no key %s", key)
		}
	}
	for key := range known { // these sections are applied as a whole
		whole := strings.HasPrefix(key, "[access]") || strings.HasPrefix(key, "[budget]")
		if whole && !strings.HasSuffix(key, " -") && !slices.Contains(reloadable, key) {
			t.Errorf("%s takes effect at once, but the page says otherwise", key)
		}
	}
}

// After a reload, applied keys have the new value, keys that need a restart have the old one.
func TestReload(t *testing.T) {
	old := Defaults()
	next := old
	next.Access.Owner, next.Budget.TurnUSD, next.Log.Level = "ou_1", 1, "debug"
	next.Log.Format, next.HTTP.Listen = "console", ":1"
	got, applied, later := old.Reload(next)
	if want := []string{"[access] owner", "[budget] turn_usd", "[log] level"}; !reflect.DeepEqual(applied, want) {
		t.Errorf("applied: %v, want %v", applied, want)
	}
	if want := []string{"[http] listen", "[log] format"}; !reflect.DeepEqual(later, want) {
		t.Errorf("left for a restart: %v, want %v", later, want)
	}
	want := next
	want.Log.Format, want.HTTP.Listen = old.Log.Format, old.HTTP.Listen
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the configuration is %+v, want %+v", got, want)
	}
}
