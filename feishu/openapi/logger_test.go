package openapi

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestSDKLogHidesWhatIsSecret(t *testing.T) {
	buf := &bytes.Buffer{}
	l := SDKLogger(zerolog.New(buf))
	l.Debug(t.Context(), "receive message, payload: hello")
	l.Info(t.Context(), "connected to wss://host/ws?ticket=abc&access_key=def [conn_id=1]")
	l.Error(t.Context(), `handle failed, payload: {"text":"private words"}`)
	for _, secret := range []string{"abc", "def", "private", "hello"} {
		if strings.Contains(buf.String(), secret) {
			t.Errorf("the log has %q: %s", secret, buf)
		}
	}
	if !strings.Contains(buf.String(), "connected to wss://host/ws") {
		t.Errorf("log: %s", buf)
	}
}
