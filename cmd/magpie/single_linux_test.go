package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestOneProgramServesAnApp(t *testing.T) {
	app := "cli_" + uuid.NewString()
	first, err := holdApp(app)
	must(t, err)
	if _, err := holdApp(app); err == nil || !strings.Contains(err.Error(), app) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
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
