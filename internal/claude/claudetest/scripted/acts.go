//go:build unix

package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// actsOrder is the line of a prompt that has it work, the last one of these: it names its chat and its message, and says how
// often it acts.
var actsOrder = regexp.MustCompile(`(?m)^(chat \d+) message \d+: act (\d+) times( and change something)?$`)

// actEvery is the time between two acts.
const actEvery = 20 * time.Millisecond

// act works as a prompt says, and returns the order; empty = there is none. Each act becomes a line of the file MAGPIE_SCRIPTED_ACTS: the time in ns, the
// process, and the chat. The first line has the quoted prompt.
func (a *echo) act(prompt string) (string, error) {
	path, orders := os.Getenv("MAGPIE_SCRIPTED_ACTS"), actsOrder.FindAllStringSubmatch(prompt, -1)
	if path == "" || len(orders) == 0 {
		return "", nil
	}
	order := orders[len(orders)-1]
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // each line is written at once
	if order[3] != "" {
		if err := a.say(object{"type": "assistant", "message": object{
			"id": "msg_" + uuid.NewString(), "model": model, "role": "assistant",
			"content": []object{{
				"type": "tool_use", "id": "toolu_" + uuid.NewString(), "name": "Bash",
				"input": object{"command": "touch changed", "description": "change"},
			}},
		}}); err != nil {
			return "", err
		}
	}
	said, times := strconv.Quote(prompt), 0
	for times, _ = strconv.Atoi(order[2]); times > 0; times-- {
		if _, err := fmt.Fprintf(file, "%d\t%d\t%s\t%s\n", time.Now().UnixNano(), os.Getpid(), order[1], said); err != nil {
			return "", err
		}
		said = ""
		time.Sleep(actEvery)
	}
	return order[0], nil
}
