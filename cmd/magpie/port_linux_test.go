package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"magpie/internal/claude/claudetest"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
)

// For an address in use, the error names the process that has it and how to choose another.
func TestAnAddressInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close() //nolint:errcheck // nothing was sent
	address := ln.Addr().String()
	_, err = listen(config.HTTP{Listen: address}, zerolog.Nop())
	// A process that another test is starting has the socket, too, until it runs its own program.
	want := fmt.Sprintf("[http] listen: %s is in use by %q (process ", address, filepath.Base(os.Args[0]))
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "choose another address with [http] listen (MAGPIE_HTTP_LISTEN)") {
		t.Errorf("it says: %v", err)
	}
	if zh := i18n.ErrorText(i18n.Chinese, err); !strings.Contains(zh, address+" 已被占用") {
		t.Errorf("in Chinese: %s", zh)
	}
	out, _ := magpie(t, t.TempDir(), "playground", "--listen", address,
		"--command", claudetest.Command(t)).CombinedOutput() // fails immediately
	if !strings.Contains(string(out), "--listen: "+address+" is in use by ") ||
		!strings.Contains(string(out), "choose another address with --listen") {
		t.Errorf("the playground says: %s", out)
	}
	other := errors.New("other")
	if got := doctor.ExplainListen(other, address, "--listen"); got != other {
		t.Errorf("another error becomes %v", got)
	}
}
