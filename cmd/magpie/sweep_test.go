package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// The sweep runs at the start and every day, whatever fails, and ends with the program.
func TestOldDataIsSweptEveryDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var times atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			runSweeps(ctx, zerolog.Nop(), func(context.Context) (db.Swept, error) {
				times.Add(1)
				return db.Swept{}, errors.New("disk full")
			})
		}()
		synctest.Wait()
		if times.Load() != 1 {
			t.Errorf("swept %d times at the start", times.Load())
		}
		time.Sleep(3*24*time.Hour + time.Minute)
		if times.Load() != 4 {
			t.Errorf("swept %d times in three days", times.Load())
		}
		cancel()
		<-done
	})
}

// Old files of chats are deleted when the program starts: those that were received, and the CLI's temporary ones.
func TestOldFilesOfChatsAreSwept(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{})
	data, err := r.cfg.DataFolder()
	must(t, err)
	var old []string
	for _, name := range []string{"files/chat/old.png", "agents/" + uuid.NewString() + "/tmp/claude/images/old.png"} {
		path := filepath.Join(data, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-r.cfg.DB.CacheTTL.Duration-time.Hour)))
		old = append(old, path)
	}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	if !r.logs.await(`"files":2,"time"`, 1) {
		t.Errorf("not deleted: %s", r.logs)
	}
	for _, path := range old {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// The transcript of an ended session goes when the messages of its time go. That of a chat's current session stays.
func TestOldTranscriptsAreSwept(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.DB.HistoryTTL.Duration = 48 * time.Hour })
	age := func(path string) { must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-49*time.Hour))) }
	r.ask("数到 2")
	ended := r.transcriptPath()
	r.sim.Say(r.chat, r.user, "/new")
	r.until("a new conversation", func() bool { return r.chatNow().Session.ID == "" })
	r.ask("数到 3")
	used := r.transcriptPath()
	r.stop()
	age(ended)
	age(used)
	r.start()
	if !r.logs.await(`"files":1,"time"`, 1) {
		t.Errorf("not deleted: %s", r.logs)
	}
	if _, err := os.Lstat(ended); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the transcript is still there: %v", err)
	}
	if _, err := os.Lstat(used); err != nil {
		t.Error(err)
	}
}
