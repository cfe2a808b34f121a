package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

func TestOneProgramServesAnApp(t *testing.T) {
	t.Parallel()
	app := "cli_" + uuid.NewString()
	first, err := holdApp(app)
	must(t, err)
	if _, err := holdApp(app); err == nil || !strings.Contains(err.Error(), app) ||
		!strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	other, err := holdApp(app + "x")
	must(t, err)
	must(t, other.Close())
	must(t, first.Close())
	again, err := holdApp(app)
	must(t, err)
	must(t, again.Close())
}

// A program that starts its successor at once, as a restart does, leaves the app's lock free, whatever processes it
// starts meanwhile.
func TestTheLockOfAnAppIsReleased(t *testing.T) {
	app := "cli_" + uuid.NewString()
	ctx, cancel := context.WithCancel(t.Context())
	var starters sync.WaitGroup
	defer starters.Wait()
	defer cancel()
	for range 4 {
		starters.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("true").Run() // between fork and exec a child holds all open files
			}
		})
	}
	for n := range 2000 {
		hold, err := holdApp(app)
		if err != nil {
			t.Fatalf("after %d times: %v", n, err)
		}
		must(t, hold.Close())
	}
}
