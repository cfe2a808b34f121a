//go:build !race

package feishusim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestFragmentedEventsWithTheOfficialSDK does not run under the race detector, which reports the SDK's own race in
// putting fragments together (oapi-sdk-go v3.11.0 ws/client_message.go, combine).
func TestFragmentedEventsWithTheOfficialSDK(t *testing.T) {
	s := start(t, Config{
		Fragment: 200, Redeliver: slices.Repeat([]time.Duration{time.Millisecond}, 100), AckTimeout: time.Second,
	})
	d, in := receiver(nil)
	listen(t, s, d)
	tom := s.AddUser("Tom")
	for i := range 20 {
		s.Say(s.PrivateChat(tom), tom, fmt.Sprint("message ", i))
	}
	seen := map[string]bool{}
	await(t, s, "all events", func(*View) bool {
		for _, ev := range in.next(t, 0) {
			seen[*ev.Event.Message.MessageId] = true
		}
		return len(seen) == 20
	})
}
