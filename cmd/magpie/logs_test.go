package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"magpie/contextmgr/redact"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// Whatever the outcome of a turn, its lines name its chat, turn and session, every line is JSON without duplicate keys,
// and none contains a secret or a text of people, the agent or its tools.
func TestLogsOfEveryKindOfTurn(t *testing.T) {
	r := newRig(t)
	once := func(steps ...modelsim.Step) { r.model.Script(modelsim.Rule{Times: 1, Steps: steps}) }
	begun := func(text string) string {
		t.Helper()
		once(modelsim.Text("答到一半canary"), modelsim.Hang())
		id := r.sim.Say(r.chat, r.user, text)
		r.shows(r.chat, id, "答到一半")
		return id
	}
	r.ask("我叫canary")
	once(modelsim.Tool("Read", map[string]any{"file_path": r.inProject("canary.txt")}))
	once(modelsim.Tool("Bash", map[string]any{"command": "echo canary"}))
	r.ask("用工具 canary")
	asked := r.sim.Say(r.chat, r.user, "运行 `touch canary.txt`")
	r.press(r.approval(r.chat, asked, 1), doRefuse)
	r.turnDone(r.chat, asked)
	once(modelsim.Text("不行canary"), modelsim.Stop("refusal"))
	r.ask("canary 拒绝")
	once(modelsim.Text("太长canary"), modelsim.Stop("max_tokens"))
	r.ask("canary 太长")
	once(modelsim.Fail(403, "permission_error", "no"))
	r.ask("canary 失败")
	id := begun("canary 停")
	r.ask("/stop")
	r.answer(r.chat, id)
	r.ask("/canary")
	r.model.Script(modelsim.Rule{Match: doortest.AfterTool, Times: 1, Steps: []modelsim.Step{
		modelsim.Text("答到一半canary"), modelsim.Hang(),
	}})
	changed := r.sim.Say(r.chat, r.user, "运行 `touch canary.txt`")
	r.press(r.approval(r.chat, changed, 1), doAllow)
	r.await("half of the answer", func(v *feishusim.View) bool {
		return slices.ContainsFunc(replies(v, r.chat, changed), func(m feishusim.Message) bool {
			return strings.Contains(m.Text(), "答到一半")
		})
	})
	r.stop()
	r.start()
	restarted := begun("canary 重启")
	r.stop()
	r.start()
	r.shows(r.chat, restarted, "你说") // what comes earlier is answered with it
	r.answer(r.chat, r.sim.Post(r.chat, r.user, mustJSON(map[string]any{"title": "canary", "content": [][]any{}})))

	kinds := map[string]int{}
	for line := range strings.Lines(r.logs.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		for _, key := range regexp.MustCompile(`"(\w+)":`).FindAllString(line, -1) {
			if strings.Count(line, key) > 1 {
				t.Errorf("%s comes twice: %s", key, line)
			}
		}
		if strings.Contains(line, "canary") {
			t.Errorf("the log contains a message: %s", line)
		}
		for _, secret := range []string{r.cfg.Feishu.AppSecret, "sk-test-dummy"} {
			if strings.Contains(line, secret) {
				t.Errorf("the log contains a secret: %s", line)
			}
		}
		state, _ := entry["state"].(string)
		kinds[state]++
		if entry["turn"] == nil || entry["answers"] != nil { // a delivery does not belong to its turn
			continue
		}
		if chat, _ := entry["chat"].(string); chat == "" {
			t.Errorf("a line of a turn without its chat: %s", line)
		}
		if session, _ := entry["session"].(string); session == "" {
			t.Errorf("a line of a turn without its session: %s", line)
		}
	}
	for _, state := range []string{"done", "failed", "cancelled", "interrupted", "queued"} {
		if kinds[state] == 0 {
			t.Errorf("no turn ended as %s: the test is incomplete (%v)", state, kinds)
		}
	}
}

// ordinary are lines of the program itself. They are not redacted: operators search for them.
var ordinary = []string{
	`{"level":"info","chat":"feishu:chat:oc_ba57edb640534871b2bbd2d45c172d69","turn":3,` +
		`"context":{"messages":12,"user_messages":6,"chars":5123,"tokens":13812345678,"recalled":0,` +
		`"build_ms":0.273769},"resume":true,"live":true,"time":"2026-11-21T17:53:46Z",` +
		`"session":"bfee4282-9d05-49d3-9798-a767447555ea","message":"混合上下文统计"}`,
	`{"level":"info","chat":"feishu:chat:oc_ba57edb640534871b2bbd2d45c172d69","turn":1700000000,` +
		`"state":"done","failure":"","first_text":3725.939646,"took":3777.929178,` +
		`"time":"2026-11-21T17:53:45.123456789+08:00","session":"13812345-1381-4381-8381-138123456789",` +
		`"message":"turn ended"}`,
	`{"level":"error",` +
		`"error":"accept message om_dc13264520392913993dd051dba21dcf: ` +
		`reply to om_x100b4f13812345678: database is locked (5)",` +
		`"chat":"telegram:chat:13812345678","time":"2026-11-21T17:53:45Z","message":"reply failed"}`,
	`{"level":"warn",` +
		`"error":"feishu: code 99991672, log id 20261121175345A1B2C3D4E5F60718293A, card 7355439197428236291",` +
		`"time":"2026-11-21T17:53:45Z","message":"card not drawn"}`,
	`{"level":"info","user":"ou_7d8a6e6df7621556ce0d21922b676706",` +
		`"chat":"feishu:chat:oc_1381234567813812345678138123456a:thread:omt_13812345678",` +
		`"time":"2026-11-21T17:53:45Z","message":"ignored a message from a stranger"}`,
	`{"level":"info","version":"v1.2.3.4 2fd3373813812345678000aabbccddeeff001122",` +
		`"address":"127.0.0.1:9180","keys":["[feishu] app_secret","[claude.env] ANTHROPIC_API_KEY"],` +
		`"time":"2026-11-21T17:53:45Z","message":"magpie is running"}`,
	`{"level":"error","cli":"API Error: 529 overloaded\n\nRequest ID: req_011CRx13812345678","errors":[],` +
		`"time":"2026-11-21T17:53:45Z","message":"turn failed"}`,
}

func TestOrdinaryLogLinesStayAsTheyAre(t *testing.T) {
	for _, line := range ordinary {
		if got := redactLine([]byte(line)); string(got) != line {
			t.Errorf("%s\nbecame\n%s", line, got)
		}
	}
}

func TestLogsContainNothingPrivate(t *testing.T) {
	const chatKey, session = "feishu:chat:oc_ba57edb640534871b2bbd2d45c172d69", "bfee4282-9d05-49d3-9798-a767447555ea"
	for _, format := range []string{"json", "console"} {
		var b bytes.Buffer
		log := newLog(&b, config.Log{Format: format})
		log.Error().Err(errors.New("mail to bob@example.com: <refused> \"13812345678\"")).
			Strs("errors", []string{"password: hunter2", "4111 1111\u00a01111 1111"}).
			Str("chat", chatKey).Str("session", session).
			Dict("deep", zerolog.Dict().Str("key", "sk-"+strings.Repeat("a1b2", 8))).Int64("turn", 13812345678).
			Msg("dial tcp 8.8.4.4:443")
		line := b.String()
		for _, secret := range []string{"bob@", `"13812345678`, "hunter2", "1111", "sk-", "8.8.4.4"} {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %s holds %s", format, line, secret)
			}
		}
		for _, kept := range []string{
			chatKey, session, "[REDACTED_EMAIL]", "[REDACTED_PHONE]", "[REDACTED_SECRET]", "[REDACTED_CC]",
			"[REDACTED_API_KEY]", "[REDACTED_IP]:443", "<refused>", "13812345678",
		} {
			if !strings.Contains(line, kept) {
				t.Errorf("%s: %s has lost %s", format, line, kept)
			}
		}
	}
}

// Whatever is logged, a line remains the same JSON object with its strings redacted.
func TestRedactedLinesAreTheSameJSON(t *testing.T) {
	value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"bob@example.com", `say "13812345678"`, "a\\", "\\\"", "密码：abc123", "\x00\x1f 8.8.4.4 \u2028",
		"<b>&\n4111111111111111", "[1,\"2\"]", `{"a":"b@c.cn"}`, "plain",
	}))
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"error", "cli", "a b", "x\"y", "message:", "n", "chat"})
		fields := rapid.MapOf(keys, value).Draw(t, "fields")
		list := rapid.SliceOf(value).Draw(t, "list")
		var plain, clean bytes.Buffer
		for _, log := range []zerolog.Logger{
			zerolog.New(&plain), zerolog.New(redactedLog{out: zerolog.MultiLevelWriter(&clean)}),
		} {
			e := log.Warn().Strs("list", list).Int64("number", 13812345678).Bool("yes", true)
			for _, key := range slices.Sorted(maps.Keys(fields)) {
				e = e.Str(key, fields[key])
			}
			e.Msg("done")
		}
		var want, got map[string]any
		if err := errors.Join(json.Unmarshal(plain.Bytes(), &want), json.Unmarshal(clean.Bytes(), &got)); err != nil {
			t.Fatalf("%v: %s", err, clean.String())
		}
		for key, v := range want {
			switch v := v.(type) {
			case string:
				if key != "chat" {
					want[key] = redact.Text(v, redact.All())
				}
			case []any:
				for i := range v {
					v[i] = redact.Text(v[i].(string), redact.All())
				}
			}
		}
		if !reflect.DeepEqual(got, want) || !bytes.HasSuffix(clean.Bytes(), []byte("}\n")) {
			t.Fatalf("%s\nbecame\n%s", plain.String(), clean.String())
		}
	})
}

// What the CLI reports about a failure is logged, and may contain people's words.
func TestTheLogOfAFailureIsRedacted(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Fail(403, "permission_error", "bob@example.com (13812345678) may not; request req_011CRx13812345678"),
	}})
	r.ask("你好")
	r.awaitLog(`"state":"failed"`)
	logs := r.logs.String()
	for _, want := range []string{
		"[REDACTED_EMAIL] ([REDACTED_PHONE]) may not", "req_011CRx13812345678", `"chat":"feishu:chat:` + r.chat + `"`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log has no %s:\n%s", want, logs)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	for name, log := range map[string]zerolog.Logger{
		"plain": zerolog.New(io.Discard).With().Timestamp().Logger(), "redacted": newLog(io.Discard, config.Log{}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				log.Info().Str("chat", "feishu:chat:oc_ba57edb640534871b2bbd2d45c172d69").
					Int64("turn", 3).Str("state", "done").Str("failure", "").
					Float64("took", 3777.9).Str("session", "bfee4282-9d05-49d3-9798-a767447555ea").Msg("turn ended")
			}
		})
	}
	b.Run("error", func(b *testing.B) {
		log := newLog(io.Discard, config.Log{})
		err := errors.New("post message om_dc13264520392913993dd051dba21dcf: dial tcp 8.8.4.4:443: i/o timeout, " +
			"log id 20261121175345A1B2C3D4E5F60718293A")
		for b.Loop() {
			log.Error().Err(err).Str("chat", "feishu:chat:oc_ba57edb640534871b2bbd2d45c172d69").Msg("card not drawn")
		}
	})
}
