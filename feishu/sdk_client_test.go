package feishu

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// sdkClientFields are the fields of the SDK's client for which shallowCopy is correct: settings may be shared, and the
// state of a connection is empty before the client is started.
const sdkClientFields = `
appID string
appSecret string
clientAssertionProvider larkcore.ClientAssertionProvider
logLevel larkcore.LogLevel
logger larkcore.Logger
eventHandler *dispatcher.EventDispatcher
cardHandler *larkcard.CardActionHandler
domain string
headers http.Header
source string
autoReconnect bool
reconnectNonce int
reconnectCount int
reconnectInterval time.Duration
pingInterval time.Duration
writeTimeout time.Duration
httpClient larkcore.HttpClient
websocketDialer *websocket.Dialer
cache *larkcache.Cache
onReady func()
onError func(error)
onReconnecting func()
onReconnected func()
onDisconnected func()
stateMu sync.Mutex
run *ws.clientRun
terminal bool
`

// Fails when an update of the SDK changes its client: then shallowCopy must be reviewed.
func TestTheCopyOfTheSDKsClient(t *testing.T) {
	var got strings.Builder
	for f := range reflect.TypeFor[larkws.Client]().Fields() {
		fmt.Fprintf(&got, "\n%s %s", f.Name, f.Type)
	}
	if diff := cmp.Diff(strings.TrimRight(sdkClientFields, "\n"), got.String()); diff != "" {
		t.Errorf("the fields of the SDK's client:\n%s", diff)
	}
	never := newConnection(New(Config{AppID: "cli_x", AppSecret: "x"}, nopLogger), nil, nil, &eventLimiter{}).template
	client := reflect.ValueOf(never).Elem()
	for _, name := range []string{"stateMu", "run", "terminal"} {
		if !client.FieldByName(name).IsZero() {
			t.Errorf("%s of a client that was never started: %v", name, client.FieldByName(name))
		}
	}
}
