package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A valid local time may have no valid equivalent in UTC, in which it is exported.
func TestATimeThatIsInvalidInUTCIsRefused(t *testing.T) {
	for ts, good := range map[string]bool{
		"9999-12-31T23:59:59.999Z":  true,
		"9999-12-31T23:59:59+08:00": true,
		"9999-12-31T23:59:59-01:00": false,
		"1970-01-01T00:00:00Z":      true,
		"0001-01-01T00:00:00+01:00": false,
		"0000-12-31T23:59:59Z":      false,
	} {
		line := fmt.Sprintf(`{"channel":"web","chat_id":"1","message_id":"m","ts":%q,"role":"user","content":"hi"}`, ts)
		if _, err := parseRecord([]byte(line)); good != (err == nil) || !good && !errors.Is(err, errTime) {
			t.Errorf("%s: %v", ts, err)
		}
	}
}

// Whatever a line contains: the record that is read from it is written in a form that reads back as the same record and
// the same bytes.
func FuzzRecord(f *testing.F) {
	for line := range bytes.Lines([]byte(sample)) {
		f.Add(line)
	}
	f.Add([]byte(`{"channel":"web","container":"chat","chat_id":"1","message_id":"m",` +
		`"ts":"1970-01-01T00:00:00.0004Z","role":"user","content":"\ud800"}`))
	f.Add([]byte(`{"channel":"x","chat_id":"1","message_id":"m","ts":"2026-05-04T12:00:00.9999+08:00",` +
		`"role":"tool","class":"command","epoch":-3,"content":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRecord(line)
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		must(t, appendRecord(&once, r))
		again, err := parseRecord(bytes.TrimSpace(once.Bytes()))
		if err != nil {
			t.Fatalf("%v: %s", err, once.Bytes())
		}
		must(t, appendRecord(&twice, again))
		if diff := cmp.Diff(r, again); diff != "" || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("read again: %s\n%s%s", diff, once.Bytes(), twice.Bytes())
		}
	})
}
