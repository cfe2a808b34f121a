//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// faultWord begins the last line of a prompt that requests one of the faults. That needs MAGPIE_SCRIPTED_FAULTS=1 in
// the environment.
const faultWord = "fault: "

// fault misbehaves if a prompt requests it. It leaves its process ID in the working folder, in a file with the name of
// the fault. done means that there is no answer.
func (a *echo) fault(prompt string) (done bool, err error) {
	_, name, asked := strings.Cut(prompt[strings.LastIndexByte(prompt, '\n')+1:], faultWord)
	if !asked || os.Getenv("MAGPIE_SCRIPTED_FAULTS") != "1" {
		return false, nil
	}
	f, ok := faults[name]
	if !ok {
		return false, fmt.Errorf("no fault %q", name)
	}
	if err := os.WriteFile(filepath.Join(".", name+".pid"), fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return false, err
	}
	return f(a)
}

// faults are the ways in which it can misbehave, by name.
var faults = map[string]func(a *echo) (done bool, err error){
	"garbage lines": func(a *echo) (bool, error) {
		deep := strings.Repeat("[", 10_000)
		return false, a.raw("no JSON\n{\"type\":\"result\"\n\x00\x1b[2J\n[]\nnull\n\n" + deep + "\n")
	},
	"wrong types": func(a *echo) (bool, error) {
		return false, a.raw(`{"type":5}
{"type":"assistant","message":"x"}
{"type":"stream_event","event":[1]}
{"type":"system","subtype":{"init":1}}
{"type":"control_cancel_request","request_id":7}
{"type":"user","message":{"content":[{"type":"tool_result"}]}}
`)
	},
	"bytes that are no text": func(a *echo) (bool, error) {
		return false, a.raw("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\"," +
			"\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\xfe\"}}}\n\xc3\x28\n")
	},
	"a huge line": func(a *echo) (bool, error) {
		if err := a.raw(`{"type":"user","message":{"content":"`); err != nil {
			return false, err
		}
		for range 20 { // MB: more than a line may have
			if err := a.raw(string(bytes.Repeat([]byte("x"), 1<<20))); err != nil {
				return false, err
			}
		}
		return false, a.raw("\"}}\n")
	},
	"no result": func(a *echo) (bool, error) {
		if err := a.say(object{"type": "assistant", "message": object{
			"id": "m", "content": []object{{"type": "text", "text": "half an answer"}},
		}}); err != nil {
			return true, err
		}
		os.Exit(0)
		return true, nil
	},
	"two results": func(a *echo) (bool, error) {
		first, second := a.resultText("first"), a.resultText("second")
		return true, a.say(first, second)
	},
	"words behind the result": func(a *echo) (bool, error) {
		err := a.say(a.resultText("in time"))
		return true, a.also(err, object{"type": "assistant", "message": object{
			"id": "m2", "content": []object{{"type": "text", "text": "too late"}},
		}})
	},
	"an exit code": func(*echo) (bool, error) {
		fmt.Fprintln(os.Stderr, "no license today")
		os.Exit(3)
		return true, nil
	},
	"silence": func(*echo) (bool, error) { return hang() },
	"closed output": func(a *echo) (bool, error) {
		_ = os.Stdout.Close()
		return hang()
	},
	"another session": func(a *echo) (bool, error) {
		a.session = "00000000-0000-4000-8000-000000000000"
		return false, nil
	},
	"a flood of errors": func(*echo) (bool, error) {
		line := append(bytes.Repeat([]byte("\xffx"), 1<<19), '\n')
		for range 8 {
			if _, err := os.Stderr.Write(line); err != nil {
				return false, err
			}
		}
		return false, nil
	},
	"a request that nobody knows": func(a *echo) (bool, error) {
		request := object{"subtype": "self_destruct"}
		return true, a.say(object{"type": "control_request", "request_id": "r1", "request": request})
	},
	"a question about nothing": func(a *echo) (bool, error) {
		ask := object{"subtype": "can_use_tool", "tool_name": "Bash", "input": []string{"rm"}, "tool_use_id": "t1"}
		return false, a.say(object{"type": "control_request", "request_id": "r2", "request": ask})
	},
	"half a line": func(a *echo) (bool, error) {
		if err := a.raw(`{"type":"result","subtype":"success","result":"half`); err != nil {
			return true, err
		}
		os.Exit(0)
		return true, nil
	},
	"talk without an end": func(a *echo) (bool, error) {
		for {
			if err := a.say(object{"type": "noise"}); err != nil {
				return true, err
			}
			time.Sleep(10 * time.Millisecond) // never silent for long, and no load for the machine
		}
	},
	"deaf to signals": func(*echo) (bool, error) {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		return hang()
	},
	"a child that stays": func(*echo) (bool, error) {
		c := exec.Command("sleep", "300")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return true, err
		}
		if err := os.WriteFile("a child that stays.child", fmt.Append(nil, c.Process.Pid), 0o600); err != nil {
			return true, err
		}
		os.Exit(0)
		return true, nil
	},
}

// hang blocks forever. It must sleep: the runtime ends a program in which all goroutines are blocked.
func hang() (bool, error) {
	for {
		time.Sleep(time.Hour)
	}
}

// also writes more lines if there was no error before.
func (a *echo) also(err error, lines ...object) error {
	if err != nil {
		return err
	}
	return a.say(lines...)
}

// resultText is the end of a turn with a text.
func (a *echo) resultText(text string) object {
	return object{
		"type": "result", "subtype": "success", "is_error": false, "result": text, "num_turns": 1,
		"stop_reason": "end_turn", "usage": object{"input_tokens": 1, "output_tokens": 1},
	}
}
