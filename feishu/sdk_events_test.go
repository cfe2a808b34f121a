package feishu

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sdk_events.txt lists the events of the SDK in use. Fails when an update of the SDK adds some.
func TestAllEventsOfTheSDKAreHandled(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/larksuite/oapi-sdk-go/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "event", "dispatcher", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	name, want := regexp.MustCompile(`eventType2EventHandler\["([A-Za-z0-9_.]+)"\]`), []string(nil)
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(source), -1) {
			want = append(want, m[1])
		}
	}
	slices.Sort(want)
	if got := strings.Fields(sdkEvents); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("sdk_events.txt has %d events, the SDK %d", len(got), len(slices.Compact(want)))
	}
}
