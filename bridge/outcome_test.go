package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/bridge/turncard"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// failing makes the turns fail with a result.
func (p parts) failing(r claude.Result) {
	p.answerWith(func(ctx context.Context, t *turn) turncard.Outcome { return p.outcome(ctx, t, r) })
}

// Who can mend a failure is told how; everybody else is told whom to tell. Nobody is told to log in, or to say it in
// other words, when something else is missing.
func TestAFailureSaysWhoCanMendIt(t *testing.T) {
	t.Parallel()
	relay := func(words string) string { return "Failed to authenticate. API Error: 403 " + words }
	for name, tc := range map[string]struct {
		result     claude.Result
		admin      bool
		group      bool
		want, miss []string
	}{
		"the owner logs in": {result: claude.Result{Failure: claude.FailAuth}, admin: true,
			want: []string{"没有登录", "点“登录”", `"/login"`}},
		"the owner in a group": {result: claude.Result{Failure: claude.FailAuth}, admin: true, group: true,
			want: []string{"没有登录", "私聊里发送 /login"}, miss: []string{`"/login"`}},
		"others tell the owner": {result: claude.Result{Failure: claude.FailAuth},
			want: []string{"没有登录", "请告诉王主。"}, miss: []string{`"/login"`, "ou_"}},
		"no quota": {result: claude.Result{Failure: claude.FailBilling, Text: relay("用户额度不足 <b>sk-ant-api03-" +
			strings.Repeat("a", 40) + "</b>")},
			want: []string{"余额或额度已用完", "请告诉王主。", "服务器的原话：`403 用户额度不足 [REDACTED_API_KEY]`"},
			miss: []string{"没有登录", "换个说法", "sk-ant", `u003c`}},
		"no quota, for the owner": {result: claude.Result{Failure: claude.FailBilling, Text: relay("余额不足")}, admin: true,
			want: []string{"余额或额度已用完", "请充值"}},
		"a page": {result: claude.Result{Failure: claude.FailAddress, Text: relay("Just a moment...")}, admin: true,
			want: []string{"不是 Claude 的接口", "ANTHROPIC_BASE_URL"}, miss: []string{"没有登录"}},
		"no access": {result: claude.Result{Failure: claude.FailDenied, Text: relay("Request not allowed")},
			want: []string{"拒绝了机器人的访问", "请告诉王主。", "Request not allowed"}, miss: []string{"没有登录"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRig(t)
			l.bridge.SetAccess(access.Config{Allow: []string{"*"}, Owner: "ou_owner"})
			l.failing(tc.result)
			l.start()
			owner := chat.Incoming{Key: chat.FeishuChat("oc_own"), Kind: chat.Private, ID: "om_own", Text: "/whoami",
				Actor: chat.Actor{ID: "ou_owner", Name: "王主"}, Time: incoming("", "").Time, ToBot: true}
			l.receive(owner)
			m := incoming("om_1", "你好")
			if tc.admin {
				m.Actor = owner.Actor
			}
			if tc.group {
				m.Kind = chat.Group
			}
			l.receive(m)
			var card string
			l.ended(convo.Failed, 1)
			l.until("its card", func() bool {
				_, closed, _ := l.rec.SoFar()
				data, err := json.Marshal(closed)
				l.must(err)
				card = string(data)
				return strings.Contains(card, "/retry")
			})
			for _, want := range tc.want {
				if !strings.Contains(card, want) {
					t.Errorf("%q is missing in %s", want, card)
				}
			}
			for _, miss := range tc.miss {
				if strings.Contains(card, miss) {
					t.Errorf("%q is in %s", miss, card)
				}
			}
		})
	}
}
