package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/stream"
)

// What a session and its subagents have used after a time: each message counts once, whatever its parts, and what the
// CLI has written itself does not count.
func TestUsageSinceATime(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Millisecond)
	line := func(ago time.Duration, sub bool, model, id string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","isSidechain":%v,"timestamp":%q,"message":{"id":%q,"model":%q,`+
			`"usage":{"input_tokens":1,"output_tokens":%d,"cache_read_input_tokens":10}}}`+"\n",
			sub, now.Add(-ago).Format(time.RFC3339Nano), id, model, output)
	}
	dir, session := t.TempDir(), uuid.NewString()
	tr := Files{root: filepath.Join(t.TempDir(), "projects")}
	path, err := tr.Path(dir, session)
	if err != nil {
		t.Fatal(err)
	}
	none, err := tr.UsageSince(dir, session, now)
	if err != nil || none != nil {
		t.Errorf("without a transcript: %+v, %v", none, err)
	}
	own := filepath.Join(filepath.Dir(path), session, "subagents")
	for _, err := range []error{
		os.MkdirAll(own, 0o700),
		os.WriteFile(path, []byte(line(time.Hour, false, "large", "m1", 1000)+line(time.Second, false, "large", "m2", 2)+
			line(time.Second, false, "<synthetic>", "m3", 9)+`{"type":"assistant","mess`), 0o600),
		os.WriteFile(filepath.Join(own, "agent-a.jsonl"), []byte(line(time.Hour, true, "small", "s1", 1000)+
			line(2*time.Second, true, "small", "s2", 1)+line(time.Second, true, "small", "s2", 30)), 0o600),
		os.WriteFile(filepath.Join(own, "agent-b.jsonl"), []byte(line(0, true, "large", "s3", 4)), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	since := now.Add(-time.Minute)
	for name, tc := range map[string]struct {
		read func(string, string, time.Time) ([]ModelUsage, error)
		want []ModelUsage
	}{
		"all": {tr.UsageSince, []ModelUsage{
			{"small", stream.Usage{Input: 1, Output: 30, CacheRead: 10}}, {"large", stream.Usage{Input: 2, Output: 6, CacheRead: 20}},
		}},
		"subagents": {tr.SubagentUsageSince, []ModelUsage{
			{"small", stream.Usage{Input: 1, Output: 30, CacheRead: 10}}, {"large", stream.Usage{Input: 1, Output: 4, CacheRead: 10}},
		}},
	} {
		if got, err := tc.read(dir, session, since); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// The time of a file may be that of a tick before its last line.
	last := filepath.Join(own, "agent-b.jsonl")
	if err := os.Chtimes(last, time.Time{}, now.Add(-10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := tr.SubagentUsageSince(dir, session, now.Add(-time.Millisecond)); err != nil || len(got) != 1 {
		t.Errorf("a file that seems to be older than its last line: %+v, %v", got, err)
	}
	if got, err := tr.UsageSince(dir, session, now.Add(time.Second)); err != nil || got != nil {
		t.Errorf("later: %+v, %v", got, err)
	}
}
