package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/db/sqlite"
)

// A process is killed while 8 goroutines store messages: every acknowledged message is in the database.
func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 10, 300} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			path := dbtest.Create(t)
			other := startHelper(t, "accept", path)
			var acknowledged []string
			for {
				line, err := other.out.ReadString('\n')
				if err != nil { // the killed process's output has ended
					break
				}
				acknowledged = append(acknowledged, strings.TrimSpace(line))
				if len(acknowledged) == after {
					if err := other.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if len(acknowledged) < after {
				t.Fatalf("it acknowledged %d messages", len(acknowledged))
			}
			other.end() // its locks are released slightly after its output ends
			if !sqlite.HasLog(path) {
				t.Error("the database was closed properly, not killed")
			}
			d := open(t, path)
			for _, id := range acknowledged {
				if a := accept(t, d, say(id, "x")); a.Fresh {
					t.Fatalf("%s is lost", id)
				}
			}
			if err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
