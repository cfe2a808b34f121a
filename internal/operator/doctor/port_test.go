package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// The address of the pages is reported if another program has it, and not if the bridge itself does.
func TestAnAddressThatAnotherProgramHasIsReported(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	c.HTTP.Listen = ln.Addr().String()
	c.DB.URL = "sqlite://" + filepath.Join(t.TempDir(), "magpie.db")
	check := func(l i18n.Lang, state State, want string) {
		t.Helper()
		r := &Report{Lang: l}
		checkListen(r, c)
		if len(r.Findings) != 1 || r.Findings[0].State != state || !strings.HasPrefix(r.Findings[0].What, want) {
			t.Errorf("%v is not %q", r.Findings, want)
		}
	}
	check(i18n.English, Fail, "[http] listen: "+c.HTTP.Listen+" is in use")
	check(i18n.Chinese, Fail, "[http] listen："+c.HTTP.Listen+" 已被占用")

	store, err := db.Open(t.Context(), c.DB) // this process is the bridge now
	if err != nil {
		t.Fatal(err)
	}
	check(i18n.English, OK, fmt.Sprintf("[http] listen: %s is served by process %d", c.HTTP.Listen, os.Getpid()))
	if err := errors.Join(store.Close(), ln.Close()); err != nil {
		t.Fatal(err)
	}
	check(i18n.English, OK, "[http] listen: "+c.HTTP.Listen+" is free")
	c.HTTP.Listen = "192.0.2.1:9180" // of no machine (RFC 5737)
	check(i18n.English, Fail, "[http] listen: ")
}
