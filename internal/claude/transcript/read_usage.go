package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// ModelUsage is what agents have used of one model.
type ModelUsage struct {
	Model string
	Usage stream.Usage
}

// UsageSince is what a session that ran in the folder dir has used of each model after a time, subagents included, as
// far as their messages are complete in its transcripts. The model that was used most comes first.
func (t Files) UsageSince(dir, session string, since time.Time) ([]ModelUsage, error) {
	return t.usageSince(dir, session, usageReader{since: since})
}

// SubagentUsageSince is the part of [Files.UsageSince] that is due to subagents.
func (t Files) SubagentUsageSince(dir, session string, since time.Time) ([]ModelUsage, error) {
	return t.SubagentUsage(dir, session, since, time.Time{})
}

// SubagentUsage is what subagents have used between two times; zero = up to now.
func (t Files) SubagentUsage(dir, session string, since, until time.Time) ([]ModelUsage, error) {
	return t.usageSince(dir, session, usageReader{since: since, until: until, subagentsOnly: true})
}

// usageSince reads the transcript of a session and those of its subagents, which the CLI keeps in a folder beside it.
func (t Files) usageSince(dir, session string, r usageReader) ([]ModelUsage, error) {
	if session == "" {
		return nil, nil
	}
	path, err := t.find(dir, session)
	if err != nil || path == "" {
		return nil, err
	}
	files, folder := []string{path}, filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
	list, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("usage of session %s: %w", session, err)
	}
	for _, e := range list {
		if filepath.Ext(e.Name()) == ".jsonl" {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	for _, file := range files {
		if err := r.file(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("usage of session %s: %w", session, err)
		}
	}
	return r.total(), nil
}

// usageReader adds up what the messages in transcripts have used.
type usageReader struct {
	since, until  time.Time // until may be zero: there is no end
	subagentsOnly bool
	messages      map[string]ModelUsage // by ID: each is written once per content block
}

// clocksDiffer is how much later a file may have been written than its time says: that is the kernel's last tick, a few
// milliseconds ago, or the time of another machine.
const clocksDiffer = time.Minute

// file reads one transcript, unless nothing was written to it since.
func (r *usageReader) file(path string) error {
	if info, err := os.Lstat(path); err != nil || info.ModTime().Add(clocksDiffer).Before(r.since) {
		return err
	}
	f, err := safepath.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return eachLine(io.LimitReader(f, maxTranscript), func(line []byte) bool {
		if stream.ValidJSON(line) {
			r.line(gjson.ParseBytes(line))
		}
		return true
	})
}

func (r *usageReader) line(v gjson.Result) {
	msg := v.Get("message")
	model := msg.Get("model").String()
	if v.Get("type").String() != "assistant" || model == "" || model == "<synthetic>" ||
		r.subagentsOnly && !v.Get("isSidechain").Bool() {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, v.Get("timestamp").String())
	if err != nil || !at.After(r.since) || !r.until.IsZero() && at.After(r.until) {
		return
	}
	if r.messages == nil {
		r.messages = map[string]ModelUsage{}
	}
	r.messages[msg.Get("id").String()] = ModelUsage{model, stream.RecordedUsage(msg.Get("usage"))}
}

// total adds up by model.
func (r *usageReader) total() (list []ModelUsage) {
	for _, m := range r.messages {
		i := slices.IndexFunc(list, func(l ModelUsage) bool { return l.Model == m.Model })
		if i < 0 {
			i, list = len(list), append(list, ModelUsage{Model: m.Model})
		}
		list[i].Usage = list[i].Usage.Plus(m.Usage)
	}
	slices.SortFunc(list, func(a, b ModelUsage) int { return cmp.Compare(b.Usage.Total(), a.Usage.Total()) })
	return list
}
