package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever a line says: what is read from it is written so that it is read again as the same, and in the same bytes.
func FuzzRecord(f *testing.F) {
	for line := range bytes.Lines([]byte(sample)) {
		f.Add(line)
	}
	f.Add([]byte(`{"channel":"web","container":"chat","chat_id":"1","message_id":"m","ts":"1970-01-01T00:00:00.0004Z","role":"user","content":"\ud800"}`))
	f.Add([]byte(`{"channel":"x","chat_id":"1","message_id":"m","ts":"2026-05-04T12:00:00.9999+08:00","role":"tool","class":"command","epoch":-3,"content":""}`))
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
