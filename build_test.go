package magpie_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Without a build tag or without a C compiler the program, and its tests, use the driver that always has full-text
// search. The other one has it only with the tag.
func TestTheDriverAlwaysHasFullTextSearch(t *testing.T) {
	const inC, inGo = "github.com/mattn/go-sqlite3", "modernc.org/sqlite"
	for _, tt := range []struct{ tags, cgo, want string }{
		{"", "1", inGo}, {"", "0", inGo}, {"sqlite_fts5", "1", inC}, {"fts5", "1", inC}, {"sqlite_fts5", "0", inGo},
	} {
		for _, what := range []string{"./cmd/magpie", "./db"} {
			list := exec.CommandContext(t.Context(), "go", "list", "-test", "-deps", "-tags", tt.tags, what)
			list.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "CGO_ENABLED="+tt.cgo)
			out, err := list.Output()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			packages := strings.Fields(string(out))
			has := map[string]bool{}
			for _, p := range packages {
				has[p] = true
			}
			if !has[tt.want] || has[inC] && has[inGo] {
				t.Errorf("tags %q, CGO_ENABLED=%s: %s is linked with the driver in C: %v, with that in Go: %v", tt.tags, tt.cgo,
					what, has[inC], has[inGo])
			}
		}
	}
}
