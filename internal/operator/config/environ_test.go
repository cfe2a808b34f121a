package config

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Private variables are read, and removed from the environment that child processes inherit.
func TestPrivateVariablesAreTakenOutOfTheEnvironment(t *testing.T) {
	private := []string{"MAGPIE_FEISHU_APP_SECRET", "MAGPIE_DB_URL", "SOME_API_KEY", "GITHUB_TOKEN"}
	for _, name := range append(private, "MYMAGPIE") {
		t.Setenv(name, "canary")
	}
	before := os.Environ()
	t.Cleanup(func() { // restore the environment for other tests
		for _, kv := range before {
			name, value, _ := strings.Cut(kv, "=")
			if _, there := os.LookupEnv(name); !there && !slices.Contains(private, name) {
				if err := os.Setenv(name, value); err != nil {
					t.Error(err)
				}
			}
		}
	})
	taken, err := TakeEnviron()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range private {
		if _, left := os.LookupEnv(name); left || !slices.Contains(taken, name+"=canary") {
			t.Errorf("%s remains: %v, read: %v", name, left, slices.Contains(taken, name+"=canary"))
		}
	}
	if os.Getenv("MYMAGPIE") != "canary" {
		t.Error("a variable that is not private was removed")
	}
}
