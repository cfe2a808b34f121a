package claude_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/stream"
	"magpie/internal/modelsim"
)

// relayed is the error of a company that resells the model: it has the form of another API.
func relayed(status int, message string) modelsim.Step {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "new_api_error"}})
	return modelsim.Reply(status, map[string]string{"content-type": "application/json"}, string(body))
}

func page(status int, title string) modelsim.Step {
	return modelsim.Reply(status, map[string]string{"content-type": "text/html; charset=utf-8"},
		fmt.Sprintf("<!DOCTYPE html><html><head><title>%s</title></head><body><div id=app></div></body></html>", title))
}

// once keeps the CLI from trying again, for tests of what it says in the end.
func once(c *claude.Config) { c.Env = map[string]string{"CLAUDE_CODE_MAX_RETRIES": "0"} }

// What stands between the CLI and the model answers in its own way. The CLI takes each 403 for a failed login, and says
// nothing of a 402.
func TestFailuresOfRelays(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		newer := command != claudetest.Oldest(t)
		r := newRig(t, withCLI(command), once)
		spec := fresh()
		for _, tc := range []struct {
			step  modelsim.Step
			want  claude.Failure
			words string
		}{
			{relayed(402, "Payment Required"), claude.FailBilling, "402 Payment Required"},
			{modelsim.Fail(402, "billing_error", "Your card was declined"), claude.FailBilling, ""},
			{relayed(403, "用户额度不足, 剩余额度: ＄0.00"), claude.FailBilling, "403 用户额度不足, 剩余额度: ＄0.00"},
			{relayed(403, "该令牌额度已用尽"), claude.FailBilling, "403 该令牌额度已用尽"},
			{relayed(401, "该令牌额度已用尽"), claude.FailBilling, "401 该令牌额度已用尽"},
			{relayed(429, "余额不足，请充值"), claude.FailBilling, "余额不足，请充值"},
			{relayed(400, "账户余额不足"), claude.FailBilling, "400 账户余额不足"},
			{relayed(500, "quota exhausted for this key"), claude.FailBilling, "500 quota exhausted for this key"},
			{relayed(403, "insufficient_user_quota"), claude.FailBilling, "403 insufficient_user_quota"},
			{relayed(403, "该令牌无权访问模型 claude-x"), claude.FailModel, "403 该令牌无权访问模型 claude-x"},
			{relayed(503, "当前分组 default 下对于模型 claude-x 无可用渠道"), claude.FailModel,
				"503 当前分组 default 下对于模型 claude-x 无可用渠道"},
			{relayed(403, "IP 不在白名单内"), claude.FailDenied, "403 IP 不在白名单内"},
			{modelsim.Fail(403, "forbidden", "Request not allowed"), claude.FailDenied, "403 Request not allowed"},
			{relayed(401, "无效的令牌"), claude.FailKey, "401 无效的令牌"},
			{modelsim.Fail(401, "authentication_error", "invalid x-api-key"), claude.FailKey, ""},
			{relayed(429, "您已达到请求数限制：1分钟内最多请求60次"), claude.FailRateLimit, "您已达到请求数限制：1分钟内最多请求60次"},
			{page(200, "New API"), claude.FailAddress, "API returned an empty or malformed response (HTTP 200)"},
			{modelsim.Reply(200, map[string]string{"content-type": "application/json"}, `{"code":401,"msg":"未登录"}`),
				claude.FailAddress, "API returned an empty or malformed response (HTTP 200)"},
			{page(403, "Just a moment..."), byVersion(newer, claude.FailAddress, claude.FailDenied), ""},
			{page(404, "Not Found"), byVersion(newer, claude.FailAddress, claude.FailModel), ""},
			{page(502, "502 Bad Gateway"), claude.FailServer, "502 Bad Gateway"},
		} {
			r.model.Reset()
			r.model.Script(modelsim.Rule{Steps: []modelsim.Step{tc.step}})
			a := r.turn(t.Context(), "a", spec, "go")
			if a.err != nil || a.result.Failure != tc.want {
				t.Errorf("%q, want %q: %q, %v", a.result.Failure, tc.want, a.result.Text, a.err)
			}
			if words := stream.ServerWords(a.result.Text); tc.words != "" && words != tc.words {
				t.Errorf("words %q, want %q", words, tc.words)
			}
			spec.Resume = true
		}
	})
}

// byVersion is what a failure is taken for that the oldest CLI does not tell from another one.
func byVersion(newer bool, now, then claude.Failure) claude.Failure {
	if newer {
		return now
	}
	return then
}
