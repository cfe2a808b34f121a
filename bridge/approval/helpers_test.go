package approval

import (
	"testing"

	"magpie/internal/chat"
)

var asker = chat.Actor{ID: "ou_1", Name: "小明"}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
